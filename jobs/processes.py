"""Which of the processes of a data folder live: by what they report, and by the locks they hold, which tell the truth even
where nothing can be written."""

from __future__ import annotations

from dataclasses import dataclass

from hostsight.files import lock_holder
from hostsight.folders import DataFolder
from ingest.heartbeat import Heartbeat, alive, read_heartbeat
from jobs.progress import Progress, read_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """beat, progress: the last reports.  agent, serve, up: the number of the process that holds the lock; 0 where that is
    unknown, None where nobody does.
    """

    now_ns: int
    beat: Heartbeat | None = None
    progress: Progress | None = None
    agent: int | None = None
    serve: int | None = None
    up: int | None = None

    @property
    def jobs_report(self) -> bool:
        return self.progress is not None and self.progress.running(self.now_ns)

    @property
    def jobs_run(self) -> bool:
        return self.jobs_report or self.serve is not None

    def agent_gone(self, host: str) -> bool:
        """Whether `host` is the one whose agent keeps its telemetry here, and that agent has ended."""
        beat = self.beat
        return beat is not None and beat.host == host and self.agent is None and not alive(beat, self.now_ns)


def read_processes(data: DataFolder, now_ns: int) -> Processes:
    return Processes(
        now_ns=now_ns,
        beat=read_heartbeat(data),
        progress=read_progress(data),
        agent=lock_holder(data.agent_lock),
        serve=lock_holder(data.serve_lock),
        up=lock_holder(data.up_lock),
    )

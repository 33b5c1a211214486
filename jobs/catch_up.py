"""Everything that a store holds, through the pipeline at once: as `serve` would over time, refits included, and then done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import msgspec

from hostsight.clock import Clock, SystemClock
from hostsight.files import locked
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from jobs.housekeeping import compact_lake
from jobs.materialise import Materialiser
from jobs.progress import HostProgress
from jobs.refit_job import RefitJob
from jobs.runs import recorded
from jobs.serve import open_store, recover
from migrations import open_state

IMPORT = "import"
"""The name of its runs in `job_runs`."""


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What has come of one host. `windows`: how many were done by this run; to_ns: None where the host has no telemetry."""

    host: str
    windows: int
    to_ns: int | None
    problem: str | None = None


Tell = Callable[[HostProgress], None]
"""Called with a host's progress, now and then."""


def run_import(
    settings: Settings,
    data: DataFolder,
    tell: Tell = lambda _: None,
    stop: threading.Event | None = None,
) -> list[Imported]:
    """Do all complete windows of every host in the store that `settings` name; a run that was stopped is carried on.

    Raises LockedError where `serve` runs on the folder, and whatever the store raises.
    """
    clock, stop = SystemClock(), stop or threading.Event()
    data.create()
    with locked(data.serve_lock, "a pipeline (`hostsight serve`)"):
        recover(data)
        refit = RefitJob(settings, data, clock, stop)
        with (
            closing(open_state(data.state_db)) as connection,
            recorded(connection, IMPORT, clock) as run,
            closing(Materialiser(settings, data, open_store(settings, data), connection)) as pipeline,
        ):
            for windows in _steps(pipeline, refit, clock, stop):
                run.items += windows
                for host in pipeline.progress():
                    tell(host)
            done = _imported(pipeline)
        compact_lake(data, clock)
    return done


def _steps(pipeline: Materialiser, refit: RefitJob, clock: Clock, stop: threading.Event) -> Iterator[int]:
    """How many windows each step has done, until there are none left."""
    while not stop.is_set() and (windows := pipeline.run(clock.wall_ns())):
        refit.run()
        yield windows


def _imported(pipeline: Materialiser) -> list[Imported]:
    problem = next(iter(pipeline.problems()), None)
    return [
        Imported(host=one.host, windows=one.windows, to_ns=one.position_ns, problem=problem)
        for one in pipeline.progress()
    ]

"""What `hostsight up` says without a console: a line whenever something changed, a bar while it learns."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cli.lines import Lines
from cli.text import percent, plural, rough_duration
from hostsight.clock import SECOND_NS

if TYPE_CHECKING:
    from hostsight.folders import DataFolder
    from hostsight.settings import Settings
    from jobs.host_status import HostStatus
    from jobs.status import Status
    from models.episode_store import Episode

LOOK_SECONDS = 1.0
STEP = 0.1

QUIET_SECONDS = 60.0
"""After so long without a line, one says that all is well."""

_COUNTED = re.compile(r"\b\d\w*(?:\.\w+)?")
"""What grows while a problem goes on: its age, the room that is left."""

READY = "baseline is live: from now on every window is judged"


def narrate(data: DataFolder, settings: Settings, lines: Lines, ended: threading.Event) -> None:
    """Say what happens on `data` until `ended` is set."""
    narrator, began_ns = Narrator(steps=not lines.draws), time.time_ns()
    while True:
        over = ended.wait(LOOK_SECONDS)
        from jobs.status import look  # the children start first

        now_ns = time.time_ns()
        status, episodes = look(data, settings, now_ns, began_ns)
        for line in narrator.tell(status, episodes, now_ns, ending=over):
            lines.say(line)
        lines.show(status.hosts if status.pipeline.running else ())
        if over:
            lines.say(f"stopped; {plural(len(episodes), 'episode')} in this time")
            return


class Narrator:
    """Turns successive states into lines; `tell` gives those that are new since the last call.

    `steps`: learning is told in tenths, for want of a bar.
    """

    def __init__(self, *, steps: bool = True) -> None:
        self._steps = steps
        self._agent_runs = False
        self._phases: dict[str, str] = {}
        self._learnt: dict[str, float] = {}
        self._episodes: dict[int, str] = {}
        self._problems: dict[str, str] = {}
        self._spoke_ns = 0

    def tell(
        self, status: Status, episodes: Sequence[Episode], now_ns: int, *, ending: bool = False
    ) -> list[str]:
        """ending: episodes alone, as what stops on purpose is no news."""
        reported = status.pipeline.running and status.pipeline.started is not None
        found = [line for episode in reversed(episodes) for line in self._episode(episode)]
        if ending:
            return found
        lines = [
            *self._agent(status),
            *(line for host in status.hosts if reported for line in self._host(host)),
            *found,
            *self._problem(status),
        ]
        if not lines and now_ns - self._spoke_ns >= QUIET_SECONDS * SECOND_NS:
            lines = list(self._all_well(status))
        if lines:
            self._spoke_ns = now_ns
        return lines

    def _agent(self, status: Status) -> Iterator[str]:
        agent = status.agent
        if agent.running and not self._agent_runs:
            tick = rough_duration(agent.tick_seconds)
            yield f"collecting {plural(agent.channels, 'channel')} of {agent.host} every {tick} into {status.data}"
        self._agent_runs = agent.running

    def _host(self, host: HostStatus) -> Iterator[str]:
        before = self._phases.get(host.host)
        self._phases[host.host] = host.phase
        if host.phase == "live" and before != "live":
            yield f"{host.host}: {READY} (model {host.model})"
        elif host.phase == "no data" and before not in {None, "no data"}:
            yield f"{host.host}: {host.activity}"
        elif host.phase == "learning" and self._steps and self._next_step(host):
            yield f"{host.host}: {host.progress:.0%}, {host.activity}"

    def _next_step(self, host: HostStatus) -> bool:
        step = host.progress // STEP
        advanced = step > self._learnt.get(host.host, -1)
        self._learnt[host.host] = step
        return advanced

    def _episode(self, episode: Episode) -> Iterator[str]:
        before = self._episodes.get(episode.id)
        self._episodes[episode.id] = episode.state
        name = f"episode {episode.id} on {episode.host}"
        if before != "open" and episode.state == "open":
            word = "opened" if before is None else "opened again"
            yield (
                f"{name} {word}: {episode.severity}, {episode.summary}"
                f" (confidence {percent(episode.confidence)}; hostsight explain {episode.id})"
            )
        elif episode.state == "closed" and before != "closed":
            lasted = rough_duration((episode.last_seen_ns - episode.opened_ns) / SECOND_NS)
            yield f"{name} closed after {lasted}: {episode.severity}, {episode.summary}"

    def _problem(self, status: Status) -> Iterator[str]:
        """A start takes a few seconds: until the agent runs and the jobs have reported, their absence is none."""
        begun = self._agent_runs and status.pipeline.running and status.pipeline.started is not None
        if not begun:
            return
        found = {_COUNTED.sub("", problem): problem for problem in status.problems}
        for kind in sorted(found.keys() - self._problems.keys()):
            yield f"problem: {found[kind]}"
        for kind in sorted(self._problems.keys() - found.keys()):
            yield f"over: {self._problems[kind]}"
        self._problems = found

    def _all_well(self, status: Status) -> Iterator[str]:
        for host in status.hosts:
            if host.phase == "live":
                lag = rough_duration(host.lag_seconds)
                yield (
                    f"{host.host}: {plural(host.windows, 'window')} judged, {lag} behind,"
                    f" {plural(host.open_episodes, 'open episode')}; agent at {status.agent.cpu_percent:.2g} % of a core"
                )

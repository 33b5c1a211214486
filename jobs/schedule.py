"""When each job is due, in UTC; APScheduler's triggers and what `status` shows both come from this table."""

from __future__ import annotations

from dataclasses import dataclass

from hostsight.clock import SECOND_NS
from hostsight.settings import JobSettings

MATERIALISE = "materialise"
COMPACT = "compact"
REFIT = "refit"
RETAIN = "retain"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Due whenever the time since the epoch is `offset_seconds` past a multiple of `every_seconds`."""

    job: str
    every_seconds: int
    offset_seconds: int = 0

    def latest_due_ns(self, now_ns: int) -> int:
        """The newest due time at or before `now_ns`."""
        offset, every = self.offset_seconds * SECOND_NS, self.every_seconds * SECOND_NS
        return (now_ns - offset) // every * every + offset

    def next_due_ns(self, now_ns: int) -> int:
        """The first due time after `now_ns`."""
        return self.latest_due_ns(now_ns) + self.every_seconds * SECOND_NS


def schedules(settings: JobSettings) -> dict[str, Schedule]:
    """By job, in the order people see them. `materialise` follows the telemetry, second by second."""
    table = (
        Schedule(MATERIALISE, 1),
        Schedule(COMPACT, 60, offset_seconds=20),
        Schedule(REFIT, 86_400, offset_seconds=settings.refit_hour * 3600),
        Schedule(RETAIN, 3600, offset_seconds=7 * 60),
    )
    return {schedule.job: schedule for schedule in table}

from __future__ import annotations

from datetime import UTC, datetime

from apscheduler.triggers.cron import CronTrigger

from hostsight.clock import SECOND_NS, iso
from hostsight.settings import JobSettings
from jobs.schedule import COMPACT, REFIT, RETAIN, schedules
from jobs.serve import cron

NOON = int(datetime(2026, 3, 29, 12, 0, 0, tzinfo=UTC).timestamp()) * SECOND_NS


def test_the_nightly_refit_is_due_at_its_hour_in_utc() -> None:
    refit = schedules(JobSettings(refit_hour=2))[REFIT]

    assert iso(refit.latest_due_ns(NOON)) == "2026-03-29T02:00:00.000Z"
    assert iso(refit.next_due_ns(NOON)) == "2026-03-30T02:00:00.000Z"


def test_a_job_is_not_next_due_at_the_moment_it_is_due() -> None:
    retain = schedules(JobSettings())[RETAIN]
    due = retain.next_due_ns(NOON)

    assert iso(due) == "2026-03-29T12:07:00.000Z"
    assert retain.latest_due_ns(due) == due
    assert iso(retain.next_due_ns(due)) == "2026-03-29T13:07:00.000Z"


def test_the_scheduler_fires_when_status_says_it_will() -> None:
    now = datetime.fromtimestamp(NOON // SECOND_NS, UTC)
    for job in (COMPACT, REFIT, RETAIN):
        schedule = schedules(JobSettings(refit_hour=23))[job]
        trigger: CronTrigger = cron(schedule)
        fires = trigger.get_next_fire_time(None, now)
        assert fires.timestamp() * SECOND_NS == schedule.next_due_ns(NOON)

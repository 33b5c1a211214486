"""The pipeline's process: every job on its schedule, one pipeline per data folder."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from apscheduler.executors.pool import BasePoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from hostsight.clock import SECOND_NS, Clock, SystemClock
from hostsight.files import locked
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from ingest.embedded import EmbeddedStore
from ingest.lake import Lake
from ingest.store import Store
from jobs.alert_job import AlertJob
from jobs.alerts import RECEIVERS, receivers
from jobs.bucket import Bucket
from jobs.housekeeping import compact_lake, retain_lake
from jobs.live import LiveJob
from jobs.nightly import ask_nightly
from jobs.receivers import check_outward
from jobs.refit_job import RefitJob
from jobs.runs import mark_lost
from jobs.schedule import COMPACT, MATERIALISE, REFIT, RETAIN, Schedule, schedules
from jobs.stopping import stopping_on_signals
from jobs.textfile import TextfileJob
from jobs.watermarks import positions
from migrations import open_state

REQUEST_SECONDS = 2.0
"""How often requests for a refit are looked for."""

ALERT_SECONDS = 1.0
TEXTFILE_SECONDS = 15.0
"""How often the outbox is looked at, and the file for Prometheus is written."""

CLOCK_STEP_SECONDS = 2.0


def run_serve(
    settings: Settings,
    data: DataFolder,
    *,
    seconds: float | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Run the jobs until SIGTERM, SIGINT or `stop`, or for `seconds`.

    Raises LockedError where another pipeline holds the folder, StorageError where it may not be written, SettingsError where
    the store's settings cannot be.
    """
    stop = stop or threading.Event()
    clock = SystemClock()
    bucket = Bucket(settings, clock)
    check_outward(settings.alerts)
    data.create()
    with locked(data.serve_lock, "a pipeline (`hostsight serve`)"), stopping_on_signals(stop):
        recover(data)
        end_ns = None if seconds is None else clock.monotonic_ns() + round(seconds * SECOND_NS)
        goes_on = True
        while goes_on:
            pipeline = Pipeline(bucket.settings, data, open_store(bucket.settings, data), clock, stop)
            pipeline.start()
            try:
                goes_on = watch(pipeline, bucket, clock, stop, end_ns)
            finally:
                pipeline.shut_down()


def open_store(settings: Settings, data: DataFolder) -> Store:
    """The store that [store] kind names. Raises SettingsError where its settings cannot be."""
    if settings.store.kind == EmbeddedStore.name:
        return EmbeddedStore(data, settings)
    if settings.store.kind == "telegraf":
        from jobs.telegraf import TelegrafStore

        return TelegrafStore(settings, SystemClock())
    from ingest.influx.store import InfluxStore

    return InfluxStore(settings, SystemClock())


def recover(data: DataFolder) -> None:
    """Before any job runs: what a killed pipeline left is marked as lost, its uncommitted files go."""
    connection = open_state(data.state_db)
    try:
        mark_lost(connection)
        for host, position_ns in positions(connection, MATERIALISE).items():
            Lake(data).discard_from(host, position_ns)
    finally:
        connection.close()


class _Worker(BasePoolExecutor):  # type: ignore[misc]  # APScheduler has no types
    """An executor of one thread: a job a worker, so that none waits for another."""

    def __init__(self, name: str) -> None:
        super().__init__(ThreadPoolExecutor(1, thread_name_prefix=name))


class Pipeline:
    """The live job in a thread of its own, and the scheduler with all others. `stop` is set where the live job dies."""

    def __init__(
        self, settings: Settings, data: DataFolder, store: Store, clock: Clock, stop: threading.Event
    ) -> None:
        logging.getLogger("apscheduler").setLevel(logging.CRITICAL)  # the jobs report to `status` themselves
        self._stop = stop
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._job = LiveJob(settings, data, store, clock)
        self._live = threading.Thread(target=self._follow, name="materialise")
        self._refit = RefitJob(settings, data, clock, self._ended)
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={
                name: _Worker(name) for name in (COMPACT, REFIT, RETAIN, "nightly", *RECEIVERS, "textfile")
            },
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        self._add_jobs(settings, data, clock)
        self._add_outward(settings, data, clock)

    def _add_jobs(self, settings: Settings, data: DataFolder, clock: Clock) -> None:
        table = schedules(settings.jobs)
        add = self._scheduler.add_job
        add(self._refit.run, _every(REQUEST_SECONDS), id="requests", executor=REFIT)
        nightly = (settings, data, clock)
        add(ask_nightly, cron(table[REFIT]), nightly, id=REFIT, executor="nightly", next_run_time=_now())
        add(compact_lake, cron(table[COMPACT]), (data, clock), id=COMPACT, executor=COMPACT)
        add(retain_lake, cron(table[RETAIN]), (settings.retention, data, clock), id=RETAIN, executor=RETAIN)

    def _add_outward(self, settings: Settings, data: DataFolder, clock: Clock) -> None:
        """What tells others of episodes; nothing unless the settings name somebody."""
        for name in receivers(settings.alerts):
            job = AlertJob(settings, data, clock, self._ended, name)
            self._scheduler.add_job(job.run, _every(ALERT_SECONDS), id=name, executor=name)
        if settings.alerts.textfile:
            write = TextfileJob(Path(settings.alerts.textfile), data, clock).run
            self._scheduler.add_job(
                write, _every(TEXTFILE_SECONDS), id="textfile", executor="textfile", next_run_time=_now()
            )

    @property
    def hostless(self) -> bool:
        """Whether the store answers and has no host."""
        return self._job.hostless

    def start(self) -> None:
        self._scheduler.start()
        self._live.start()

    def run_all_now(self) -> None:
        """After a step of the wall clock, by which the scheduler tells time: what was planned by the old clock is
        planned again."""
        for job in self._scheduler.get_jobs():
            job.modify(next_run_time=_now())

    def _follow(self) -> None:
        """Without the live job the others are of no use: the process ends, and whoever keeps it starts it again."""
        try:
            self._job.follow(self._ended)
        except BaseException as failure:  # noqa: BLE001  # raised again where the process ends
            self._failure = failure
            self._stop.set()

    def shut_down(self) -> None:
        """Let the runs under way end. Raises what the live job died of."""
        self._ended.set()
        self._scheduler.pause()
        self._live.join()
        self._scheduler.shutdown(wait=True)
        if self._failure is not None:
            raise self._failure


def _now() -> datetime:
    return datetime.now(UTC)


def _every(seconds: float) -> IntervalTrigger:
    return IntervalTrigger(seconds=seconds, timezone=UTC)


def cron(schedule: Schedule) -> CronTrigger:
    """The trigger of a schedule that divides a minute, an hour or a day."""
    hour, rest = divmod(schedule.offset_seconds, 3600)
    minute, second = divmod(rest, 60)
    fields = {60: {}, 3600: {"minute": minute}, 86_400: {"hour": hour, "minute": minute}}
    return CronTrigger(second=second, timezone=UTC, **fields[schedule.every_seconds])


def watch(
    pipeline: Pipeline, bucket: Bucket, clock: Clock, stop: threading.Event, end_ns: int | None
) -> bool:
    """Wait for the end, with an eye on the wall clock; True where the jobs are to go on, by other settings of `bucket`."""
    offset_ns = clock.wall_ns() - clock.monotonic_ns()
    while not stop.is_set():
        rest = 1.0 if end_ns is None else (end_ns - clock.monotonic_ns()) / SECOND_NS
        if rest <= 0:
            return False
        if pipeline.hostless and bucket.turns_out():
            return True
        stop.wait(min(1.0, rest))
        step_ns = clock.wall_ns() - clock.monotonic_ns() - offset_ns
        if abs(step_ns) > CLOCK_STEP_SECONDS * SECOND_NS:
            offset_ns += step_ns
            pipeline.run_all_now()
    return False

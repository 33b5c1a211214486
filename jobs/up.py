"""The agent and the jobs together, as child processes of `hostsight up`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from hostsight.clock import SECOND_NS, Clock, SystemClock
from hostsight.errors import HostsightError
from hostsight.files import locked
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from ingest.heartbeat import read_heartbeat
from jobs.environment import settings_environment
from jobs.progress import read_progress
from jobs.service import Service, ServiceSpec

TEND_SECONDS = 0.5
"""How soon it is noticed that a child has ended."""

STOP_SECONDS = 10.0


def supervise(
    settings: Settings,
    data: DataFolder,
    *,
    seconds: float | None = None,
    stop: threading.Event | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Keep agent and jobs running until `stop` is set, or for `seconds`; then stop both and return.

    Call it from one thread and stay in it: the children end with that thread (`jobs.child`). `say` gets one sentence
    whenever a child ends by itself. Raises StorageError where the data folder may not be written, LockedError
    where another such call holds it, HostsightError where the agent or the jobs never came to run.
    """
    data.create()
    clock = SystemClock()
    services = [Service(spec, clock, say) for spec in specs(settings, data)]
    with locked(data.up_lock, "`hostsight up`"):
        tend(services, clock, stop or threading.Event(), seconds)
    check_ran(services, data)


def specs(settings: Settings, data: DataFolder) -> list[ServiceSpec]:
    environment = settings_environment(settings)
    return [
        ServiceSpec(
            name, "cli.main", ["--data", str(data.root), name], environment, data.logs / f"{name}.log"
        )
        for name in ("agent", "serve")
    ]


def check_ran(services: Sequence[Service], data: DataFolder) -> None:
    """Raises HostsightError with the reason where one of them failed and never reported."""
    beat, progress = read_heartbeat(data), read_progress(data)
    reported = {report.pid for report in (beat, progress) if report is not None}
    for service in services:
        if service.failure is not None and not service.pids & reported:
            raise HostsightError(f"{service.spec.name} never came to run: it {service.failure}")


def tend(services: Sequence[Service], clock: Clock, stop: threading.Event, seconds: float | None) -> None:
    """Tend `services` until told to stop, then end them: all are asked first, then each is waited for."""
    end_ns = None if seconds is None else clock.monotonic_ns() + round(seconds * SECOND_NS)
    try:
        while not stop.is_set() and (end_ns is None or clock.monotonic_ns() < end_ns):
            for service in services:
                service.tend()
            stop.wait(TEND_SECONDS)
    finally:
        for service in services:
            service.ask_to_stop()
        for service in services:
            service.wait(STOP_SECONDS)

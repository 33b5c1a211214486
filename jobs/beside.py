"""The drain beside an agent: a child process for as long as the agent runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hostsight.clock import SystemClock
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from jobs.environment import settings_environment
from jobs.service import Service, ServiceSpec

TEND_SECONDS = 1.0
STOP_SECONDS = 6.0


@contextmanager
def drain_beside(settings: Settings, data: DataFolder, say: Callable[[str], None]) -> Iterator[None]:
    """Keep `hostsight drain` running within the context, where InfluxDB is the store; on leaving, let it send what is left.

    `say` gets one sentence whenever it ends by itself; it is called from another thread.
    """
    if settings.store.kind != "influx":
        yield
        return
    data.create()
    stop = threading.Event()
    service = Service(drain_spec(settings, data), SystemClock(), say)
    thread = threading.Thread(target=_tend, args=(service, stop), name="drain")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def drain_spec(settings: Settings, data: DataFolder) -> ServiceSpec:
    environment = settings_environment(settings)
    return ServiceSpec(
        "drain", "cli.main", ["--data", str(data.root), "drain"], environment, data.logs / "drain.log"
    )


def _tend(service: Service, stop: threading.Event) -> None:
    """The child ends with the thread that starts it, so one thread does both."""
    while not stop.is_set():
        service.tend()
        stop.wait(TEND_SECONDS)
    service.ask_to_stop()
    service.wait(STOP_SECONDS)

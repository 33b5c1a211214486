"""The alarm interrupts what holds up a tick, and nothing that merely runs when it rings."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from hostsight.clock import FakeClock
from hostsight.settings import AgentSettings, Duration, Settings
from ingest.collector import Host, Values
from ingest.sampler import Sampler
from ingest.watchdog import HELD_SECONDS, Watchdog
from tests.unit.fakes import FakeCollector, slot


class Slow(FakeCollector):
    """Reading takes `seconds`, during which the alarm rings."""

    def __init__(self, clock: FakeClock, seconds: float) -> None:
        super().__init__([slot("a")], [1])
        self._clock = clock
        self._seconds = seconds

    def read(self, out: Values) -> bool:
        self._clock.advance(self._seconds)
        ring = signal.getsignal(signal.SIGALRM)
        assert callable(ring)
        ring(signal.SIGALRM, None)
        return super().read(out)


@pytest.mark.parametrize(
    ("seconds", "state"), [(0.01, "ok"), (HELD_SECONDS, "failed")], ids=["quick", "held up"]
)
def test_only_a_tick_that_lasts_is_interrupted(clock: FakeClock, seconds: float, state: str) -> None:
    settings = Settings(agent=AgentSettings(host="gpu01", tick=Duration(10)))
    one = Sampler([Slow(clock, seconds)], Host(Path("/")), settings, clock)
    one.open()
    watchdog = Watchdog(one)
    try:
        for _ in range(2):
            one.advance()
    finally:
        watchdog.stop()
    assert one.collectors()[0].state == state

"""The sampler on the largest captured host: 1,152 CPUs, 13 MB of /proc/interrupts."""

from __future__ import annotations

import numpy as np

from hostsight.clock import SystemClock
from hostsight.settings import AgentSettings, Duration, Settings
from ingest.collectors.interrupts import InterruptsCollector
from ingest.sampler import Sampler, host_of
from tests.unit.collectors.trees import Trees
from tests.unit.fakes import FakeCollector, slot

TRIES = 5_000


def test_interrupts_are_read_beside_the_tick_and_arrive(trees: Trees) -> None:
    agent = AgentSettings(root=str(trees.largest()), tick=Duration(0.01), slow=Duration(0.1))
    settings = Settings(agent=agent)
    fast = FakeCollector([slot()], [1])
    sampler = Sampler([fast, InterruptsCollector()], host_of(agent), settings, SystemClock())
    sampler.open()
    assert sampler.threaded == ("interrupts",)
    ticks = 0
    while ticks < TRIES:
        tick = sampler.tick()
        ticks += 1
        assert tick.values[0] == 1
        if np.isfinite(tick.values[1:]).any():
            break
    assert fast.reads == ticks < TRIES
    sampler.close()

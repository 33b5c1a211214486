"""The sampler, driven by a clock that moves only when told to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hostsight.clock import FakeClock
from hostsight.errors import NoDataError, UsageError
from hostsight.settings import AgentSettings, Settings
from ingest.collector import Collector, Host, Values
from ingest.collectors.agent import AgentCollector, TicksCollector
from ingest.sampler import Sampler, Tick, host_of
from tests.unit.fakes import FakeCollector, MediumCollector, SlowCollector, slot

SETTINGS = Settings(agent=AgentSettings(host="gpu01"))


def sampler(clock: FakeClock, *collectors: Collector) -> Sampler:
    one = Sampler(collectors, Host(Path("/")), SETTINGS, clock)
    one.open()
    return one


def column(one: Sampler, ticks: Sequence[Tick], metric: str, device: str = "host") -> list[float]:
    """The values of one channel over `ticks`, which share a layout."""
    at = [(c.device, c.metric) for c in one.channels].index((device, metric))
    return [float(tick.values[at]) for tick in ticks]


def test_channels_carry_host_device_metric_and_kind(clock: FakeClock) -> None:
    one = sampler(clock, FakeCollector([slot("cpu0", "rate")], [1]))
    channel = one.channels[0]
    assert (channel.host, channel.subsystem, channel.device, channel.metric) == (
        "gpu01",
        "cpu",
        "cpu0",
        "events_per_s",
    )
    assert (channel.kind, channel.unit, channel.period_seconds) == ("rate", "1/s", 0.01)


def test_a_tick_holds_one_float32_a_channel(clock: FakeClock) -> None:
    one = sampler(clock, FakeCollector([slot("a"), slot("b")], [1, 2]))
    tick = one.tick()
    assert tick.values.dtype == np.float32
    assert tick.values.tolist() == [1, 2]
    assert tick.dt == pytest.approx(0.1)


def test_the_medium_tier_stands_only_in_the_ticks_that_read_it_on_whole_seconds(clock: FakeClock) -> None:
    clock.advance(0.33)
    one = sampler(clock, FakeCollector([slot("a")], [1]), MediumCollector([slot("b")], [5]))
    ticks = [one.tick() for _ in range(30)]
    read = [index for index, value in enumerate(column(one, ticks, "level", "b")) if not np.isnan(value)]
    assert [ticks[at].ts_ns % 10**9 for at in read] == [0, 0, 0]
    assert read == [6, 16, 26]
    assert not np.isnan(column(one, ticks, "level", "a")).any()


def test_collectors_of_the_medium_tier_take_turns(clock: FakeClock) -> None:
    mediums = [MediumCollector([slot(name)], [5]) for name in "abc"]
    one = sampler(clock, *mediums)
    ticks = [one.tick() for _ in range(20)]
    assert max(int(np.isfinite(tick.values).sum()) for tick in ticks) == 1
    assert [medium.reads for medium in mediums] == [2, 2, 2]


def test_the_slow_tier_never_delays_a_tick(clock: FakeClock) -> None:
    slow = SlowCollector([slot("b")], [5])
    one = sampler(clock, FakeCollector([slot("a")], [1]), slow)
    slow.gate.clear()
    slow.begun.clear()
    ticks = [one.tick() for _ in range(110)]
    assert slow.begun.wait(20)
    assert column(one, ticks, "level", "a") == [1] * 110
    assert one.meter.late_ticks == 0
    slow.gate.set()
    one.close()


def test_a_failing_collector_costs_its_own_channels_only(clock: FakeClock) -> None:
    bad = MediumCollector([slot("b")], [5])
    one = sampler(clock, FakeCollector([slot("a")], [1]), bad)
    bad.values = RuntimeError("boom")
    ticks = [one.tick() for _ in range(20)]
    assert column(one, ticks, "level", "a") == [1] * 20
    assert np.isnan(column(one, ticks, "level", "b")).all()
    status = one.collectors()[1]
    assert (status.name, status.state, status.error) == (
        "medium",
        "failed",
        "RuntimeError: boom",
    )


def test_hotplug_gives_a_new_layout(clock: FakeClock) -> None:
    collector = FakeCollector([slot("eth0")], [1])
    one = sampler(clock, collector)
    one.tick()
    before = one.channels
    collector.slots, collector.values, collector.same = [slot("eth0"), slot("eth1")], [1, 2], False
    tick = one.tick()
    assert tick.values.tolist() == [1, 2]
    assert one.channels is not before
    assert [channel.device for channel in one.channels] == ["eth0", "eth1"]
    same = one.channels
    one.tick()
    assert one.channels is same


def test_a_collector_whose_hardware_left_takes_its_channels_along(clock: FakeClock) -> None:
    collector = FakeCollector([slot("eth0")], [1])
    one = sampler(clock, collector, MediumCollector([slot("b")], [5]))
    collector.same, collector.slots = False, NoDataError("no interfaces")
    ticks = [one.tick() for _ in range(10)]
    assert [channel.device for channel in one.channels] == ["b"]
    assert ticks[9].values.tolist() == [5]


def test_a_channel_that_is_given_twice_keeps_its_first(clock: FakeClock) -> None:
    one = sampler(clock, FakeCollector([slot("a"), slot("a")], [1, 2]), MediumCollector([slot("a")], [3]))
    assert one.tick().values.tolist() == [1]
    assert len(one.channels) == 1


def test_infinite_and_too_large_values_are_absent(clock: FakeClock) -> None:
    devices = [slot(name) for name in "abcd"]
    one = sampler(clock, FakeCollector(devices, [np.inf, -np.inf, 1e300, 3]))
    assert one.tick().values.tolist() == pytest.approx([np.nan, np.nan, np.nan, 3], nan_ok=True)


def test_late_ticks_are_counted_and_reported_by_the_agent(clock: FakeClock) -> None:
    one = sampler(clock, TicksCollector())
    one.tick()
    clock.advance(0.57)
    one.tick()
    assert one.meter.late_ticks == 5
    clock.advance(0.13)
    assert column(one, [one.tick()], "tick_lateness_seconds") == [pytest.approx(0.03)]


def test_a_step_of_the_clock_is_an_event_of_one_tick(clock: FakeClock) -> None:
    one = sampler(clock, TicksCollector())
    ticks = [one.tick()]
    clock.step_wall(-1800)
    ticks += [one.tick(), one.tick()]
    assert column(one, ticks, "clock_step_seconds") == pytest.approx([np.nan, -1800, np.nan], nan_ok=True)
    assert ticks[0].ts_ns < ticks[1].ts_ns < ticks[2].ts_ns


def test_the_agent_reports_each_collector_and_itself(clock: FakeClock) -> None:
    agent = AgentCollector()
    one = sampler(clock, FakeCollector([slot("a")], [1]), agent)
    before = one.channels
    ticks = [one.tick() for _ in range(20)]
    assert one.channels is before
    assert column(one, ticks, "rss_bytes")[9] > 10e6
    assert column(one, ticks, "descriptors")[9] >= 3
    assert column(one, ticks, "read_seconds", "fake")[19] >= 0
    assert column(one, ticks, "cpu_percent")[19] >= 0


def test_one_that_is_slow_three_times_in_a_row_moves_to_the_background(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dawdling(FakeCollector):
        def read(self, out: Values) -> bool:
            elapsed[0] += 40_000_000
            return super().read(out)

    elapsed = [0]
    monkeypatch.setattr("ingest.reader.perf_counter_ns", lambda: elapsed[0])
    one = sampler(clock, Dawdling([slot("a")], [1]))
    assert [one.tick().values.tolist() for _ in range(3)] == [[1]] * 3
    assert one.threaded == ("fake",)
    one.close()


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name one that holds proc/ and sys/"):
        host_of(AgentSettings(root=str(tmp_path / "absent")))

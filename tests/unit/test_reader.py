"""One collector's life."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from hostsight.clock import FakeClock
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Slot, Values
from ingest.reader import LAST_RETRY_SECONDS, MOST_SLOTS, Condition, Reader
from tests.unit.fakes import FakeCollector, slot

ROOT = Host(Path("/"))


def reader(collector: FakeCollector, clock: FakeClock) -> Reader:
    return Reader(collector, ROOT, clock)


def test_reads_gauges_and_rates(clock: FakeClock) -> None:
    collector = FakeCollector([slot(kind="gauge"), slot(kind="rate")], [7, 100])
    one = reader(collector, clock)
    assert one.step() == pytest.approx([7, np.nan], nan_ok=True)
    clock.advance(0.5)
    collector.values = [8, 120]
    assert one.step() == pytest.approx([8, 40])
    assert one.condition == Condition("ok")


def test_what_a_reading_leaves_out_is_absent_not_stale(clock: FakeClock) -> None:
    collector = FakeCollector([slot()], [7])
    one = reader(collector, clock)
    one.step()
    collector.values = [np.nan]
    values = one.step()
    assert values is not None
    assert np.isnan(values[0])


def test_a_failure_is_named_and_keeps_the_channels(clock: FakeClock) -> None:
    collector = FakeCollector([slot()], OSError(5, "Input/output error"))
    one = reader(collector, clock)
    assert one.step() is None
    assert one.condition == Condition("failed", error="OSError: [Errno 5] Input/output error")
    assert len(one.slots) == 1


class Ending(FakeCollector):
    """Would end the process: at its reading, or already when it is opened."""

    def open(self, host: Host) -> Sequence[Slot]:
        return super().open(host) if self.values else sys.exit(3)

    def read(self, out: Values) -> bool:
        sys.exit(4)


@pytest.mark.parametrize(("values", "code"), [([], 3), ([1.0], 4)])
def test_one_that_would_end_the_process_fails_as_any_other(
    clock: FakeClock, values: list[float], code: int
) -> None:
    one = reader(Ending([slot()], values), clock)
    assert one.step() is None
    assert one.condition == Condition("failed", error=f"SystemExit: {code}")


def test_a_failing_collector_is_tried_again_after_1_2_4_and_at_most_60_seconds(clock: FakeClock) -> None:
    collector = FakeCollector([slot()], ValueError("garbage"))
    one = reader(collector, clock)
    tries = []
    for second in range(400):
        before = collector.reads
        one.step()
        if collector.reads > before:
            tries.append(second)
        clock.advance(1)
    assert tries == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363]


def test_a_success_resets_the_wait(clock: FakeClock) -> None:
    collector = FakeCollector([slot()], ValueError("garbage"))
    one = reader(collector, clock)
    for seconds in (0, 1, 2, 4):
        clock.advance(seconds)
        one.step()
    clock.advance(8)
    collector.values = [1]
    assert one.step() is not None
    collector.values = ValueError("garbage")
    one.step()
    clock.advance(1)
    collector.values = [1]
    assert one.step() is not None


def test_counting_starts_anew_after_a_failure(clock: FakeClock) -> None:
    collector = FakeCollector([slot(kind="rate")], [10])
    one = reader(collector, clock)
    one.step()
    collector.values = ValueError("garbage")
    one.step()
    clock.advance(1)
    collector.values = [1000]
    values = one.step()
    assert values is not None
    assert np.isnan(values[0])


def test_nothing_here_is_told_apart_from_a_failure(clock: FakeClock) -> None:
    one = reader(FakeCollector(NoDataError("no disks", "no such device", "modprobe sd")), clock)
    assert one.step() is None
    assert one.condition == Condition("absent", "no such device", "no disks", "modprobe sd")
    assert one.slots == ()


def test_what_was_absent_is_found_once_it_appears(clock: FakeClock) -> None:
    collector = FakeCollector(NoDataError("no disks"), [3])
    one = reader(collector, clock)
    one.step()
    collector.slots = [slot("vda")]
    clock.advance(60)
    assert one.step() == pytest.approx([3])


def test_changed_hardware_is_listed_and_read_in_the_same_step(clock: FakeClock) -> None:
    collector = FakeCollector([slot("eth0", "rate")], [10])
    one = reader(collector, clock)
    one.step()
    clock.advance(1)
    collector.slots, collector.values = [slot("eth0", "rate"), slot("eth1", "rate")], [15, 1]
    collector.same = False
    assert one.step() == pytest.approx([5, np.nan], nan_ok=True)
    assert [listed.device for listed in one.slots] == ["eth0", "eth1"]


@pytest.mark.parametrize("same", [None, 1, "yes"])
def test_a_reading_of_the_wrong_type_is_a_failure(clock: FakeClock, same: object) -> None:
    collector = FakeCollector([slot()], [1])
    collector.same = same
    one = reader(collector, clock)
    assert one.step() is None
    assert one.condition.error == f"TypeError: read() gave {type(same).__name__}, not bool"


def test_a_list_of_the_wrong_type_is_a_failure(clock: FakeClock) -> None:
    one = reader(FakeCollector(["cpu0"], [1]), clock)  # type: ignore[list-item]  # that is the point
    assert one.step() is None
    assert one.condition.error == "TypeError: open() gave str in its list, not Slot"


def test_a_reading_of_the_wrong_length_is_a_failure(clock: FakeClock) -> None:
    one = reader(FakeCollector([slot()], [1, 2, 3]), clock)
    assert one.step() is None
    assert one.condition.state == "failed"


def test_a_sum_over_changed_hardware_shows_no_jump(clock: FakeClock) -> None:
    collector = FakeCollector([slot("host", "rate"), slot("cpu0", "rate")], [10, 10])
    one = reader(collector, clock)
    one.step()
    clock.advance(1)
    collector.slots = [slot("host", "rate"), slot("cpu0", "rate"), slot("cpu1", "rate")]
    collector.values, collector.same = [1_000_012, 12, 1_000_000], False
    assert one.step() == pytest.approx([np.nan, 2, np.nan], nan_ok=True)


def test_hardware_that_never_settles_is_backed_off_from(clock: FakeClock) -> None:
    collector = FakeCollector([slot()], [1])
    one = reader(collector, clock)
    one.step()
    for change in range(100):
        collector.slots, collector.same = [slot(f"veth{change}")], False
        clock.advance(0.1)
        one.step()
    assert collector.opened < 15
    assert one.condition.error == "RuntimeError: the hardware changes faster than it can be listed"
    clock.advance(10)
    collector.same = True
    assert one.step() == pytest.approx([1])


def test_names_that_are_no_utf8_become_text(clock: FakeClock) -> None:
    odd = replace(slot("e\udcfe"), source="/sys/class/net/e\udcfe/carrier")
    one = reader(FakeCollector([odd], [1]), clock)
    assert one.open()
    assert one.slots[0].device == "e\N{REPLACEMENT CHARACTER}"
    assert one.slots[0].source == "/sys/class/net/e\N{REPLACEMENT CHARACTER}/carrier"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"device": 5}, "no text"),
        ({"metric": "level"}, "not Metric"),
        ({"metric": Metric("level", "1", "count", "as a site may call it")}, "'count', not rate, gauge"),  # type: ignore[arg-type]
        ({"metric": Metric("level", 1, "gauge", "one")}, "no text"),  # type: ignore[arg-type]
        ({"metric": Metric("level", "1", "gauge", "level", scale="1e3")}, "no number"),  # type: ignore[arg-type]
        ({"subsystem": "disk"}, "'disk', not cpu, gpu"),
        ({"period_seconds": "1s"}, "no number"),
    ],
)
def test_a_slot_that_cannot_be_stored_is_a_failure(
    clock: FakeClock, wrong: dict[str, Any], said: str
) -> None:
    one = reader(FakeCollector([replace(slot(), **wrong)], [1]), clock)
    assert one.step() is None
    assert said in one.condition.error


class Leaking(FakeCollector):
    """Opens a file at each reading and keeps it."""

    def __init__(self) -> None:
        super().__init__([slot()], [1])
        self.kept: list[IO[bytes]] = []

    def read(self, out: Values) -> bool:
        self.kept.append(Path(os.devnull).open("rb"))  # noqa: SIM115  # that is the fault
        return super().read(out)


def test_one_that_leaks_descriptors_is_switched_off_for_good_and_named(clock: FakeClock) -> None:
    collector = Leaking()
    one = reader(collector, clock)
    for _ in range(100):
        one.step()
    clock.advance(10 * LAST_RETRY_SECONDS)
    assert one.step() is None
    assert one.condition.state == "failed"
    assert "leaves open descriptors behind" in one.condition.error
    assert len(collector.kept) < 25
    for file in collector.kept:
        file.close()


def test_descriptors_that_stay_are_opened_once_and_are_no_leak(clock: FakeClock) -> None:
    collector = Leaking()
    one = reader(collector, clock)
    for _ in range(100):
        one.step()
        while len(collector.kept) > 1:
            collector.kept.pop(0).close()
    assert one.condition.state == "ok"
    collector.kept.pop().close()


def test_one_that_floods_with_channels_is_a_failure(clock: FakeClock) -> None:
    one = reader(FakeCollector([slot(str(number)) for number in range(MOST_SLOTS + 1)], []), clock)
    assert one.step() is None
    assert one.condition.error == "ValueError: open() lists more than 20,000 channels"

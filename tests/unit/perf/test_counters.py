"""Groups, scaling and turns, on a kernel of our own."""

from __future__ import annotations

import errno
from collections.abc import Sequence

import numpy as np
import pytest

from ingest.perf.counters import CpuCounters, Plan
from ingest.perf.event import Event
from tests.unit.perf.fakes import FakePerf

CYCLES, INSTRUCTIONS, MISSES, WALKS = (Event(4, code) for code in (0x3C, 0xC0, 0x2E, 0x08))
EVENTS = (CYCLES, INSTRUCTIONS, MISSES, WALKS)
RATES: dict[Event | tuple[Event, int], float] = {CYCLES: 3e9, INSTRUCTIONS: 6e9, MISSES: 1e6, WALKS: 2e5}
PLAN: Plan = ((0, 1), (2, 3))


def counters(
    perf: FakePerf, cpus: Sequence[int] = (0, 1), plan: Plan = PLAN, room: int = 1000
) -> CpuCounters:
    made = CpuCounters(perf, EVENTS, plan, cpus, room)
    made.open()
    return made


def rates(made: CpuCounters) -> list[list[float]]:
    """Events per second, a list a CPU."""
    result: list[list[float]] = made.read()[1].T.tolist()
    return result


def test_a_group_of_a_cpu_is_read_by_one_call() -> None:
    perf = FakePerf(RATES)
    made = counters(perf)
    assert perf.groups(cpu=1) == [[CYCLES, INSTRUCTIONS], [MISSES, WALKS]]
    perf.advance(1.0)
    assert rates(made) == [[3e9, 6e9, 1e6, 2e5]] * 2
    assert perf.reads == 4


def test_rates_are_of_the_time_since_the_last_reading() -> None:
    perf = FakePerf(RATES)
    made = counters(perf, cpus=[0])
    perf.advance(1.0)
    made.read()
    perf.rates = {**RATES, CYCLES: 1e9}
    perf.advance(0.5)
    assert rates(made)[0][0] == 1e9


def test_what_ran_a_quarter_of_the_time_is_scaled_to_the_whole() -> None:
    perf = FakePerf(RATES, share=0.25)
    made = counters(perf, cpus=[0])
    perf.advance(1.0)
    assert next(iter(perf.opened.values())).count == 0.75e9
    assert rates(made) == [[3e9, 6e9, 1e6, 2e5]]


def test_a_group_that_did_not_run_has_no_rate_and_goes_on_from_where_it_was() -> None:
    perf = FakePerf(RATES)
    made = counters(perf, cpus=[0])
    perf.share = 0.0
    perf.advance(1.0)
    assert np.isnan(rates(made)).all()
    perf.share = 0.5
    perf.advance(1.0)
    assert rates(made) == [[3e9, 6e9, 1e6, 2e5]]


def test_an_instant_tells_nothing_yet() -> None:
    perf = FakePerf(RATES)
    made = counters(perf, cpus=[0])
    perf.advance(0.009)
    assert np.isnan(rates(made)).all()
    perf.advance(0.001)
    assert rates(made) == [[3e9, 6e9, 1e6, 2e5]]


def test_an_event_that_the_processor_lacks_leaves_the_others_of_its_group() -> None:
    perf = FakePerf({event: rate for event, rate in RATES.items() if event != CYCLES})
    made = counters(perf, cpus=[0])
    assert {place: error.errno for place, error in made.missing.items()} == {0: errno.ENOENT}
    assert perf.groups(cpu=0) == [[INSTRUCTIONS], [MISSES, WALKS]]
    perf.advance(1.0)
    assert rates(made)[0] == pytest.approx([np.nan, 6e9, 1e6, 2e5], nan_ok=True)


def test_events_that_do_not_fit_into_a_group_get_one_of_their_own() -> None:
    perf = FakePerf(RATES, counters=3)
    made = counters(perf, cpus=[0], plan=((0, 1, 2, 3),))
    assert perf.groups(cpu=0) == [[CYCLES, INSTRUCTIONS, MISSES], [WALKS]]
    perf.advance(1.0)
    assert rates(made) == [[3e9, 6e9, 1e6, 2e5]]


def test_a_group_that_never_runs_is_taken_apart() -> None:
    perf = FakePerf(RATES, counters=2, taken=1)
    made = counters(perf, cpus=[0])
    for _ in range(3):
        perf.advance(1.0)
        assert np.isnan(rates(made)).all()
    assert made.split
    assert perf.groups(cpu=0) == [[CYCLES], [INSTRUCTIONS], [MISSES], [WALKS]]
    perf.advance(1.0)
    assert rates(made) == [[3e9, 6e9, 1e6, 2e5]]


def test_cpus_take_turns_where_descriptors_are_short() -> None:
    perf = FakePerf({(event, cpu): 1e6 * (cpu + 1) for event in EVENTS for cpu in range(5)})
    made = counters(perf, cpus=range(5), room=9)
    seen = []
    for _ in range(4):
        assert len(perf.opened) == 8
        perf.advance(1.0)
        columns, found = made.read()
        seen.append({column: float(found[0, column]) for column in columns})
        assert np.isnan(np.delete(found, columns, axis=1)).all()
    assert seen == [{0: 1e6, 1: 2e6}, {2: 3e6, 3: 4e6}, {4: 5e6, 0: 1e6}, {1: 2e6, 2: 3e6}]


def test_a_process_that_runs_out_of_descriptors_makes_do_and_leaves_some_free() -> None:
    perf = FakePerf(RATES, descriptors=18)
    made = counters(perf, cpus=range(8))
    assert made.turns
    assert perf.cpus() == [0, 1]
    assert perf.room() == 10
    turns = []
    for _ in range(4):
        perf.advance(1.0)
        turns.append(made.read()[0])
    assert turns == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_no_descriptor_at_all_is_an_error_that_leaves_nothing_open() -> None:
    perf = FakePerf(RATES, descriptors=3)
    with pytest.raises(OSError, match="Too many open files"):
        counters(perf)
    assert perf.opened == {}


def test_a_cpu_that_is_offline_has_no_rates() -> None:
    perf = FakePerf(RATES, offline={1})
    made = counters(perf, cpus=[0, 1, 2])
    perf.advance(1.0)
    assert rates(made) == [
        [3e9, 6e9, 1e6, 2e5],
        pytest.approx([np.nan] * 4, nan_ok=True),
        [3e9, 6e9, 1e6, 2e5],
    ]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.ENOSYS, errno.EBUSY])
def test_a_refusal_is_passed_on(number: int) -> None:
    with pytest.raises(OSError) as raised:  # noqa: PT011 - its number is what counts
        counters(FakePerf(RATES, refuses=number))
    assert raised.value.errno == number


def test_a_kernel_without_any_of_the_events_says_why() -> None:
    with pytest.raises(FileNotFoundError):
        counters(FakePerf({}))


def test_a_host_all_of_whose_cpus_went_offline_says_so() -> None:
    with pytest.raises(OSError, match="CPU 0 is offline"):
        counters(FakePerf(RATES, offline={0}), cpus=[0])


@pytest.mark.parametrize("room", [1000, 8])
def test_closing_leaves_nothing_open(room: int) -> None:
    perf = FakePerf(RATES)
    made = counters(perf, cpus=range(6), room=room)
    perf.advance(1.0)
    made.read()
    made.close()
    assert perf.opened == {}


def test_a_short_reading_is_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    perf = FakePerf(RATES)
    made = counters(perf, cpus=[0])
    perf.advance(1.0)
    with monkeypatch.context() as patched:
        patched.setattr(perf, "read", lambda fd, size: b"")
        assert np.isnan(rates(made)).all()
    assert rates(made) == [[3e9, 6e9, 1e6, 2e5]]

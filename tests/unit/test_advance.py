"""Ticks that are captured one by one and parsed a second at a time give what single ticks give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from hostsight.clock import FakeClock, floor_second
from hostsight.settings import AgentSettings, Settings
from ingest.collector import Collector, Host, Tier, Values
from ingest.collectors.agent import TicksCollector
from ingest.kept_file import KeptFile
from ingest.reader import HeldUpError, Reader
from ingest.sampler import Batch, Sampler, Tick
from tests.unit.fakes import FakeCollector, MediumCollector, SlowCollector, slot


class FileCollector(FakeCollector):
    """A counter `a` and a gauge `b`: the two numbers of a file. Text other than numbers makes it fail; a third number
    is other hardware.
    """

    def __init__(self, path: Path) -> None:
        super().__init__([slot("a", "rate"), slot("b")])
        self.file = KeptFile(path)

    def read(self, out: Values) -> bool:
        words = self.file.read().split()
        if len(words) != len(out):
            self.slots = [slot("a", "rate"), *(slot(name) for name in "bc"[: len(words) - 1])]
            return False
        out[:] = [float(word) for word in words]
        return True

    def captured(self) -> Sequence[KeptFile]:
        return [self.file]

    def close(self) -> None:
        super().close()
        self.file.close()


def sampler(clock: FakeClock, *collectors: Collector, adaptive: bool = False) -> Sampler:
    agent = AgentSettings(host="gpu01", adaptive=adaptive)
    one = Sampler(collectors, Host(Path("/")), Settings(agent=agent), clock)
    one.open()
    return one


def write_and_advance(one: Sampler, path: Path, texts: Sequence[str]) -> list[Batch]:
    """One tick a text, and all ticks in the end."""
    known: list[Batch] = []
    for text in texts:
        path.write_text(text)
        known += one.advance()
    return known + one.settle()


def series(batches: Sequence[Batch], device: str) -> list[float]:
    return [
        float(tick.values[[channel.device for channel in batch.channels].index(device)])
        for batch in batches
        for tick in batch.ticks
        if device in {channel.device for channel in batch.channels}
    ]


def ticks(batches: Sequence[Batch]) -> list[Tick]:
    return [tick for batch in batches for tick in batch.ticks]


def test_values_are_those_of_the_tick_that_captured_them(clock: FakeClock, tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_text("0 0")
    one = sampler(clock, FileCollector(path))
    found = write_and_advance(one, path, [f"{at * at} {at}" for at in range(25)])
    assert series(found, "b") == list(range(25))
    rates = series(found, "a")
    assert np.isnan(rates[0])
    assert rates[1:] == pytest.approx([10 * (2 * at - 1) for at in range(1, 25)])


def test_it_gives_what_single_ticks_give_where_counters_step_back(clock: FakeClock, tmp_path: Path) -> None:
    texts = [f"{count} 1" for count in (1000, 1010, 1004, 1004, 1030, 5, 25, 26)]
    path = tmp_path / "counts"
    path.write_text("1000 1")
    one, other = sampler(clock, FileCollector(path)), sampler(clock, FileCollector(path))
    single = []
    for text in texts:
        path.write_text(text)
        single.append(float(other.tick().values[0]))
    together = series(write_and_advance(one, path, texts), "a")
    assert together == pytest.approx(single, nan_ok=True)


def test_each_second_is_given_once_it_is_over(clock: FakeClock, tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_text("1 1")
    one = sampler(clock, FileCollector(path))
    given = [ticks(one.advance()) for _ in range(45)]
    last = [found[-1].ts_ns for found in given if found]
    assert len(last) == 4
    assert np.diff([floor_second(ts) for ts in last]).tolist() == [10**9] * 3
    assert sum(map(len, given)) + len(ticks(one.settle())) == 45
    assert one.settle() == []


def test_stamps_and_lengths_are_those_of_the_ticks(clock: FakeClock, tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_text("1 1")
    one = sampler(clock, FileCollector(path), TicksCollector())
    known = one.advance()
    clock.advance(0.13)
    known += one.advance()
    known += one.settle()
    first, second = ticks(known)
    assert second.ts_ns - first.ts_ns == round(second.dt * 1e9)
    assert [float(tick.values[2]) for tick in (first, second)] == pytest.approx([0, 0.03])


def test_other_hardware_costs_the_rest_of_the_second_and_is_there_in_the_next(
    clock: FakeClock, tmp_path: Path
) -> None:
    path = tmp_path / "counts"
    path.write_text("0 0")
    one = sampler(clock, FileCollector(path))
    known: list[Batch] = []
    while not known:
        known += one.advance()
    found = write_and_advance(one, path, ["1 7", "2 8", "3 9 5", "4 9 5"])
    assert series(found, "b") == pytest.approx([7, 8, np.nan, np.nan], nan_ok=True)
    found = write_and_advance(one, path, ["5 9 6", "6 9 7"])
    assert series(found, "c") == [6, 7]
    assert [len(batch.channels) for batch in found] == [3]


def test_a_failure_costs_the_rest_of_its_second_and_of_that_in_which_its_pause_ends(
    clock: FakeClock, tmp_path: Path
) -> None:
    path = tmp_path / "counts"
    path.write_text("0 0")
    one = sampler(clock, FileCollector(path), MediumCollector([slot("m")], [5]))
    found = write_and_advance(one, path, ["0 1", "1 2", "gone wrong", "3 4"])
    assert series(found, "b") == pytest.approx([1, 2, np.nan, np.nan], nan_ok=True)
    status = one.collectors()[0]
    assert status.error == "ValueError: could not convert string to float: b'gone'"
    clock.advance(1)
    found = write_and_advance(one, path, ["5 4"])
    found += write_and_advance(one, path, ["10 5", "20 6"])
    assert series(found, "b") == pytest.approx([np.nan, 5, 6], nan_ok=True)


def test_a_missing_file_is_a_failure_too(clock: FakeClock, tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_text("0 3")
    one = sampler(clock, FileCollector(path))
    known = one.advance()
    path.unlink()
    known += one.advance()
    known += one.settle()
    assert series(known, "b") == pytest.approx([3, np.nan], nan_ok=True)
    assert one.collectors()[0].error.startswith("FileNotFoundError")


def test_hardware_that_another_tier_finds_is_laid_out_at_once(clock: FakeClock, tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_text("0 0")
    medium = MediumCollector([slot("m")], [5])
    one = sampler(clock, FileCollector(path), medium)
    known = write_and_advance(one, path, ["0 1"])
    medium.slots, medium.values, medium.same = [slot("m"), slot("n")], [5, 6], False
    known = write_and_advance(one, path, [f"0 {at}" for at in range(2, 14)])
    assert series(known, "b") == list(range(2, 14))
    assert [value for value in series(known, "n") if not np.isnan(value)] == [6]
    assert next(len(batch.channels) for batch in known) == 3


class BackgroundCollector(SlowCollector):
    tier: ClassVar[Tier] = Tier.MEDIUM
    background: ClassVar[bool] = True


def test_what_a_thread_read_stands_in_the_tick_that_came_next(clock: FakeClock, tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_text("0 0")
    first, second = BackgroundCollector([slot("m")], [5]), BackgroundCollector([slot("n")], [6])
    one = sampler(clock, FileCollector(path), first, second)
    for collector in (first, second):
        collector.gate.clear()
        collector.begun.clear()
    while not one.advance():
        pass
    known = [*one.advance(), *one.advance()]
    clock.advance(0.01)
    first.gate.set()
    assert second.begun.wait(20)  # by the same thread, once it was through with the first
    second.gate.set()
    while not known:
        known += one.advance()
    one.close()
    assert np.flatnonzero(np.isfinite(series(known, "m"))).tolist() == [2]


def test_an_adaptive_rate_knows_each_tick_at_once(clock: FakeClock, tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_text("0 4")
    one = sampler(clock, FileCollector(path), adaptive=True)
    assert [series(one.advance(), "b") for _ in range(3)] == [[4]] * 3
    assert one.settle() == []


def test_what_takes_long_to_parse_is_parsed_before_the_second_is_over(
    clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "counts"
    path.write_text("0 4")
    one = sampler(clock, FileCollector(path))
    elapsed = iter(range(0, 10**12, 10_000_000))
    monkeypatch.setattr("ingest.sampler.perf_counter_ns", lambda: next(elapsed))
    one.advance()
    one.settle()
    assert [len(ticks(one.advance())) for _ in range(7)] == [0, 2, 0, 0, 0, 0, 5]


@pytest.mark.parametrize("seed", range(5))
def test_it_gives_what_single_ticks_give_whatever_the_counters_and_the_clock_do(
    seed: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(seed)
    path = tmp_path / "counts"
    path.write_text("5 5")
    clocks = FakeClock(), FakeClock()
    one, other = (sampler(clock, FileCollector(path)) for clock in clocks)
    known, single, count = list[Batch](), list[Tick](), 5
    for _ in range(200):
        count = max(0, count + int(rng.choice([0, 1, 10**6, 2**40, -3, -(10**5), -(2**60)])))
        path.write_text(f"{count} {rng.integers(10**6)}")
        late, step = rng.choice([0, 0, 0, 0.04, 0.17, 2.3]), rng.choice([0] * 9 + [-3, 5, 0.0015])
        for clock in clocks:
            clock.advance(late)
            clock.step_wall(step)
        known += one.advance()
        single.append(other.tick())
    together = ticks([*known, *one.settle()])
    assert [(tick.ts_ns, tick.dt) for tick in together] == [(tick.ts_ns, tick.dt) for tick in single]
    np.testing.assert_array_equal([tick.values for tick in together], [tick.values for tick in single])


class BreakableFile(KeptFile):
    """Its captures raise `broken`, if that is set."""

    broken: Exception | None = None

    def capture(self) -> None:
        if self.broken is not None:
            raise self.broken
        super().capture()


def breakable(path: Path) -> tuple[FileCollector, BreakableFile]:
    path.write_text("0 0")
    collector = FileCollector(path)
    collector.file = file = BreakableFile(path)
    return collector, file


def test_a_capture_that_fails_costs_its_second_and_no_other_collector(
    clock: FakeClock, tmp_path: Path
) -> None:
    collector, file = breakable(tmp_path / "counts")
    one = sampler(clock, collector, FakeCollector([slot("other")], [7]))
    known = one.advance()
    file.broken = MemoryError()
    known += [*one.advance(), *one.advance(), *one.settle()]
    assert series(known, "other") == [7, 7, 7]
    assert np.isnan(series(known, "b")).all()
    assert [beat.state for beat in one.collectors()] == ["failed", "ok"]


def test_a_watchdog_that_rings_when_all_is_taken_costs_nothing(
    clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ring(reader: Reader) -> None:
        reader.captured.append(clock.monotonic_ns())
        raise HeldUpError

    path = tmp_path / "counts"
    path.write_text("0 0")
    monkeypatch.setattr(Reader, "_stamp", ring)
    one = sampler(clock, FileCollector(path))
    assert series(write_and_advance(one, path, ["0 1", "0 2"]), "b") == [1, 2]


def test_what_opens_anew_after_a_failed_capture_may_have_other_channels(
    clock: FakeClock, tmp_path: Path
) -> None:
    collector, file = breakable(tmp_path / "counts")
    one = sampler(clock, collector)
    while not one.advance():
        pass
    file.broken = MemoryError()
    known = one.advance()
    file.broken = None
    clock.advance(1.5)
    (tmp_path / "counts").write_text("1 2 3")
    collector.slots = [slot("a", "rate"), slot("b"), slot("c")]
    known += one.advance()
    assert [len(batch.channels) for batch in known] == [2, 3]
    assert series(known, "b") == pytest.approx([np.nan, 2], nan_ok=True)
    assert series(known, "c") == [3]


@pytest.mark.parametrize("files", [None, 5, [object()]], ids=["nothing", "a number", "no files"])
def test_a_collector_whose_files_are_none_fails_alone(
    clock: FakeClock, tmp_path: Path, files: object
) -> None:
    path = tmp_path / "counts"
    path.write_text("0 0")
    wrong = FakeCollector([slot("x")], [1])
    wrong.captured = lambda: files  # type: ignore[attr-defined]  # as a collector of a site may
    one = sampler(clock, wrong, FileCollector(path))
    assert series(write_and_advance(one, path, ["0 1", "0 2"]), "b") == [1, 2]
    assert [beat.state for beat in one.collectors()] == ["failed", "ok"]


def test_files_that_cannot_be_forgotten_fail_alone(clock: FakeClock, tmp_path: Path) -> None:
    collector, file = breakable(tmp_path / "counts")
    one = sampler(clock, collector)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BreakableFile, "forget", lambda _self: 1 / 0)
        found = write_and_advance(one, tmp_path / "counts", ["0 1"])
    assert file.broken is None
    assert series(found, "b") == [1]
    assert one.collectors()[0].error.startswith("ZeroDivisionError")

"""A channel that stops, a device that vanishes: seen as such, and told from what is no fault."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hostsight.channel import Channel, Subsystem
from hostsight.clock import SECOND_NS
from models.frames import select_rows
from models.protocol import WindowBlock
from models.structure import NEVER, Gaps, Stops, StopWatch, absences

DISKSTATS = "/proc/diskstats"
Levels = NDArray[np.float32]


def channel(
    device: str, metric: str, source: str = DISKSTATS, subsystem: Subsystem = "storage", kind: str = "rate"
) -> Channel:
    return Channel("h", subsystem, device, metric, kind, "B/s", 0.1, source)  # type: ignore[arg-type]


DISKS = [channel(f"nvme{disk}n1", metric) for disk in range(3) for metric in ("read", "write")]


def windows(count: int, channels: int = len(DISKS)) -> Levels:
    return np.ones((count, channels), np.float32)


def ends(count: int, first: int = 1) -> NDArray[np.int64]:
    return (first + np.arange(count, dtype=np.int64)) * SECOND_NS


def watch(channels: list[Channel] | None = None, gap: int = 0) -> StopWatch:
    channels = DISKS if channels is None else channels
    return StopWatch(channels, np.full(len(channels), gap, np.int64))


def look(levels: Levels, channels: list[Channel] | None = None, gap: int = 0) -> Stops:
    return watch(channels, gap).look(ends(len(levels)), levels)


def first(flags: NDArray[np.bool_]) -> int:
    return int(np.flatnonzero(flags)[0])


def test_a_channel_that_stops_while_its_device_goes_on() -> None:
    levels = windows(60)
    levels[20:40, 0] = np.nan
    stops = look(levels)
    assert (first(stops.stopped[:, 0]), int(stops.stopped.sum())) == (29, 11), (
        "ten windows late, until it is back"
    )
    assert stops.since_ns[35, 0] == 20 * SECOND_NS, "the end of the last window with a value"
    assert not stops.vanished.any()


def test_a_device_that_vanishes_among_others_of_its_source() -> None:
    levels = windows(60)
    levels[20:, 2:4] = np.nan
    stops = look(levels)
    assert np.array_equal(np.flatnonzero(stops.stopped.any(axis=0)), [2, 3])
    assert stops.vanished[59, 2]


def test_the_only_device_of_its_source_is_missed_where_the_host_says_so() -> None:
    disk = [
        channel("nvme0n1", "read"),
        channel("nvme0n1", "write"),
        channel("nvme0n1", "device_present", "/sys", kind="state"),
        *(channel("host", f"m{number}", "/proc/stat") for number in range(4)),
    ]
    levels = windows(60, len(disk))
    levels[20:, :2] = np.nan
    assert not look(levels, disk).stopped.any(), "its collector may have failed"
    levels[:, 2] = np.nan
    levels[15, 2], levels[25, 2] = 1, 0
    assert look(levels, disk, gap=5).vanished[59, :2].all()


def test_all_channels_of_a_source_that_stop_are_the_collectors_trouble() -> None:
    channels = [*DISKS, *(channel(f"cpu{cpu}", "busy", "/proc/stat", "cpu") for cpu in range(8))]
    levels = windows(60, len(channels))
    levels[20:, :6] = np.nan
    assert not look(levels, channels).stopped.any()


def test_an_agent_that_starts_has_lost_nothing() -> None:
    channels = [*DISKS, *(channel("host", f"m{number}", "/proc/stat", "cpu") for number in range(8))]
    levels = windows(60, len(channels))
    levels[:40, 1:] = np.nan
    assert not look(levels, channels).stopped.any()


@pytest.mark.parametrize(
    "one",
    [
        channel("veth12ab", "rx", "/proc/net/dev", "network"),
        channel("system.slice", "cgroup_cpu", "/sys/fs/cgroup", "cpu"),
        channel("nvme9n1", "read_await", "derived"),
        channel("nvme9n1", "device_lost", kind="event"),
    ],
    ids=lambda one: one.metric,
)
def test_what_comes_and_goes_is_not_missed(one: Channel) -> None:
    twin = channel(f"{one.device}x", one.metric, one.source, one.subsystem)
    channels = [*DISKS, one, twin]
    levels = windows(60, len(channels))
    levels[20:, 6] = np.nan
    assert not look(levels, channels).stopped.any()


def test_a_channel_of_the_slow_tier_is_waited_for_longer() -> None:
    levels = windows(120)
    levels[20:, 0] = np.nan
    assert first(look(levels, gap=7).stopped[:, 0]) == 19 + 4 * 7


def test_a_channel_that_training_did_not_see_all_through_never_stops() -> None:
    one = StopWatch(DISKS, np.array([NEVER, 0, 0, 0, 0, 0], np.int64))
    levels = windows(60)
    levels[20:, :2] = np.nan
    stops = one.look(ends(60), levels)
    assert np.array_equal(np.flatnonzero(stops.stopped.any(axis=0)), [1])


@pytest.mark.parametrize("size", [1, 7, 60])
def test_how_windows_are_batched_does_not_matter(size: int) -> None:
    levels = windows(60)
    levels[12:50, 0] = np.nan
    levels[30:, 4] = np.nan
    whole = look(levels)
    one = watch()
    parts = [one.look(ends(60)[at : at + size], levels[at : at + size]) for at in range(0, 60, size)]
    assert np.array_equal(np.concatenate([part.stopped for part in parts]), whole.stopped)
    assert np.array_equal(np.concatenate([part.since_ns for part in parts]), whole.since_ns)


def test_absences_are_counted_on() -> None:
    present = np.array([[0, 1], [0, 0], [1, 0]], bool)
    assert absences(present, np.array([3, 9])).tolist() == [[4, 0], [5, 1], [0, 2]]


def block(levels: Levels, first_end: int = 1) -> WindowBlock:
    values = np.repeat(levels[:, :, np.newaxis], 5, axis=2)
    return WindowBlock(ends(len(levels), first_end), np.arange(1, 1 + levels.shape[1]), values)


def test_gaps_of_training() -> None:
    levels = windows(400, 5)
    levels[:, 1] = np.nan
    levels[::10, 1] = levels[1::10, 1] = levels[2::10, 1] = 1  # the slow tier
    levels[100:200, 2] = np.nan  # away for long
    levels[340:, 3] = np.nan  # away since a minute
    levels[:300, 4] = np.nan  # new
    whole = block(levels)
    expected = [0, 7, NEVER, 60, NEVER]
    assert Gaps.of(whole).of_channels(whole.channels).tolist() == expected

    parts = Gaps()
    for start in range(0, 400, 37):
        parts.note(select_rows(whole, slice(start, start + 37)))
    assert parts.of_channels(whole.channels).tolist() == expected
    assert parts.of_channels(np.array([2, 77])).tolist() == [7, NEVER], "unknown channels were never there"


def test_channels_that_a_later_block_adds() -> None:
    gaps = Gaps()
    gaps.note(block(windows(100, 1)))
    gaps.note(block(windows(300, 2), 101))
    assert gaps.of_channels(np.array([1, 2])).tolist() == [0, NEVER], "it came after a hundred windows"

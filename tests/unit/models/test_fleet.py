"""Of hosts that share a job, the one that does not do as the others do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from hostsight.channel import Channel
from models.fleet import Fleet, FleetWatch
from models.peers import Comparison

HOSTS = ("gpu01", "gpu02", "gpu03", "gpu04", "gpu05")
SECOND = 10**9
PACE = 1 / 21_600
Level = Callable[[str, int], float]


def channels(host: str) -> tuple[Channel, ...]:
    """In another order on each host, as ids are."""
    found = (
        Channel(host, "cpu", "host", "busy_percent", "gauge", "%", 0.1, "/proc/stat"),
        Channel(host, "cpu", "cpu0", "busy_percent", "gauge", "%", 0.1, "/proc/stat"),
        Channel(host, "gpu", "gpu0", "power_watts", "gauge", "W", 1.0, "nvml"),
        Channel(host, "memory", "host", "used_bytes", "gauge", "B", 0.1, "/proc/meminfo"),
    )
    return tuple(sorted(found, key=lambda channel: channel.id))


def busy(host: str) -> int:
    return next(i for i, each in enumerate(channels(host)) if each.label == "cpu busy_percent")


def run(
    seconds: int,
    level: Level,
    *,
    hosts: tuple[str, ...] = HOSTS,
    patterns: tuple[str, ...] = ("gpu*",),
    late: int = 0,
) -> dict[str, NDArray[np.bool_]]:
    """As live: a window of each host a second, one host after the other; the last one `late` seconds behind."""
    fleet, rng = Fleet(patterns), np.random.default_rng(2)
    watches = {host: FleetWatch(fleet, host, channels(host), PACE) for host in hosts}
    odd: dict[str, list[NDArray[np.bool_]]] = {host: [] for host in hosts}
    for second in range(1, seconds):
        for host in hosts:
            at = second - late if host == hosts[-1] else second
            if at > 0:
                noise = rng.normal(0, 0.5, (1, 4))
                levels = (level(host, at) + noise).astype(np.float32)
                odd[host].append(watches[host].compare(np.array([at * SECOND]), levels).odd[0])
    return {host: np.array(rows) for host, rows in odd.items()}


def slow(host: str, second: int) -> float:
    """A job on all; after two minutes gpu03 falls behind."""
    return 40.0 if host == "gpu03" and second > 120 else 90.0


@pytest.mark.parametrize("late", [0, 8])
def test_a_host_that_falls_behind(late: int) -> None:
    found = run(180, slow, late=late)
    assert {host for host, odd in found.items() if odd.any()} == {"gpu03"}
    rows = found["gpu03"][:, busy("gpu03")]
    assert 120 <= int(np.flatnonzero(rows)[0]) <= 122
    assert rows[125:].all()


def test_single_cpus_and_amounts_of_memory_are_not_compared() -> None:
    odd = run(180, slow)["gpu03"][-1]
    assert {each.label for each, flag in zip(channels("gpu03"), odd, strict=True) if flag} == {
        "cpu busy_percent",
        "gpu gpu0 power_watts",
    }


def test_a_job_that_starts_on_all_hosts() -> None:
    found = run(180, lambda _, second: 3.0 if second < 120 else 95.0)
    assert not any(odd[:120].any() or odd[123:].any() for odd in found.values())
    assert max(int(odd.any(axis=1).sum()) for odd in found.values()) < 3, "too few windows for an episode"


def test_what_always_set_a_host_apart_is_usual() -> None:
    found = run(300, lambda host, _: 50.0 if host == "gpu01" else 90.0)
    assert not any(odd.any() for odd in found.values())


def test_a_host_that_is_different_for_good_is_so_no_more_after_a_while() -> None:
    fleet = Fleet(("gpu*",))
    watches = {host: FleetWatch(fleet, host, channels(host), 1 / 200) for host in HOSTS}
    odd = []
    for second in range(1, 1500):
        for host in HOSTS:
            levels = np.full((1, 4), slow(host, second), np.float32)
            found = watches[host].compare(np.array([second * SECOND]), levels)
            odd += [bool(found.odd.any())] if host == "gpu03" else []
    assert any(odd[120:300])
    assert not any(odd[1000:])


@pytest.mark.parametrize(
    ("hosts", "patterns"),
    [(HOSTS, ()), (HOSTS, ("db*",)), (("gpu01", "gpu03"), ("gpu*",)), (HOSTS, ("gpu03", "gpu*"))],
    ids=["not wanted", "of another job", "two", "alone in its group"],
)
def test_hosts_without_peers(hosts: tuple[str, ...], patterns: tuple[str, ...]) -> None:
    assert not run(180, slow, hosts=hosts, patterns=patterns)["gpu03"].any()


def test_what_is_told_of_the_others() -> None:
    fleet = Fleet(("gpu*",))
    found: Comparison | None = None
    for host, level in zip(HOSTS, (90.0, 91.0, 40.0, 92.0, 93.0), strict=True):
        watch = FleetWatch(fleet, host, channels(host), PACE)
        watch.compare(np.array([SECOND]), np.full((1, 4), level, np.float32))
    watch = FleetWatch(fleet, "gpu03", channels("gpu03"), PACE)
    found = watch.compare(np.array([SECOND]), np.full((1, 4), 40, np.float32))
    place = busy("gpu03")
    assert found.expected[0, place] == pytest.approx(91.5)
    assert found.others[0, place] == 4


def test_of_many_hosts_some_dozens_are_looked_at_and_the_odd_one_is_found() -> None:
    names = tuple(f"gpu{each:02}" for each in range(60))
    fleet, rng = Fleet(("gpu*",)), np.random.default_rng(2)
    watches = {host: FleetWatch(fleet, host, channels(host), PACE) for host in names}
    for second in range(1, 80):
        for host in names:
            level = 40.0 if host == "gpu55" and second > 65 else 90.0
            levels = (level + rng.normal(0, 0.5, (1, 4))).astype(np.float32)
            found = watches[host].compare(np.array([second * SECOND]), levels)
            if second == 79 and host in {"gpu50", "gpu55"}:
                assert bool(found.odd[0, busy(host)]) == (host == "gpu55")
                assert int(found.others[0, busy(host)]) == 32

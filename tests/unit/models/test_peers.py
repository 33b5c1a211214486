"""Of GPUs that share a job, the one that does not do as the others do."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hostsight.channel import Channel, Subsystem
from models.peers import Peers

Levels = NDArray[np.float32]
GPUS = 8


def channel(
    device: str, metric: str = "sm_clock_hertz", unit: str = "Hz", subsystem: Subsystem = "gpu"
) -> Channel:
    return Channel("h", subsystem, device, metric, "gauge", unit, 1.0, "nvml")


CLOCKS = [channel(f"gpu{number}") for number in range(GPUS)]
LOADS = [channel(f"gpu{number}", "utilization_percent", "%") for number in range(GPUS)]


def clocks(hertz: float, windows: int = 200, gpus: int = GPUS) -> Levels:
    noise = np.random.default_rng(3).normal(0, 2e6, (windows, gpus))
    return (hertz + noise).astype(np.float32)


def test_one_gpu_that_is_slower_than_its_peers() -> None:
    peers = Peers.fit(clocks(1.7e9), CLOCKS)
    levels = clocks(1.7e9, 10)
    levels[4:7, 3] = 1.1e9
    found = peers.compare(levels)
    assert np.argwhere(found.odd).tolist() == [[4, 3], [5, 3], [6, 3]]
    assert found.expected[5, 3] == pytest.approx(1.7e9, rel=0.01)
    assert found.others[5, 3] == 7


def test_what_all_do_at_once_is_no_deviation() -> None:
    peers = Peers.fit(clocks(2.1e8), CLOCKS)
    assert not peers.compare(clocks(1.7e9)).odd.any()


def test_a_difference_that_matters_to_nobody() -> None:
    peers = Peers.fit(clocks(1.7e9), CLOCKS)
    levels = clocks(1.7e9, 10)
    levels[:, 3] -= 1.5e8
    assert not peers.compare(levels).odd.any(), "200 MHz or a tenth is the smallest that matters"


def test_a_difference_that_was_always_there_is_usual() -> None:
    training = clocks(1.7e9)
    training[:, 5] -= 5e8
    peers = Peers.fit(training, CLOCKS)
    levels = clocks(1.7e9, 10)
    levels[:, 5] -= 5e8
    assert not peers.compare(levels).odd.any()
    levels[:, 5] += 5e8
    assert np.flatnonzero(peers.compare(levels).odd.any(axis=0)).tolist() == [5]


def test_peers_that_often_differ_are_given_room() -> None:
    training = clocks(1.7e9)
    training[::10, 2] -= 4e8
    levels = clocks(1.7e9, 10)
    levels[:, 2] -= 5e8
    assert not Peers.fit(training, CLOCKS).compare(levels).odd.any()
    levels[:, 2] -= 2e8
    assert Peers.fit(training, CLOCKS).compare(levels).odd[:, 2].all()


def test_where_several_differ_they_do_not_share_a_job() -> None:
    peers = Peers.fit(clocks(1.7e9), CLOCKS)
    levels = clocks(1.7e9, 10)
    levels[:, :2] = 1.1e9
    assert peers.compare(levels).odd.sum() == 20, "two of eight are a minority"
    levels[:, 2] = 1.1e9
    assert not peers.compare(levels).odd.any()


@pytest.mark.parametrize(("gpus", "compared"), [(2, False), (3, True)])
def test_there_must_be_three(gpus: int, compared: bool) -> None:
    peers = Peers.fit(clocks(1.7e9, gpus=gpus), CLOCKS[:gpus])
    levels = clocks(1.7e9, 10, gpus)
    levels[:, 0] = 1.1e9
    assert peers.compare(levels).odd.any() == compared


def test_absent_devices_are_no_peers() -> None:
    peers = Peers.fit(clocks(1.7e9), CLOCKS)
    levels = clocks(1.7e9, 10)
    levels[:, 0] = 1.1e9
    levels[:, 3:] = np.nan
    assert peers.compare(levels).others[0, 0] == 2
    assert peers.compare(levels).odd[:, 0].all()
    levels[:, 2] = np.nan
    assert not peers.compare(levels).odd.any(), "two are left"


def test_one_gpu_that_works_while_the_others_rest_is_a_small_job() -> None:
    known = [*CLOCKS, *LOADS]
    peers = Peers.fit(np.hstack([clocks(2.1e8), np.zeros((200, GPUS), np.float32)]), known)
    levels = np.hstack([clocks(2.1e8, 10), np.zeros((10, GPUS), np.float32)])
    levels[:, 0], levels[:, GPUS] = 1.7e9, 98
    assert not peers.compare(levels).odd.any()

    at_work = np.hstack([clocks(1.7e9, 10), np.full((10, GPUS), 98, np.float32)])
    at_work[:, 0], at_work[:, GPUS] = 2.1e8, 0
    assert np.flatnonzero(peers.compare(at_work).odd.any(axis=0)).tolist() == [0, GPUS]


@pytest.mark.parametrize(
    ("subsystem", "prefix", "metric", "unit"),
    [
        ("cpu", "cpu", "busy_percent", "%"),
        ("cpu", "cpu", "frequency_hertz", "Hz"),
        ("network", "eth", "rx_bytes_per_s", "B/s"),
        ("storage", "nvme", "write_await_seconds", "s"),
        ("gpu", "gpu", "memory_used_bytes", "B"),
        ("gpu", "gpu", "something", ""),
    ],
)
def test_devices_that_may_differ_as_they_like(
    subsystem: Subsystem, prefix: str, metric: str, unit: str
) -> None:
    known = [channel(f"{prefix}{number}", metric, unit, subsystem) for number in range(GPUS)]
    levels = np.ones((50, GPUS), np.float32)
    peers = Peers.fit(levels, known)
    levels[:, 0] = 1e12
    assert not peers.compare(levels).odd.any()


def test_disks_are_compared_by_their_temperature() -> None:
    disks = [channel(f"nvme{number}", "temperature_celsius", "°C", "storage") for number in range(4)]
    peers = Peers.fit(np.full((50, 4), 40, np.float32), disks)
    levels = np.array([[40, 40, 40, 47], [40, 40, 40, 60]], np.float32)
    assert np.argwhere(peers.compare(levels).odd).tolist() == [[1, 3]]


def test_under_load_devices_may_differ_more_than_training_saw() -> None:
    gpus = [channel(f"gpu{number}", "temperature_celsius", "°C") for number in range(GPUS)]
    peers = Peers.fit(np.full((50, GPUS), 35, np.float32), gpus)
    levels = np.array([[60, 61, 63, 64, 66, 67, 70, 74], [60, 61, 63, 64, 66, 67, 70, 92]], np.float32)
    assert np.argwhere(peers.compare(levels).odd).tolist() == [[1, 7]]


def test_it_is_what_it_was_after_it_was_stored() -> None:
    peers = Peers.fit(clocks(1.7e9), CLOCKS)
    again = Peers.from_arrays(peers.arrays())
    levels = clocks(1.7e9, 10)
    levels[:, 3] = 1.1e9
    assert np.array_equal(again.compare(levels).odd, peers.compare(levels).odd)


def test_a_host_without_peers() -> None:
    one = [channel("cpu0", "busy_percent", "%", "cpu")]
    levels = np.ones((50, 1), np.float32)
    assert not Peers.fit(levels, one).compare(levels).odd.any()

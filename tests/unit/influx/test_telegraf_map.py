"""telegraf.toml: which point is which channel."""

from __future__ import annotations

import pytest

from ingest.influx.telegraf_map import Reading, mapping
from ingest.registry import collectors
from models.effects import EFFECTS

NEEDED = {
    "cpu", "mem", "swap", "disk", "diskio", "net", "netstat", "system", "kernel", "processes", "interrupts",
    "nvidia_smi", "infiniband",
}  # fmt: skip

ALL = [(points, reading) for group in mapping().values() for points in group for reading in points.readings]


def device(measurement: str, **tags: str) -> str | None:
    found = [points.device_of(tags) for points in mapping()[measurement]]
    return next((name for name in found if name is not None), None)


def reading(measurement: str, field: str) -> Reading:
    return next(one for points, one in ALL if points.measurement == measurement and field in one.terms)


def test_every_measurement_that_describes_the_host_is_mapped() -> None:
    assert mapping().keys() >= NEEDED


@pytest.mark.parametrize(
    ("measurement", "tags", "expected"),
    [
        ("cpu", {"cpu": "cpu-total"}, "host"),
        ("cpu", {"cpu": "cpu3"}, "cpu3"),
        ("diskio", {"name": "nvme0n1"}, "nvme0n1"),
        ("diskio", {"name": "nvme0n1p2"}, None),
        ("diskio", {"name": "sda1"}, None),
        ("diskio", {"name": "dm-0"}, "dm-0"),
        ("net", {"interface": "all"}, "host"),
        ("net", {"interface": "eth0"}, "eth0"),
        ("net", {"interface": "lo"}, None),
        ("nvidia_smi", {"uuid": "GPU-1", "index": "0"}, "GPU-1"),
        ("nvidia_smi", {"index": "0"}, "0"),
        ("infiniband", {"device": "mlx5_0", "port": "1"}, "mlx5_0:1"),
        ("infiniband", {"device": "mlx5_0"}, None),
        ("interrupts", {"irq": "NMI"}, "NMI"),
    ],
)
def test_devices_are_named_by_tags(measurement: str, tags: dict[str, str], expected: str | None) -> None:
    assert device(measurement, **tags) == expected


def test_a_tag_decides_which_kind_of_point_it_is() -> None:
    host, one = mapping()["net"][1], mapping()["net"][0]
    assert "tcp_outsegs" in host.fields
    assert "bytes_recv" in one.fields
    assert one.device_of({"interface": "all"}) is None
    assert host.device_of({"interface": "eth0"}) is None


@pytest.mark.parametrize(
    ("measurement", "field", "metric", "factor", "counter"),
    [
        ("infiniband", "port_xmit_data", "tx_bytes_per_s", 4, True),
        ("infiniband", "port_rcv_data", "rx_bytes_per_s", 4, True),
        ("net", "bytes_sent", "tx_bytes_per_s", 1, True),
        ("net", "bytes_recv", "rx_bytes_per_s", 1, True),
        ("net", "speed", "link_speed_bytes_per_s", 125_000, False),
        ("diskio", "read_time", "read_time_seconds_per_s", 0.001, True),
        ("diskio", "io_time", "busy_percent", 0.1, True),
        ("nvidia_smi", "memory_used", "memory_used_bytes", 2**20, False),
        ("nvidia_smi", "clocks_current_sm", "sm_clock_hertz", 1e6, False),
        ("pressure", "total", "pressure_some_percent", 1e-4, True),
        ("swap", "in", "swapped_in_bytes_per_s", 1, True),
    ],
)
def test_units_are_turned_into_hostsights(
    measurement: str, field: str, metric: str, factor: float, counter: bool
) -> None:
    found = reading(measurement, field)
    assert (found.metric, found.terms[field], found.counter) == (metric, factor, counter)


def test_busy_is_what_is_neither_idle_nor_waiting() -> None:
    busy = next(one for _, one in ALL if one.metric == "busy_percent" and one.offset)
    assert busy.terms == {"usage_idle": -1, "usage_iowait": -1}
    assert busy.offset == 100


def test_a_metric_that_a_collector_has_too_has_the_same_unit() -> None:
    units = {metric.name: metric.unit for collector in collectors() for metric in collector.metrics}
    differ = {
        one.metric: (one.unit, units[one.metric])
        for _, one in ALL
        if units.get(one.metric, one.unit) != one.unit
    }
    assert differ == {}


def test_every_unit_has_a_smallest_effect() -> None:
    assert {one.unit for _, one in ALL} - EFFECTS.keys() == set()


def test_a_counter_of_things_is_named_as_a_rate() -> None:
    counted = {one.metric for _, one in ALL if one.counter and one.unit.endswith("/s")}
    assert {metric for metric in counted if not metric.endswith("_per_s")} == set()

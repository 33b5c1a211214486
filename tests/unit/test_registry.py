"""What holds for every collector."""

from __future__ import annotations

import pytest

from hostsight.channel import KINDS
from hostsight.errors import SettingsError
from ingest.collector import Collector, Metric, origin
from ingest.registry import collectors, enabled, subsystem_of

ENDINGS = {"B": "_bytes", "B/s": "_bytes_per_s", "%": "_percent", "s": "_seconds", "Hz": "_hertz"}
METRICS = {(one.name, metric.name): metric for one in collectors() for metric in one.metrics}


def test_names_are_unique() -> None:
    names = [one.name for one in collectors()]
    assert len(set(names)) == len(names)


def test_each_call_gives_instances_of_its_own() -> None:
    first, second = collectors(), collectors()
    assert not any(one is another for one, another in zip(first, second, strict=True))


@pytest.mark.parametrize("metric", METRICS.values(), ids=[f"{one}-{name}" for one, name in METRICS])
def test_a_metric_says_its_unit_and_what_it_means(metric: Metric) -> None:
    assert metric.name.endswith(ENDINGS.get(metric.unit, ""))
    assert metric.name.endswith("_per_s") == metric.unit.endswith("/s")
    assert metric.kind in KINDS
    assert metric.meaning
    assert metric.scale > 0


@pytest.mark.parametrize("collector", collectors(), ids=lambda one: one.name)
def test_a_collector_belongs_to_a_subsystem_and_can_be_switched_off(collector: Collector) -> None:
    assert subsystem_of(collector) in {"cpu", "memory", "network", "storage", "interconnect", "agent"}
    assert collector.name not in {one.name for one in enabled([collector.name])}


@pytest.mark.parametrize("collector", collectors(), ids=lambda one: one.name)
def test_a_collector_says_where_its_values_come_from(collector: Collector) -> None:
    said = origin(collector)
    assert said is not None
    assert said.source


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="did you mean 'softnet'"):
        enabled(["softnets"])

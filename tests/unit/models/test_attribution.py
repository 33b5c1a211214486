from __future__ import annotations

import numpy as np
import pytest

from models.attribution import Attribution, akin, blend, contributions, direction, headline, most


def item(
    channel: int,
    share: float,
    subsystem: str = "cpu",
    device: str = "host",
    *,
    actual: float = 97.0,
    deviation: float = 9.0,
    metric: str = "",
) -> Attribution:
    return Attribution(
        channel_id=channel,
        subsystem=subsystem,
        device=device,
        metric=metric or f"m{channel}",
        share=share,
        expected=4.0,
        actual=actual,
        unit="%",
        direction=direction(deviation),
        deviation=deviation,
    )


def test_a_contribution_is_the_mean_square_and_logarithmic_beyond_a_hundred() -> None:
    steps = np.array([[[2.0, 4.0, 0.0, 0.0, 0.0], [10.0, 0.0, 0.0, 0.0, 0.0], [100.0, 0.0, 0.0, 0.0, 0.0]]])
    found = contributions(steps)[0]
    assert found == pytest.approx([4.0, 20.0, 20 * (1 + np.log(100.0))])


def test_direction_is_of_the_level() -> None:
    assert [direction(value) for value in (5.0, -5.0, 0.4)] == ["high", "low", "changed"]


def test_a_subsystem_is_not_named_for_having_many_channels() -> None:
    many = [item(n, 0.05, "network", "eth0") for n in range(10)]
    few = [item(100 + n, 0.15, "storage", "vda") for n in range(3)]
    assert headline([*many, *few]).subsystem == "storage"


def test_one_odd_channel_does_not_outweigh_three() -> None:
    found = headline([item(1, 0.35, "memory"), *(item(10 + n, 0.2) for n in range(3))])
    assert found.subsystem == "cpu"


def test_within_the_subsystem_the_device_and_then_its_level_are_named() -> None:
    parts = [
        item(1, 0.1, "network", "eth0"),
        item(2, 0.5, "network", "eth1", deviation=0.2),
        item(3, 0.3, "network", "eth1"),
        item(4, 0.1, "network", "eth1"),
    ]
    assert (headline(parts).device, headline(parts).metric) == ("eth1", "m3")


def test_shares_sum_to_one_and_the_largest_come_first() -> None:
    found = most([item(n, 1.0 + n) for n in range(80)])
    assert len(found) == 50
    assert sum(each.share for each in found) == pytest.approx(1)
    assert found[0].channel_id == 79


def test_nothing_to_attribute_is_nothing() -> None:
    assert most([]) == ()
    assert most([item(1, 0.0)]) == ()


def test_blending_averages_shares_and_levels_by_weight() -> None:
    found = blend([item(1, 1.0, actual=90.0)], 30, [item(1, 0.5, actual=60.0), item(2, 0.5, actual=7.0)], 10)
    assert [each.share for each in found] == pytest.approx([0.875, 0.125])
    assert [each.actual for each in found] == pytest.approx([82.5, 7.0])


def test_blending_into_nothing_gives_the_later() -> None:
    later = (item(1, 0.75), item(2, 0.25))
    assert blend((), 0, later, 3) == later


@pytest.mark.parametrize(("share", "named"), [(0.3, "write_bytes_per_s"), (0.2, "m1")])
def test_a_familiar_metric_is_named_where_it_stands_out_nearly_as_much(share: float, named: str) -> None:
    discard = item(1, 0.5, "storage", "vda")
    write = item(2, share, "storage", "vda", metric="write_bytes_per_s")
    assert headline([discard, write]).metric == named


def test_a_familiar_metric_whose_level_is_as_usual_is_not_named() -> None:
    usual = item(2, 0.5, deviation=0.2, metric="busy_percent")
    assert headline([item(1, 0.5), usual]).metric == "m1"


@pytest.mark.parametrize(("part", "like"), [(0.21, True), (0.19, False)])
def test_causes_are_alike_where_one_has_a_fifth_of_what_names_the_other(part: float, like: bool) -> None:
    mixed = [item(1, 1 - part), item(2, part, "storage", "vda")]
    storage = [item(2, 1.0, "storage", "vda")]
    assert akin(mixed, storage) is like
    assert akin(storage, mixed) is like

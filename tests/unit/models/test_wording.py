from __future__ import annotations

import math

import pytest

from models.attribution import Attribution, Direction
from models.wording import metric, summary, value


@pytest.mark.parametrize(
    ("number", "unit", "words"),
    [
        (97.21, "%", "97 %"),
        (3.14, "%", "3.14 %"),
        (3.2e9, "B", "3.2 GB"),
        (1.2345e8, "B/s", "123 MB/s"),
        (999.7, "B", "1 kB"),
        (0.04, "s", "40 ms"),
        (2.5e-5, "s", "25 µs"),
        (1e-9, "s", "1 ns"),
        (0, "s", "0 s"),
        (812_345, "packets/s", "812k packets/s"),
        (1.2e4, "1/s", "12k/s"),
        (-5, "1", "-5"),
        (0.333, "ratio", "0.33"),
        (2.4e9, "Hz", "2.4 GHz"),
        (math.nan, "B", "unknown"),
    ],
)
def test_values_read_as_people_write_them(number: float, unit: str, words: str) -> None:
    assert value(number, unit) == words


def test_a_metric_loses_the_unit_that_its_value_says() -> None:
    assert metric("rx_bytes_per_s") == "rx"
    assert metric("available_bytes") == "available"
    assert metric("context_switches_per_s") == "context switches"
    assert metric("load_1m") == "load 1m"


def main(
    metric: str, unit: str, actual: float, direction: Direction = "high", device: str = "host"
) -> Attribution:
    return Attribution(
        channel_id=1,
        subsystem="cpu",
        device=device,
        metric=metric,
        share=1.0,
        expected=4.0,
        actual=actual,
        unit=unit,
        direction=direction,
        deviation=9.0,
    )


def test_summary_says_what_is_and_what_is_usual() -> None:
    assert summary(main("busy_percent", "%", 97.0)) == "cpu: busy is 97 %, usually 4 %"
    assert summary(main("busy_percent", "%", 97.0, device="cpu3")) == "cpu cpu3: busy is 97 %, usually 4 %"


def test_summary_of_many_things_is_plural_and_names_the_unit_once() -> None:
    found = summary(main("softnet_processed_packets_per_s", "packets/s", 8e5))
    assert found == "cpu: softnet processed packets are 800k/s, usually 4/s"


def test_summary_of_a_level_that_stayed() -> None:
    found = summary(main("busy_percent", "%", 4.5, "changed"))
    assert found == "cpu: busy behaves unlike before, around 4.5 %"


def test_an_amount_in_no_known_unit_is_a_number_alone() -> None:
    assert value(0.72, "") == "0.72"

from __future__ import annotations

import msgspec

from models.attribution import Attribution, Direction
from models.wording import metric, summary


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


def test_a_small_usual_level_is_not_rounded_to_nothing() -> None:
    found = msgspec.structs.replace(main("steal_percent", "%", 31.42), expected=0.0312)
    assert summary(found) == "cpu: steal is 31.4 %, usually 0.031 %"

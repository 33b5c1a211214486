from __future__ import annotations

import numpy as np
import pytest

from hostsight.channel import Channel
from ingest.influx.lines import LineFormat
from ingest.segment import Ticks

NAN = float("nan")


def channel(subsystem: str, device: str, metric: str) -> Channel:
    return Channel("h", subsystem, device, metric, "gauge", "1", 0.1, "/proc")  # type: ignore[arg-type]  # a literal


LAYOUT = (
    channel("network", "eth0", "b"),
    channel("cpu", "cpu0", "a"),
    channel("network", "eth0", "a"),
)


def lines(values: list[list[float]], layout: tuple[Channel, ...] = LAYOUT) -> list[str]:
    ticks = Ticks(
        np.arange(len(values), dtype=np.int64) + 7,
        np.full(len(values), 0.1, np.float32),
        np.array(values, np.float32),
    )
    return LineFormat("h", layout).format(ticks).text.decode().splitlines()


def test_a_tick_of_a_device_is_a_point_and_each_tick_has_its_length() -> None:
    assert lines([[1, 2, 3], [4, 5, 6]]) == [
        "cpu,device=cpu0,host=h a=2 7",
        "network,device=eth0,host=h b=1,a=3 7",
        "cpu,device=cpu0,host=h a=5 8",
        "network,device=eth0,host=h b=4,a=6 8",
        "hostsight_ticks,host=h dt=0.1 7",
        "hostsight_ticks,host=h dt=0.1 8",
    ]


def test_absent_values_leave_no_field_and_no_empty_point() -> None:
    assert lines([[NAN, 2, 3], [4, NAN, NAN], [NAN, NAN, NAN]])[:3] == [
        "cpu,device=cpu0,host=h a=2 7",
        "network,device=eth0,host=h a=3 7",
        "network,device=eth0,host=h b=4 8",
    ]


def test_a_second_in_which_everything_was_absent_still_has_its_ticks() -> None:
    assert lines([[NAN] * 3]) == ["hostsight_ticks,host=h dt=0.1 7"]


def test_infinite_values_are_left_out_and_counted() -> None:
    ticks = Ticks(np.array([7]), np.array([0.1], np.float32), np.array([[np.inf, 1, NAN]], np.float32))
    found = LineFormat("h", LAYOUT).format(ticks)
    assert (found.values, found.dropped) == (1, 1)
    assert b"inf" not in found.text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (16777216, "16777216"),
        (1e-45, "1e-45"),
        (3.4028235e38, "3.4028235e+38"),
        (-0.0, "-0"),
        (1 / 3, "0.33333334"),
    ],
)
def test_a_float32_is_written_with_the_fewest_digits_that_give_it_back(value: float, text: str) -> None:
    (line, _) = lines([[value]], (channel("cpu", "cpu0", "a"),))
    assert line == f"cpu,device=cpu0,host=h a={text} 7"
    assert np.float32(float(text)).tobytes() == np.float32(value).tobytes()


def test_hostile_names_are_escaped() -> None:
    (line, _) = lines([[1]], (channel("cpu", "a b,c=d\\\n", "x y=z"),))
    assert line == r"cpu,device=a\ b\,c\=d%5C%0A,host=h x\ y\=z=1 7"

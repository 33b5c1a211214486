"""Windows for telemetry that comes less often."""

from __future__ import annotations

from hostsight.cadence import paced
from hostsight.settings import (
    DetectSettings,
    Duration,
    InfluxSettings,
    Settings,
    StoreSettings,
    WindowSettings,
)

TELEGRAF = StoreSettings(kind="telegraf")


def test_windows_and_patience_grow_with_the_time_between_two_readings() -> None:
    found = paced(Settings(store=TELEGRAF))
    assert found.window == WindowSettings(pane=Duration(10), length=Duration(30), stride=Duration(10))
    assert (found.detect.warmup, found.detect.close_after, found.detect.merge_gap) == tuple(
        map(Duration, (1800, 300, 1200))
    )


def test_the_interval_is_a_setting() -> None:
    found = paced(Settings(store=TELEGRAF, influx=InfluxSettings(telegraf_interval=Duration(60))))
    assert found.window.length == Duration(180)


def test_other_stores_keep_their_windows() -> None:
    for kind in ("embedded", "influx"):
        settings = Settings(store=StoreSettings(kind=kind))
        assert paced(settings) == settings


def test_what_somebody_set_stays() -> None:
    window = WindowSettings(pane=Duration(60), length=Duration(300), stride=Duration(60))
    assert paced(Settings(store=TELEGRAF, window=window)).window == window
    warm = DetectSettings(warmup=Duration(77))
    assert paced(Settings(store=TELEGRAF, detect=warm)).detect.warmup == Duration(77)


def test_twice_is_once() -> None:
    once = paced(Settings(store=TELEGRAF))
    assert paced(once) == once

"""Windows for telemetry that comes less often than hostsight's own ten ticks a second.

A pane is as long as the time between two readings, and whatever is made of panes grows with it: with telegraf's 10 s a
window is 30 s every 10 s, and the first baseline takes half an hour. What somebody set stays as it was set.
"""

from __future__ import annotations

import msgspec

from hostsight.settings import DetectSettings, Duration, Settings, WindowSettings

_WINDOW = ("pane", "length", "stride")
_DETECT = ("warmup", "close_after", "merge_gap")


def paced(settings: Settings) -> Settings:
    """The settings themselves, unless the store is `telegraf`; doing it twice changes nothing."""
    period = settings.influx.telegraf_interval
    if settings.store.kind != "telegraf" or settings.window != WindowSettings():
        return settings
    factor = period / WindowSettings().pane
    window = {key: Duration(factor * getattr(settings.window, key)) for key in _WINDOW}
    detect = {
        key: Duration(factor * getattr(settings.detect, key))
        for key in _DETECT
        if getattr(settings.detect, key) == getattr(DetectSettings(), key)
    }
    return msgspec.structs.replace(
        settings,
        window=msgspec.structs.replace(settings.window, **window),
        detect=msgspec.structs.replace(settings.detect, **detect),
    )

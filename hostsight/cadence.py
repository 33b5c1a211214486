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
    """Settings that fit how often values come; doing it twice changes nothing.

    With `[agent] adaptive` a second has ten samples or one, so statistics are those of whole panes: a baseline then need
    not know at which rate a window was sampled.
    """
    if settings.agent.adaptive and not settings.window.of_means:
        window = msgspec.structs.replace(settings.window, of_means=True)
        settings = msgspec.structs.replace(settings, window=window)
    return _stretched(settings)


def _stretched(settings: Settings) -> Settings:
    """The settings themselves, unless the store is `telegraf`."""
    period = settings.influx.telegraf_interval
    if settings.store.kind != "telegraf" or any(
        getattr(settings.window, key) != getattr(WindowSettings(), key) for key in _WINDOW
    ):
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

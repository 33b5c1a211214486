"""The collectors there are, in the order of their channels. A new one is a file in `ingest/collectors/` and a line here."""

from __future__ import annotations

from collections.abc import Sequence

from hostsight.errors import SettingsError, nearest
from ingest.collector import Collector
from ingest.collectors.agent import Agent, Ticks
from ingest.collectors.cpu import CpuStat, LoadAverage
from ingest.collectors.frequency import Frequency


def collectors() -> tuple[Collector, ...]:
    """Fresh, unopened instances."""
    classes: tuple[type[Collector], ...] = (
        CpuStat,
        LoadAverage,
        Frequency,
        Ticks,
        Agent,
    )
    return tuple(kind() for kind in classes)


def enabled(disabled: Sequence[str]) -> tuple[Collector, ...]:
    """All collectors but those named; raises SettingsError where there is none of a name."""
    known = {collector.name: collector for collector in collectors()}
    for name in disabled:
        if name not in known:
            raise SettingsError(
                f"[agent] disabled names '{name}', which is no collector{nearest(name, known)}; there are {', '.join(known)}"
            )
    return tuple(collector for name, collector in known.items() if name not in disabled)

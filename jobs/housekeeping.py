"""The jobs that keep the lake small and quick: compaction and retention."""

from __future__ import annotations

from hostsight.clock import Clock
from hostsight.folders import DataFolder
from hostsight.settings import Settings


def compact_lake(data: DataFolder, clock: Clock) -> None:
    pass


def retain_lake(settings: Settings, data: DataFolder, clock: Clock) -> None:
    pass

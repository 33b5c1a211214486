"""A host that exists only in numbers: what it measures while quiet, and under load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hostsight.channel import Channel, Subsystem
from hostsight.clock import SECOND_NS
from models.protocol import WindowBlock
from sql.schemas import FEATURE_NAMES, FEATURES

_TICKS = 10
_PANES = 3


@dataclass(frozen=True)
class Behaviour:
    """How one channel moves: noise around a level, an own slow drift, and a share in what the whole host does now and then."""

    subsystem: Subsystem
    device: str
    metric: str
    unit: str
    level: float
    noise: float
    drift: float = 0.0
    burst: float = 0.0
    ceiling: float = 1e15

    def channel(self, host: str) -> Channel:
        return Channel(host, self.subsystem, self.device, self.metric, "gauge", self.unit, 0.1, "simulated")


BEHAVIOURS = (
    *(
        Behaviour("cpu", f"cpu{n}", "busy_percent", "%", 3.0, 3.0, burst=30.0, ceiling=100.0)
        for n in range(4)
    ),
    Behaviour("cpu", "host", "busy_percent", "%", 3.0, 1.5, burst=25.0, ceiling=100.0),
    Behaviour("cpu", "host", "some_pressure_percent", "%", 0.0, 0.3, burst=5.0, ceiling=100.0),
    Behaviour("cpu", "host", "context_switches_per_s", "1/s", 900.0, 90.0, burst=500.0),
    Behaviour("cpu", "host", "runnable_tasks", "1", 1.0, 0.5, burst=1.0),
    Behaviour("memory", "host", "available_bytes", "B", 2e10, 1e6, drift=2e5),
    Behaviour("memory", "host", "cached_bytes", "B", 1e9, 1e5, drift=1e5),
    Behaviour("memory", "host", "swapped_out_bytes_per_s", "B/s", 0.0, 0.0),
    Behaviour("memory", "host", "faults_per_s", "events/s", 400.0, 200.0, burst=800.0),
    Behaviour("network", "eth0", "rx_bytes_per_s", "B/s", 2e3, 2e3, burst=5e4),
    Behaviour("network", "eth0", "tx_bytes_per_s", "B/s", 1e3, 1e3, burst=3e4),
    Behaviour("network", "host", "tcp_retransmitted_segments_per_s", "retransmits/s", 0.0, 0.0),
    Behaviour("storage", "vda", "write_bytes_per_s", "B/s", 3e4, 6e4, burst=4e5),
    Behaviour("storage", "vda", "utilisation_percent", "%", 0.5, 0.5, burst=4.0, ceiling=100.0),
    Behaviour("storage", "vda", "write_await_seconds", "s", 0.001, 0.0005, burst=0.001),
    Behaviour("agent", "host", "cpu_percent", "%", 1.5, 0.2, burst=3.0),
)

Load = Mapping[str, float]
"""Metric -> what the load adds to it."""


class SimulatedHost:
    """Deterministic by seed; `windows` gives blocks as sql/ would make them from 100 ms samples."""

    host = "sim"

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed
        self._behaviours = {behaviour.channel(self.host).id: behaviour for behaviour in BEHAVIOURS}
        self.channels = {key: behaviour.channel(self.host) for key, behaviour in self._behaviours.items()}
        self.ids = np.array(sorted(self.channels), np.int64)

    def id(self, metric: str, device: str = "host") -> int:
        return next(c.id for c in self.channels.values() if (c.metric, c.device) == (metric, device))

    def windows(
        self, seconds: int, *, start: int = 0, load: Load | None = None, during: tuple[int, int] = (0, 0)
    ) -> WindowBlock:
        """Windows ending at start + 3 s .. start + seconds; `load` acts in the seconds `during`, counted from start."""
        rng = np.random.default_rng((self._seed, start))
        bursts = self._bursts(rng, seconds)
        active = np.zeros(seconds)
        active[during[0] : during[1]] = 1
        columns = []
        for behaviour in (self._behaviours[int(each)] for each in self.ids):
            extra = active * (load or {}).get(behaviour.metric, 0.0)
            columns.append(self._samples(rng, behaviour, start, bursts, extra))
        values = np.stack([_features(samples) for samples in columns], axis=1)
        ends = (start + _PANES + np.arange(seconds - _PANES + 1)) * SECOND_NS
        return WindowBlock(ends.astype(np.int64), self.ids, values)

    def _bursts(self, rng: np.random.Generator, seconds: int) -> NDArray[np.float64]:
        """Housekeeping every half a minute or so: a second or two of some activity."""
        level = np.zeros(seconds)
        for at in np.flatnonzero(rng.random(seconds) < 1 / 30):
            level[at : at + rng.integers(1, 3)] = rng.gamma(2.0, 0.5)
        return level

    def _samples(
        self,
        rng: np.random.Generator,
        behaviour: Behaviour,
        start: int,
        bursts: NDArray[np.float64],
        extra: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """[seconds * ticks]"""
        seconds = np.arange(start, start + len(bursts))
        slow = behaviour.level + behaviour.drift * seconds + behaviour.burst * bursts + extra
        noise = behaviour.noise * rng.gamma(1.0, 1.0, len(bursts) * _TICKS) - behaviour.noise
        return np.clip(np.repeat(slow, _TICKS) + noise, 0, behaviour.ceiling)


def _features(samples: NDArray[np.float64]) -> NDArray[np.float32]:
    """[seconds * ticks] -> [windows, mean std min max slope]"""
    views = np.lib.stride_tricks.sliding_window_view(samples, _PANES * _TICKS)[::_TICKS]
    time = np.arange(_PANES * _TICKS) / _TICKS
    time = (time - time.mean()) / np.square(time - time.mean()).sum()
    parts = (views.mean(axis=1), views.std(axis=1), views.min(axis=1), views.max(axis=1), views @ time)
    return np.stack(parts, axis=1).astype(np.float32)


def feature_table(block: WindowBlock) -> pa.Table:
    """FEATURES of the block."""
    windows, channels, _ = block.values.shape
    columns: dict[str, object] = {
        "window_end": np.repeat(block.ends, channels),
        "channel_id": np.tile(block.channels, windows),
        "n": np.full(windows * channels, 30, np.int32),
    }
    columns |= {name: block.values[:, :, index].ravel() for index, name in enumerate(FEATURE_NAMES)}
    return pa.table(columns).cast(FEATURES)

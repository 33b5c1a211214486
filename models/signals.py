"""What training says of devices that have peers and of channels that always had values: what sets windows apart without
any detector (`models.signal_watch`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from models.peers import Peers
from models.structure import Gaps


@dataclass(frozen=True, slots=True)
class Signals:
    """What training says of them. gaps: [channels], `models.structure.Gaps.of_channels`."""

    gaps: NDArray[np.int64]
    peers: Peers

    @classmethod
    def fit(cls, levels: NDArray[np.float32], channels: Sequence[Channel], gaps: Gaps) -> Self:
        """levels: [windows, channels], channels ascending by id; NaN is absent."""
        ids = np.array([channel.id for channel in channels], np.int64)
        return cls(gaps.of_channels(ids), Peers.fit(levels, channels))

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {"gaps": self.gaps, **{f"peers.{name}": array for name, array in self.peers.arrays().items()}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        peers = {
            name.removeprefix("peers."): array for name, array in arrays.items() if name.startswith("peers.")
        }
        return cls(arrays["gaps"].astype(np.int64), Peers.from_arrays(peers))

"""Windows that say nothing of an anomaly, since the channels that showed it had no value in them.

A channel of the slow tier has a value in three of ten windows. To what counts windows in a row, the others are as if they were
not there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]

_LONGEST = 30
"""Windows without the channels' values, after which the anomaly is over."""


class Measured:
    """Looks at windows that follow each other."""

    def __init__(self, channels: int) -> None:
        self._deciding: Flags = np.zeros(channels, np.bool_)
        self._silent = 0

    def silent(self, present: Flags, deciding: Flags) -> Flags:
        """[windows]: those without any of the channels that decided the last anomalous window.

        present, deciding: [windows, channels]; where a channel had a value, which ones made a window anomalous.
        """
        found = np.zeros(len(present), np.bool_)
        if not self._deciding.any() and not deciding.any():
            return found
        for row in range(len(present)):
            found[row] = self._step(present[row], deciding[row])
        return found

    def _step(self, present: Flags, deciding: Flags) -> bool:
        if deciding.any():
            self._deciding, self._silent = deciding, 0
            return False
        self._silent += 1
        if self._silent > _LONGEST or (present & self._deciding).any():
            self._deciding = np.zeros_like(self._deciding)
        return bool(self._deciding.any())

"""The shapes that detection works on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.layout import Layout

Floats = NDArray[np.float64]
Cells = NDArray[np.float32] | NDArray[np.float64]
"""What detectors see. A baseline's are float32, which is what telemetry comes in."""


@dataclass(frozen=True, slots=True)
class WindowBlock:
    """Consecutive windows of one host, dense.

    ends: int64 [windows], nanoseconds, ascending.  channels: int64 [channels], ids, ascending.
    values: float32 [windows, channels, features], features as `layout` says (without more: `sql.schemas.FEATURE_NAMES`);
    NaN is absent.
    """

    ends: NDArray[np.int64]
    channels: NDArray[np.int64]
    values: NDArray[np.float32]
    layout: Layout = field(default_factory=Layout)

"""What both ways out of a bucket give: the points of one device, field by field."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Rows:
    """Points of one measurement and device. ts: [points] in ns.  fields: [points] each; NaN where a point lacks it."""

    measurement: str
    device: str | None
    ts: NDArray[np.int64]
    fields: dict[str, NDArray[np.float32]]

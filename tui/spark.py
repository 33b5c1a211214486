"""Series drawn with block characters. Absent is blank; zero is the lowest block, so the two never look alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hostsight.timerange import TimeRange
from tui.source import Series

BLOCKS = " ▁▂▃▄▅▆▇█"
_PER_ROW = 8


def columns(series: Series, span: TimeRange, width: int) -> list[float]:
    """`series` over `span` in `width` columns, the largest value of each; NaN where a column has none.

    Columns lie on multiples of their own length since the epoch: as time goes on the picture shifts, it never shimmers.
    A value that lasts longer than a column fills all columns it touches.
    """
    step = max(1, -(-(span.end_ns - span.start_ns) // max(1, width)))
    first = (span.end_ns - 1) // step - width + 1
    out = [math.nan] * width
    for index, value in enumerate(series.values):
        if not math.isfinite(value):
            continue
        start = series.start_ns + index * series.step_ns
        begin, end = start // step - first, (start + series.step_ns - 1) // step - first
        for column in range(max(0, begin), min(width - 1, end) + 1):
            if not value <= out[column]:
                out[column] = value
    return out


def ceiling(values: Sequence[float], unit: str) -> float:
    """The value that reaches the top: 100 for percentages that fit, the largest value otherwise."""
    largest = max((value for value in values if math.isfinite(value)), default=0.0)
    return 100.0 if unit in {"%", "percent"} and largest <= 100 else largest


def rows(values: Sequence[float], height: int, top: float, bottom: float = 0.0) -> list[str]:
    """`height` lines of one block a value, topmost first."""
    levels = [_level(value, height * _PER_ROW, top, bottom) for value in values]
    return ["".join(_block(level, row) for level in levels) for row in reversed(range(height))]


def _level(value: float, levels: int, top: float, bottom: float) -> int:
    if not math.isfinite(value):
        return 0
    share = (value - bottom) / (top - bottom) if top > bottom else 0.0
    return max(1, min(levels, round(share * levels)))


def _block(level: int, row: int) -> str:
    return BLOCKS[max(0, min(_PER_ROW, level - row * _PER_ROW))]


def bar(share: float, width: int) -> str:
    """A horizontal bar for `share` of 1 in exactly `width` cells, to an eighth of a cell."""
    eighths = round(max(0.0, min(1.0, share if math.isfinite(share) else 0.0)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + ("▏▎▍▌▋▊▉"[rest - 1] if rest else "")).ljust(width)

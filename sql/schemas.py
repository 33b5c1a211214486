"""Columns of the tables that flow between packages; the views an analyst sees add to these, never rename."""

from __future__ import annotations

import pyarrow as pa

_NS = pa.timestamp("ns")

PANES = pa.schema(
    [
        ("pane", _NS),  # start of the pane
        ("channel_id", pa.int64()),
        ("n", pa.int32()),
        ("sum", pa.float64()),
        ("m2", pa.float64()),  # sum of squared deviations from the pane's own mean
        ("min", pa.float32()),
        ("max", pa.float32()),
        ("first", pa.float32()),
        ("last", pa.float32()),
        ("wsum", pa.float64()),  # sum of value * dt
        ("dt", pa.float64()),  # sum of dt
    ]
)
"""One row a channel and pane that has at least one finite sample, sorted by channel and pane."""

FEATURES = pa.schema(
    [
        ("window_end", _NS),
        ("channel_id", pa.int64()),
        ("n", pa.int32()),
        ("mean", pa.float32()),  # weighted by dt
        ("std", pa.float32()),  # of the population
        ("min", pa.float32()),
        ("max", pa.float32()),
        ("slope", pa.float32()),  # units per second; null where only one pane of the window has samples
    ]
)
"""One row a channel and window that has at least one sample, sorted by channel and window_end. Derived metrics are
channels of their own (source `derived`)."""

SCORES = pa.schema(
    [
        ("window_end", _NS),
        ("host", pa.string()),
        ("detector", pa.string()),  # a detector's name, or `fused`
        ("score", pa.float64()),
        ("tail_probability", pa.float64()),
        ("model", pa.string()),
    ]
)

FEATURE_NAMES = ("mean", "std", "min", "max", "slope")

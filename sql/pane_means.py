"""Panes that hold their mean alone, so that statistics do not depend on how many samples a pane saw."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sql.schemas import PANES


def of_means(panes: pa.Table) -> pa.Table:
    """PANES with one value each, their mean by time: n = 1, no spread of their own."""
    weighted = pc.divide(panes["wsum"], panes["dt"])
    plain = pc.divide(panes["sum"], panes["n"].cast(pa.float64()))
    mean = pc.if_else(pc.greater(panes["dt"], 0.0), weighted, plain)
    single = mean.cast(pa.float32())
    ones = pa.repeat(pa.scalar(1, pa.int32()), panes.num_rows)
    nothing = pa.repeat(pa.scalar(0.0), panes.num_rows)
    replaced = {
        "n": ones,
        "sum": mean,
        "m2": nothing,
        "min": single,
        "max": single,
        "first": single,
        "last": single,
    }
    columns = [replaced.get(name, panes[name]) for name in PANES.names]
    return pa.table(columns, schema=PANES)

"""Samples to panes, panes to windows: one builder a host, made once and used for every increment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from hostsight.channel import Channel
from hostsight.settings import WindowSettings
from hostsight.timerange import TimeRange
from ingest.store import SAMPLES
from sql.derivation import Derivation
from sql.engine import connect, statement
from sql.pane_means import of_means
from sql.prepared import Prepared
from sql.schemas import FEATURES, PANES

RUNS_A_SESSION = 300
"""Increments after which the database in memory is made anew."""


@dataclass(frozen=True, slots=True)
class FeatureResult:
    """`panes`: PANES, derived channels included. `features`: FEATURES of the windows asked for."""

    panes: pa.Table
    features: pa.Table


class _Session:
    """A connection with the statements prepared on it. fixed: what they say of the window, in panes."""

    def __init__(self, derivation: Derivation, fixed: Mapping[str, int]) -> None:
        self.connection = connect(threads=1)  # a second one adds up in an order that varies
        prepared = partial(Prepared, self.connection, fixed=fixed)
        self.to_panes = prepared("to_panes", statement("panes"), reads={"samples": SAMPLES}, gives=PANES)
        self.to_windows = prepared("to_windows", statement("windows"), reads={"panes": PANES}, gives=FEATURES)
        self.to_derived = (
            prepared(
                "to_derived",
                derivation.statement,
                reads={"panes": PANES},
                gives=PANES,
                kept=derivation.tables,
            )
            if derivation.statement
            else None
        )


class FeatureBuilder:
    """Runs the `.sql` files over tables in memory. Holds a DuckDB connection: use it from one thread, then close it.

    `channels` are those the store knows; samples of others get panes and features too, but feed no derived metric.
    """

    def __init__(self, window: WindowSettings, channels: Sequence[Channel]) -> None:
        self._step_ns = window.stride.ns
        self._of_means = window.of_means
        self._fixed = {
            "pane_ns": window.pane.ns,
            "length": window.length.ns // window.pane.ns,
            "stride": window.stride.ns // window.pane.ns,
        }
        self._derivation = Derivation(channels, window.pane)
        self._session = _Session(self._derivation, self._fixed)
        self._runs = 0

    @property
    def derived_channels(self) -> tuple[Channel, ...]:
        """The channels that `derive` can give on this host, in a fixed order."""
        return self._derivation.channels

    def panes(self, samples: pa.Table) -> pa.Table:
        """PANES of SAMPLES. Samples that are not finite count for nothing."""
        self._renew()
        panes = self._session.to_panes.run({"samples": samples})
        return of_means(panes) if self._of_means else panes

    def derive(self, panes: pa.Table) -> pa.Table:
        """PANES of the derived channels: one value (n = 1) a channel and pane whose inputs are all there."""
        to_derived = self._session.to_derived
        return PANES.empty_table() if to_derived is None else to_derived.run({"panes": panes})

    def features(self, panes: pa.Table, ends: TimeRange) -> pa.Table:
        """FEATURES of the windows on the stride grid with `ends.start_ns < end <= ends.end_ns`.

        `panes` must reach back one window length before the first end, or that window counts as partly absent.
        """
        first_end, last_end = ends.start_ns // self._step_ns + 1, ends.end_ns // self._step_ns
        return self._session.to_windows.run({"panes": panes}, first_end=first_end, last_end=last_end)

    def build(self, samples: pa.Table, ends: TimeRange) -> FeatureResult:
        """Panes, derived panes and features in one go; `samples` reach back as `features` says."""
        measured = self.panes(samples)
        panes = pa.concat_tables([measured, self.derive(measured)])
        return FeatureResult(panes, self.features(panes, ends))

    def close(self) -> None:
        self._session.connection.close()

    def _renew(self) -> None:
        """DuckDB's allocator grows by some 20 kB a run and gives it back only when the database is closed."""
        self._runs += 1
        if self._runs > RUNS_A_SESSION:
            self._runs = 1
            self.close()
            self._session = _Session(self._derivation, self._fixed)

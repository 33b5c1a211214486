"""Samples to panes, panes to windows: one builder a host, made once and used for every increment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from hostsight.channel import Channel
from hostsight.settings import WindowSettings
from hostsight.timerange import TimeRange
from ingest.store import SAMPLES
from sql.derivation import Derivation
from sql.engine import connect, statement
from sql.pane_means import of_means
from sql.prepared import Prepared, Slot
from sql.schemas import FEATURES, PANES

RUNS_A_SESSION = 300
"""Increments after which the database in memory is made anew."""


@dataclass(frozen=True, slots=True)
class FeatureResult:
    """`panes`: PANES, derived channels included. `features`: FEATURES of the windows asked for."""

    panes: pa.Table
    features: pa.Table


class _Session:
    """A connection with the statements prepared on it."""

    def __init__(self, derivation: Derivation) -> None:
        self.connection = connect()
        derivation.install(self.connection)
        self.samples = Slot(self.connection, "samples", SAMPLES)
        self.panes = Slot(self.connection, "panes", PANES)
        self.to_panes = Prepared(self.connection, "to_panes", statement("panes"))
        self.to_windows = Prepared(self.connection, "to_windows", statement("windows"))
        text = derivation.statement
        self.to_derived = Prepared(self.connection, "to_derived", text) if text else None


class FeatureBuilder:
    """Runs the `.sql` files over tables in memory. Holds a DuckDB connection: use it from one thread, then close it.

    `channels` are those the store knows; samples of others get panes and features too, but feed no derived metric.
    """

    def __init__(self, window: WindowSettings, channels: Sequence[Channel]) -> None:
        self._pane_ns = window.pane.ns
        self._of_means = window.of_means
        self._length = window.length.ns // window.pane.ns
        self._stride = window.stride.ns // window.pane.ns
        self._derivation = Derivation(channels, window.pane)
        self._session = _Session(self._derivation)
        self._runs = 0

    @property
    def derived_channels(self) -> tuple[Channel, ...]:
        """The channels that `derive` can give on this host, in a fixed order."""
        return self._derivation.channels

    def panes(self, samples: pa.Table) -> pa.Table:
        """PANES of SAMPLES. Samples that are not finite count for nothing."""
        self._renew()
        session = self._session
        panes = session.to_panes.run(session.samples, samples, {"pane_ns": self._pane_ns}).cast(PANES)
        return of_means(panes) if self._of_means else panes

    def derive(self, panes: pa.Table) -> pa.Table:
        """PANES of the derived channels: one value (n = 1) a channel and pane whose inputs are all there."""
        session = self._session
        if session.to_derived is None:
            return PANES.empty_table()
        return session.to_derived.run(session.panes, panes, {"pane_ns": self._pane_ns}).cast(PANES)

    def features(self, panes: pa.Table, ends: TimeRange) -> pa.Table:
        """FEATURES of the windows on the stride grid with `ends.start_ns < end <= ends.end_ns`.

        `panes` must reach back one window length before the first end, or that window counts as partly absent.
        """
        step = self._stride * self._pane_ns
        bound = {
            "pane_ns": self._pane_ns,
            "length": self._length,
            "stride": self._stride,
            "first_end": ends.start_ns // step + 1,
            "last_end": ends.end_ns // step,
        }
        session = self._session
        return session.to_windows.run(session.panes, panes, bound).cast(FEATURES)

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
            self._session = _Session(self._derivation)

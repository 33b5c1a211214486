"""Where telemetry is kept, as the pipeline sees it: the embedded store is one, InfluxDB another.

Nothing above `ingest` knows which store it reads from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

import pyarrow as pa

from hostsight.channel import Channel
from hostsight.timerange import TimeRange

SAMPLES = pa.schema(
    [
        pa.field("ts", pa.timestamp("ns"), nullable=False),
        pa.field("channel_id", pa.int64(), nullable=False),
        pa.field("value", pa.float32(), nullable=False),
        pa.field("dt", pa.float32(), nullable=False),
    ]
)
"""One row a finite sample, sorted by channel and time. `dt` is the tick's own length in seconds."""


class Store(Protocol):
    name: ClassVar[str]
    """As `--store` and `status` have it."""

    @property
    def problems(self) -> Sequence[str]:
        """A sentence for each thing in the store that cannot be read; what can be is."""
        ...

    def hosts(self) -> Sequence[str]:
        """Hosts with telemetry in the store."""
        ...

    def span(self, host: str) -> TimeRange | None:
        """From the first stored second to the end of the newest whole second whose samples are all in."""
        ...

    def channels(self, host: str) -> Sequence[Channel]:
        """The channels of the telemetry that has been exported or found so far."""
        ...

    def export(self, host: str, span: TimeRange) -> pa.Table:
        """All samples of `host` in `span`, as SAMPLES. `span` is aligned to whole seconds."""
        ...

    def release(self, host: str, done_ns: int) -> int:
        """Free what holds only samples that the pipeline has had, all before `done_ns`; how many pieces that were."""
        ...

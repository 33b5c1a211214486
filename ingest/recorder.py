"""From ticks to the spool, a batch a wall second; a spool that cannot be written now stops nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hostsight import narration
from hostsight.channel import Channel
from hostsight.clock import floor_second
from hostsight.errors import StorageError
from ingest.meter import Meter
from ingest.sampler import Batch, Tick
from ingest.spool import SpoolWriter


def say(text: str) -> None:
    narration.say("hostsight agent", text)


class Recorder:
    """Hands ticks to the spool and flushes each second once it is over.

    Where the spool fails, `error` says why until it works again, what could not be written is counted as lost, and each
    second tries anew. Both changes are said once.
    """

    def __init__(self, spool: SpoolWriter, meter: Meter, tell: Callable[[str], None] = say) -> None:
        self.error: str | None = None
        self._spool = spool
        self._meter = meter
        self._tell = tell
        self._channels: tuple[Channel, ...] | None = None
        self._second_ns: int | None = None

    def take(self, batches: Sequence[Batch]) -> None:
        """Keep all ticks of `batches`."""
        for batch in batches:
            for tick in batch.ticks:
                self.record(tick, batch.channels)

    def record(self, tick: Tick, channels: tuple[Channel, ...]) -> None:
        """Keep one tick; `channels` is its layout."""
        second_ns = floor_second(tick.ts_ns)
        if self._second_ns is not None and second_ns != self._second_ns:
            self._attempt(self._spool.flush)
        self._second_ns = second_ns
        if channels is not self._channels:
            self._relay(channels)
        self._spool.append(tick.ts_ns, tick.dt, tick.values)

    def close(self) -> None:
        """Write what is left of the second that has begun."""
        self._attempt(self._spool.close)

    def _relay(self, channels: Sequence[Channel]) -> None:
        self._channels = tuple(channels)
        self._attempt(lambda: self._spool.open(channels))

    def _attempt(self, write: Callable[[], None]) -> None:
        try:
            write()
        except StorageError as error:
            if self.error is None:
                self._tell(f"{error}; collection goes on, what cannot be stored is lost")
            self.error = str(error)
        else:
            if self.error is not None:
                self._tell("telemetry is stored again")
            self.error = None
        self._meter.lost_values = self._spool.lost_values
        self._meter.spool_bytes = self._spool.bytes
        self._meter.spool_dropped_segments = self._spool.dropped_segments

"""What the running drain says of itself: `run/drain.json`, replaced every second, worthless after a reboot."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hostsight.clock import SECOND_NS
from hostsight.files import write_atomic
from hostsight.folders import DataFolder

STALE_SECONDS = 30.0
"""A request that the server does not answer holds the report up, too."""


class HostDrain(msgspec.Struct, frozen=True, kw_only=True):
    """One host: everything up to `until_ns` is in InfluxDB; `waiting_segments` hold something that is not. Counts are
    since the first start (`ingest.influx.position`)."""

    host: str
    until_ns: int
    waiting_segments: int
    sent_values: int
    rejected_batches: int
    rejected_values: int
    dropped_values: int
    lost_segments: int


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing could be sent from `since_ns` on, for the reason `error`; `until_ns` is None while that lasts."""

    since_ns: int
    until_ns: int | None
    error: str

    @property
    def lasting(self) -> bool:
        return self.until_ns is None


class DrainReport(msgspec.Struct, frozen=True, kw_only=True):
    """outage: the last one.  problems: sentences about what was read or could not be told to the server."""

    pid: int
    url: str
    bucket: str
    started_ns: int
    updated_ns: int
    rss_bytes: int
    outage: Outage | None = None
    problems: tuple[str, ...] = ()
    hosts: tuple[HostDrain, ...] = ()

    @property
    def error(self) -> str | None:
        """Why nothing is sent now."""
        return self.outage.error if self.outage is not None and self.outage.lasting else None

    def stale(self, now_ns: int) -> bool:
        return now_ns - self.updated_ns > STALE_SECONDS * SECOND_NS


def report_path(data: DataFolder) -> Path:
    return data.run / "drain.json"


def write_report(data: DataFolder, report: DrainReport) -> None:
    """Raises StorageError, FullError."""
    write_atomic(report_path(data), msgspec.json.encode(report))


def read_report(data: DataFolder) -> DrainReport | None:
    """The last report; None where no drain ever ran here, or the file cannot be read."""
    try:
        return msgspec.json.decode(report_path(data).read_bytes(), type=DrainReport)
    except (OSError, msgspec.DecodeError):
        return None

"""What `status` shows of the drain: how far telemetry has gone to InfluxDB, and what keeps it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from hostsight.clock import iso
from hostsight.folders import DataFolder
from hostsight.process import process_exists
from hostsight.timerange import format_duration
from ingest.influx.rejected_files import newest_words, rejected_files, rejected_folder
from ingest.influx.report import DrainReport, HostDrain, Outage, read_report


class DrainStatus(msgspec.Struct, frozen=True, kw_only=True):
    """error: why nothing is sent now.  outage: the last one.  rejected_files: batches that the server refused for good;
    rejected_words: why, of the newest."""

    running: bool
    pid: int
    url: str
    bucket: str
    age_seconds: float
    rss_bytes: int
    error: str | None
    outage: Outage | None
    problems: tuple[str, ...]
    hosts: tuple[HostDrain, ...]
    rejected_files: int
    rejected_bytes: int
    rejected_words: str


def read_drain(data: DataFolder, now_ns: int) -> DrainStatus | None:
    """None where no drain ever ran on this data folder."""
    report = read_report(data)
    if report is None:
        return None
    folder = rejected_folder(data)
    files = list(rejected_files(folder))
    return DrainStatus(
        running=_running(report, now_ns),
        pid=report.pid,
        url=report.url,
        bucket=report.bucket,
        age_seconds=max(0.0, (now_ns - report.updated_ns) / 1e9),
        rss_bytes=report.rss_bytes,
        error=report.error,
        outage=report.outage,
        problems=report.problems,
        hosts=report.hosts,
        rejected_files=len(files),
        rejected_bytes=sum(size for _, size in files),
        rejected_words=newest_words(files),
    )


def drain_problems(data: DataFolder, drain: DrainStatus | None) -> Iterator[str]:
    """Sentences for `status`: what, where, remedy."""
    if drain is None:
        return
    if not drain.running:
        ago = format_duration(round(drain.age_seconds))
        yield f"nothing is sent to InfluxDB: the drain last reported {ago} ago; start `hostsight agent --store influx`, or `hostsight drain` beside it"
    elif drain.outage is not None and drain.outage.lasting:
        yield f"telemetry waits in the spool since {iso(drain.outage.since_ns)}: {drain.outage.error}"
    yield from drain.problems
    for host in drain.hosts:
        if host.lost_segments:
            yield f"{host.host}: {host.lost_segments} segments were deleted from the spool before InfluxDB had them; raise [spool] max_bytes"
        if host.dropped_values:
            yield f"{host.host}: {host.dropped_values} infinite values were left out"
    if drain.rejected_files:
        yield f"InfluxDB refused {drain.rejected_files} batches for good ({drain.rejected_words}); they are in {rejected_folder(data)}: mend the reason and send them with `influx write`, or delete them"


def sent_until(host: HostDrain) -> str:
    return iso(host.until_ns) or "" if host.until_ns else "nothing yet"


def _running(report: DrainReport, now_ns: int) -> bool:
    return not report.stale(now_ns) and process_exists(report.pid)

"""How good the telemetry of a data folder is: what was late, lost, left out, or has stopped."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pyarrow as pa

from hostsight.clock import SECOND_NS, iso
from hostsight.errors import StorageError
from hostsight.folders import DataFolder
from hostsight.timerange import format_duration
from ingest.heartbeat import Heartbeat, alive, read_heartbeat
from sql.reader import Reader

LOOK_BACK_SECONDS = 3_600
STOPPED_SECONDS = 60
"""A channel without a value for so long, or for three of its own periods, has stopped."""
GAP_SECONDS = 2
LATE_SHARE = 0.001
_LATE_MS = 10.0
_NAMED = 5


class Issue(msgspec.Struct, frozen=True):
    """One thing that is wrong with the telemetry, and the command or setting that would mend it, or empty."""

    what: str
    remedy: str


class Quality(msgspec.Struct, frozen=True):
    """`collected`: whether an agent ever wrote here. `checked_seconds`: so far back the lake was looked at."""

    collected: bool
    ticks: int
    late_ticks: int
    lost_values: int
    checked_seconds: int
    issues: tuple[Issue, ...]


def read_quality(data: DataFolder, now_ns: int) -> Quality:
    """Of the agent's heartbeat and the last hour of the lake. A lake that cannot be read is an issue itself."""
    beat = read_heartbeat(data)
    issues = [*_agent(beat, now_ns), *_lake(data, now_ns)]
    if beat is None:
        return Quality(data.state_db.exists(), 0, 0, 0, LOOK_BACK_SECONDS, tuple(issues))
    return Quality(True, beat.ticks, beat.late_ticks, beat.lost_values, LOOK_BACK_SECONDS, tuple(issues))


def _agent(beat: Heartbeat | None, now_ns: int) -> Iterator[Issue]:
    if beat is None:
        return
    if not alive(beat, now_ns):
        yield Issue(f"the agent is silent since {iso(beat.updated_ns)}", "hostsight up")
    due = beat.ticks + beat.late_ticks
    if beat.late_ticks > LATE_SHARE * due:
        share = 100 * beat.late_ticks / due
        yield Issue(
            f"{beat.late_ticks:,} ticks were skipped ({share:.2g} %) since the host let the agent run too late",
            f"sudo renice -n -5 -p {beat.pid}",
        )
    if beat.lateness_p99_ms > _LATE_MS:
        yield Issue(f"one tick in a hundred is {beat.lateness_p99_ms:.0f} ms late or more", "")
    if beat.lost_values:
        yield Issue(f"{beat.lost_values:,} values could not be stored", "hostsight status")
    if beat.spool_dropped_segments:
        yield Issue(f"{beat.spool_dropped_segments:,} spool segments were dropped unread", "hostsight serve")
    for one in beat.collectors:
        if one.state == "failed":
            yield Issue(f"collector {one.name} fails: {one.error}", "")


def _lake(data: DataFolder, now_ns: int) -> Iterator[Issue]:
    if not data.state_db.exists():
        return
    span = {"start_ns": now_ns - LOOK_BACK_SECONDS * SECOND_NS, "end_ns": now_ns}
    reader = Reader(data)
    try:
        gaps = reader.query("gaps", **span, least_ns=GAP_SECONDS * SECOND_NS)
        quiet = reader.query("quiet", **span, patience_ns=STOPPED_SECONDS * SECOND_NS)
    except StorageError as error:
        yield Issue(str(error), "")
        return
    finally:
        reader.close()
    yield from _gaps(gaps)
    yield from _quiet(quiet)


def _gaps(table: pa.Table) -> Iterator[Issue]:
    rows = table.to_pylist()
    for row in rows[-_NAMED:]:
        length = format_duration(round(row["length_ns"] / SECOND_NS))
        yield Issue(f"{row['host']} has no telemetry for {length} after {iso(row['began'])}", "")
    if len(rows) > _NAMED:
        yield Issue(f"and {len(rows) - _NAMED} earlier gaps in this hour", "")


def _quiet(table: pa.Table) -> Iterator[Issue]:
    """The channels of one device stop together and are one line."""
    stopped: dict[tuple[str, str, str], list[dict[str, object]]] = {}
    for row in table.to_pylist():
        stopped.setdefault((row["host"], row["subsystem"], row["device"]), []).append(row)
    for (host, subsystem, device), rows in stopped.items():
        last = max(int(str(row["last"])) for row in rows)
        names = ", ".join(str(row["metric"]) for row in rows[:_NAMED])
        more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        yield Issue(f"{host} {subsystem} {device} stopped at {iso(last)}: {names}{more}", "")

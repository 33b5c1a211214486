"""What stands between hostsight and a server, in sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from hostsight.clock import SECOND_NS, Clock
from hostsight.errors import HostsightError
from hostsight.timerange import format_duration
from ingest.influx.client import InfluxClient
from ingest.influx.names import flux_string
from ingest.influx.version import Version, identify

SKEW_SECONDS = 5
"""Clocks that differ by more than this are told of; the server tells its own to the second."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `subject` is one of server, version, clock, access (of both kinds), write, read."""

    subject: str
    ok: bool
    sentence: str


def check(client: InfluxClient, clock: Clock) -> list[Finding]:
    """Looks at everything that can be looked at without leaving a trace; raises nothing for what it finds."""
    url = client.settings.url
    try:
        version = identify(client)
    except HostsightError as error:
        return [Finding("server", False, str(error))]
    found = [Finding("server", True, f"InfluxDB answers at {url}"), _version(version), _clock(client, clock)]
    if version.major < 3:
        found += _access(client, version)
    return found


def _version(version: Version) -> Finding:
    obstacle = version.obstacle
    if obstacle:
        return Finding("version", False, obstacle)
    way = "its 2.x-compatible API, with Flux" if version.major == 1 else "all that is needed"
    return Finding("version", True, f"version {version.text}: {way}")


def _clock(client: InfluxClient, clock: Clock) -> Finding:
    before_ns = clock.wall_ns()
    stamp = client.ask("GET", "/ping").headers.get("date", "")
    now_ns = (before_ns + clock.wall_ns()) // 2
    try:
        theirs_ns = round(parsedate_to_datetime(stamp).timestamp()) * SECOND_NS + SECOND_NS // 2
    except (TypeError, ValueError):
        return Finding("clock", True, "the server does not tell its time")
    skew_seconds = (theirs_ns - now_ns) / SECOND_NS
    if abs(skew_seconds) <= SKEW_SECONDS:
        return Finding("clock", True, f"its clock is within {SKEW_SECONDS} s of this machine's")
    way = "ahead of" if skew_seconds > 0 else "behind"
    return Finding(
        "clock",
        False,
        f"the server's clock is {format_duration(round(abs(skew_seconds)))} {way} this machine's; set both by NTP, or new telemetry is refused, or waited for",
    )


def _access(client: InfluxClient, version: Version) -> list[Finding]:
    bucket = client.settings.bucket
    if version.major >= 2 and client.ask("GET", "/api/v2/setup").document().get("allowed") is True:
        sentence = f"the server at {client.settings.url} is new and has no user yet; make one with `influx setup`, or in its web page"
        return [Finding("access", False, sentence)]
    probe = f"from(bucket: {flux_string(bucket)}) |> range(start: -1m) |> limit(n: 1)"
    write = _attempt("write", lambda: client.write(b"# hostsight asks whether it may write\n"), f"the token may write to bucket '{bucket}'")  # fmt: skip
    read = _attempt("read", lambda: client.rows(probe), f"the token may read bucket '{bucket}'")
    same = write.sentence == read.sentence
    return [Finding("access", False, write.sentence)] if same else [write, read]


def _attempt(subject: str, act: Callable[[], object], sentence: str) -> Finding:
    try:
        act()
    except HostsightError as error:
        return Finding(subject, False, str(error))
    return Finding(subject, True, sentence)

"""Names and times in InfluxDB: hostsight's own measurements, and text that is safe in line protocol and in Flux.

Line protocol has no way to write a newline, a trailing backslash, an empty tag or bytes that are not UTF-8. Names that
hold such a thing, or a `%`, are percent-encoded where they need it, as is the underscore of a reserved name; all others
stay as they are.
https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/
"""

from __future__ import annotations

import re
from datetime import datetime
from urllib.parse import unquote

from hostsight.clock import SECOND_NS, iso

TICKS = "hostsight_ticks"
"""Tag `host`; field `dt`: the length of the tick in seconds."""

CHANNELS = "hostsight_channels"
"""Tags `host` and `subsystem`; string fields `part0`, `part1`, ...: what the channels are (`ingest.influx.catalogue`)."""

PROGRESS = "hostsight_progress"
"""Tag `host`; field `until`: seconds since the epoch up to which everything is in. One point in ten minutes, written over."""

_EMPTY = "%"
_NEVER = "2200-01-01T00:00:00Z"
_UNSAFE = re.compile(r"[%\\\x00-\x1f\x7f-\x9f\u2028\u2029\udc80-\udcff]|^_|^t(?=ime$)")
_SPECIAL = re.compile(r"([,= ])")


def quote_name(name: str) -> str:
    """`name` as InfluxDB holds it; `unquote_name` gives it back."""
    return _UNSAFE.sub(_percent, name) or _EMPTY


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogateescape"))


def unquote_name(text: str) -> str:
    return "" if text == _EMPTY else unquote(text, errors="surrogateescape")


def line_text(name: str) -> str:
    """`name` as a tag's value or a field's key in line protocol."""
    return _SPECIAL.sub(r"\\\1", quote_name(name))


def string_field(text: str) -> str:
    """`text` as the value of a string field in line protocol."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def flux_string(text: str) -> str:
    """`text` as a string literal in Flux; there a `${` would be evaluated."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return '"' + escaped.replace("${", "\\${") + '"'


def flux_time(ns: int) -> str:
    """A time literal to the nanosecond."""
    return f"{(iso(ns) or '')[:19]}.{ns % SECOND_NS:09d}Z"


def flux_since(bucket: str, since_ns: int) -> str:
    """All of a bucket from `since_ns` on, what is ahead of the server's clock included: hosts' clocks may be."""
    return f"from(bucket: {flux_string(bucket)}) |> range(start: {flux_time(since_ns)}, stop: {_NEVER})"


def parse_stamp_ns(text: str) -> int:
    """Nanoseconds since the epoch of a time in an answer, such as `2026-01-31T12:00:00.123456789Z`."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    seconds = int(datetime.fromisoformat(f"{whole}+00:00").timestamp())
    return seconds * SECOND_NS + int(fraction.ljust(9, "0"))

"""What the columns of a recording are: by a small file that says so, otherwise by what their names tell.

The file is TOML; `*` in a column's name stands for any text. What it leaves out is guessed.

    host = "db07"

    [channels."eth0_rx"]
    subsystem = "network"
    device = "eth0"
    metric = "rx_bytes_per_s"
    unit = "B/s"
    kind = "rate"

    [channels."dimm*"]
    subsystem = "memory"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from hostsight.channel import KINDS, SUBSYSTEMS, WHOLE_HOST, Channel, Kind, Subsystem
from hostsight.errors import SettingsError, nearest
from hostsight.files import unreadable

RECORDED = "recorded"
"""The host of a recording that no one named."""

_WORDS: tuple[tuple[Subsystem, str], ...] = (
    ("gpu", "gpu|nvml|nvidia|cuda|sm_util|vram"),
    ("interconnect", "pcie|nvlink|numa|upi|qpi"),
    (
        "network",
        "net|eth\\d*|en[ops]\\w*|ib\\d*|tcp|udp|ip|icmp|packet|packets|socket|sockets|retrans\\w*|connection\\w*|conn|estab|errs|segs|rsts|listen|rx|tx|active_opens|passive_opens|segments?|established",
    ),
    ("storage", "disk|nvme\\w*|sd[a-z]\\d*|vd[a-z]\\d*|io|iops|read|write|fs|filesystem|inode"),
    ("memory", "mem|memory|swap|si|so|cache\\w*|buffer\\w*|page\\w*|slab|huge\\w*|dirty"),
    ("cpu", "cpu\\d*|load|user|idle|system|iowait|steal|nice|irq|softirq|context|switches|process\\w*|run"),
)
_PATTERNS = tuple(
    (subsystem, re.compile(f"(?:^|[_.\\-/ ])(?:{words})(?=$|[_.\\-/ \\d])")) for subsystem, words in _WORDS
)
_UNKNOWN: Subsystem = "cpu"


_ALLOWED = {"subsystem": SUBSYSTEMS, "kind": KINDS}


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """What the file says about a column; what is empty is guessed."""

    subsystem: Subsystem | None = None
    device: str = ""
    metric: str = ""
    unit: str = ""
    kind: Kind = "gauge"


@dataclass(frozen=True, slots=True)
class Naming:
    """host: of all columns.  named: by column or pattern; the first that matches holds."""

    host: str = RECORDED
    named: Mapping[str, Named] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises SettingsError where the host's name is empty."""
        if not self.host.strip():
            raise SettingsError("the host of a recording has no name; give it one with --host or in the map")

    def of(self, host: str) -> Naming:
        """The same for a recording of that host."""
        return replace(self, host=host)

    def channels(self, names: Sequence[str], period_seconds: float) -> tuple[Channel, ...]:
        """One a column, in the same order. Raises SettingsError where two columns become the same channel."""
        found = tuple(self._channel(name, period_seconds) for name in names)
        first: dict[int, str] = {}
        for name, channel in zip(names, found, strict=True):
            other = first.setdefault(channel.id, name)
            if other != name:
                raise SettingsError(
                    f"columns {other} and {name} are both named {channel.label}; give one another metric or device"
                )
        return found

    def without_column(self, names: Sequence[str]) -> tuple[str, ...]:
        """Entries that none of the columns is named by, each with the nearest column: one may be misspelt."""
        return tuple(
            f"'{pattern}'{nearest(pattern, names)}"
            for pattern in self.named
            if pattern not in names and not any(fnmatchcase(name, pattern) for name in names)
        )

    def _channel(self, name: str, period_seconds: float) -> Channel:
        named = self.named.get(name) or next(
            (each for pattern, each in self.named.items() if fnmatchcase(name, pattern)), Named()
        )
        return Channel(
            host=self.host,
            subsystem=named.subsystem or guess_subsystem(name),
            device=named.device or WHOLE_HOST,
            metric=named.metric or name,
            kind=named.kind,
            unit=named.unit,
            period_seconds=period_seconds,
            source="recording",
        )


def guess_subsystem(name: str) -> Subsystem:
    """By the words in a column's name; `cpu` where it has none that tells."""
    return next((subsystem for subsystem, words in _PATTERNS if words.search(name.lower())), _UNKNOWN)


def read_naming(path: Path | None) -> Naming:
    """What the file says, or nothing without one. Raises SettingsError with file, entry and key, UsageError where it cannot be read."""
    if path is None:
        return Naming()
    try:
        tree = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise unreadable(error, path) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from error
    _check_keys(f"{path}", tree, ("host", "channels"))
    channels = tree.get("channels", {})
    if not isinstance(channels, dict):
        raise SettingsError(f'{path}: channels must be tables such as [channels."eth0_rx"]')
    host = tree.get("host", RECORDED)
    _check_text(f"{path}:", "host", host)
    return Naming(
        host, {name: _named(f'{path}: [channels."{name}"]', entry) for name, entry in channels.items()}
    )


def _named(where: str, entry: object) -> Named:
    if not isinstance(entry, dict):
        raise SettingsError(f"{where} must be a table of {', '.join(Named.__struct_fields__)}")
    _check_keys(where, entry, Named.__struct_fields__)
    for key, value in entry.items():
        _check_text(where, key, value)
        words = _ALLOWED.get(key, ())
        if words and value not in words:
            raise SettingsError(
                f"{where} {key} = '{value}' is none of {', '.join(words)}{nearest(value, words)}"
            )
    return Named(**entry)


def _check_keys(where: str, entry: Mapping[str, object], known: Sequence[str]) -> None:
    for key in entry:
        if key not in known:
            raise SettingsError(
                f"{where} has an unknown key '{key}'{nearest(key, known)}; there are {', '.join(known)}"
            )


def _check_text(where: str, key: str, value: object) -> None:
    if not isinstance(value, str):
        raise SettingsError(f"{where} {key} = {value!r} must be text in quotes")

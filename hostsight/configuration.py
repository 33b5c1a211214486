"""How files, environment and flags fill the table of settings.

Precedence, lowest first: defaults, `INFLUXDB_V2_*` of InfluxDB's own client, `hostsight.toml`, environment `HOSTSIGHT_<SECTION>_<KEY>`, flags.
The file is the first of `$HOSTSIGHT_CONFIG`, `DATA/hostsight.toml`, `/etc/hostsight/hostsight.toml`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from hostsight.clock import SECOND_NS
from hostsight.errors import SettingsError, UsageError, nearest
from hostsight.files import unreadable
from hostsight.folders import DataFolder, default_data_folder
from hostsight.settings import Duration, Secret, Settings, Size, sections
from hostsight.timerange import parse_duration_ns

_SIZE_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
               "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}  # fmt: skip

_SIZE = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_SIZE_UNITS)})")


Where = Mapping[tuple[str, str], str]
"""(section, key) -> the file, variable or flag that said so last."""


def parse_size(text: str) -> Size:
    match = _SIZE.fullmatch(text.strip().lower())
    if not match:
        raise UsageError(f"'{text}' is not a size; write it as 500MB, 2GB or 512MiB")
    return Size(float(match[1]) * _SIZE_UNITS[match[2]])


def _decode(kind: type, value: Any) -> Any:
    if kind is Duration and isinstance(value, str):
        return Duration(parse_duration_ns(value) / SECOND_NS)
    if kind is Size and isinstance(value, str):
        return parse_size(value)
    if kind is Secret and isinstance(value, str):
        return Secret(value.strip())
    if kind is Secret:
        raise UsageError("the token must be text")
    raise UsageError(f"{value!r} must be text such as {'90s' if kind is Duration else '500MB'}")


def _check_known(tree: Mapping[str, Any], where: str) -> None:
    known = sections()
    for section, keys in tree.items():
        if not isinstance(keys, Mapping):
            raise SettingsError(f"{where}: {_outside(section, known)}")
        if section not in known:
            raise SettingsError(f"{where}: unknown section [{section}]{nearest(section, known)}")
        for key in keys:
            if key not in known[section]:
                raise SettingsError(
                    f"{where}: unknown key '{key}' in [{section}]{nearest(key, known[section])}"
                )


def _outside(word: str, known: Mapping[str, Collection[str]]) -> str:
    """What is wrong with a value before the first section."""
    if word in known:
        return f"{word} must be a table; write [{word}] on a line of its own"
    homes = [f"[{section}]" for section, keys in known.items() if word in keys]
    return (
        f"'{word}' stands outside any section; move it below {' or '.join(homes) or 'the one it belongs to'}"
    )


def _convert(tree: Mapping[str, Any], where: Where) -> Settings:
    for section, keys in tree.items():
        struct = type(getattr(Settings(), section))
        for key, value in keys.items():
            try:
                msgspec.convert({key: value}, struct, strict=False, dec_hook=_decode)
            except (msgspec.ValidationError, UsageError) as error:
                wrong = (
                    f": {error}"
                    if isinstance(error, UsageError)
                    else f" must be {_wanted(section, key, value)}"
                )
                shown = "(hidden)" if key == "token" else repr(value)
                raise SettingsError(f"{where[section, key]}: [{section}] {key} = {shown}{wrong}") from error
    settings = msgspec.convert(tree, Settings, strict=False, dec_hook=_decode)
    _check_consistent(settings, where)
    return settings


def _wanted(section: str, key: str, value: Any) -> str:
    """What a setting takes, in words."""
    import msgspec.inspect as kinds  # only what is wrong pays for it

    kind = kinds.type_info(sections()[section][key].type)
    kind = kind.type if isinstance(kind, kinds.Metadata) else kind
    match kind:
        case kinds.BoolType():
            return "true or false"
        case kinds.LiteralType(values=values):
            return f"one of {', '.join(map(str, values))}{nearest(str(value), map(str, values))}"
        case kinds.IntType() | kinds.FloatType():
            return f"a {'whole ' if isinstance(kind, kinds.IntType) else ''}number{_bounds(kind)}"
        case kinds.VarTupleType():
            return 'a list such as ["one", "another"]'
    return "text in quotes"


def _bounds(kind: Any) -> str:
    words = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
    found = [
        f"{word} {bound:g}" for name, word in words.items() if (bound := getattr(kind, name)) is not None
    ]
    return f", {' and '.join(found)}" if found else ""


LONGEST_HOST = 190
"""Characters of a host's name, once what file names may not hold is quoted: a file's name has at most 255."""

_MAY_BE_ZERO = {"lateness", "merge_gap", "retention"}


def _source(where: Where, section: str, *keys: str) -> str:
    return next((f"{where[section, key]}: " for key in keys if (section, key) in where), "")


def _check_consistent(settings: Settings, where: Where) -> None:
    window, agent = settings.window, settings.agent
    _check_host(agent.host)
    for name in ("length", "stride"):
        value = getattr(window, name)
        if value <= 0 or window.pane.ns <= 0 or value.ns % window.pane.ns:
            raise SettingsError(
                f"{_source(where, 'window', name, 'pane')}[window] {name} = {value} must be a positive whole multiple of [window] pane = {window.pane}"
            )
    for name in ("tick", "medium", "slow"):
        if getattr(agent, name).ns < 1_000_000:
            raise SettingsError(
                f"{_source(where, 'agent', name)}[agent] {name} = {getattr(agent, name)} must be at least 1ms; leave it out for the default"
            )
    if agent.adaptive and not agent.tick <= agent.idle_tick <= window.pane:
        raise SettingsError(
            f"{_source(where, 'agent', 'idle_tick', 'tick')}[agent] idle_tick = {agent.idle_tick} must be between [agent] tick = {agent.tick} and [window] pane = {window.pane}"
        )
    for section, fields in sections().items():
        for key in fields:
            value = getattr(getattr(settings, section), key)
            if isinstance(value, Duration) and value <= 0 and key not in _MAY_BE_ZERO:
                raise SettingsError(
                    f"{_source(where, section, key)}[{section}] {key} = {value} must be longer than nothing; leave it out for the default"
                )
    if settings.detect.open_hits > settings.detect.open_of:
        raise SettingsError(
            f"{_source(where, 'detect', 'open_hits', 'open_of')}[detect] open_hits = {settings.detect.open_hits} may not exceed [detect] open_of = {settings.detect.open_of}; lower it"
        )


def _check_host(host: str) -> None:
    """Files are named by their host, the longest `.<host>~<start>-<end>.parquet.<process>.part`."""
    length = len(re.sub(rb"[^\w.-]", b"%00", os.fsencode(host)))
    if length > LONGEST_HOST:
        raise SettingsError(
            f"[agent] host is too long to name files by: {length} characters, and {LONGEST_HOST} are the most; name a shorter one"
        )


_PREFIX = "HOSTSIGHT_"


def _from_environment(environment: Mapping[str, str]) -> dict[tuple[str, str], str]:
    reserved = {f"{_PREFIX}{word}" for word in ("CONFIG", "DATA", "SHARED", "COMPLETE", "REQUIRE_INFLUXDB")}
    known = {f"{_PREFIX}{s}_{k}".upper(): (s, k) for s, keys in sections().items() for k in keys}
    found = {}
    for name, value in environment.items():
        if not name.startswith(_PREFIX) or name in reserved:
            continue
        if name not in known:
            raise SettingsError(
                f"environment variable {name} is no setting{_near_variable(name, known)}; correct it, or unset it"
            )
        found[known[name]] = value
    return found


def _near_variable(name: str, known: Mapping[str, tuple[str, str]]) -> str:
    """A variable that lacks its section, or is written nearly like it."""
    word = name.removeprefix(_PREFIX)
    same_key = [one for one, (_, key) in known.items() if key.upper() == word]
    if same_key:
        return f" (did you mean {' or '.join(map(repr, same_key))}?)"
    near = nearest(word, [one.removeprefix(_PREFIX) for one in (*known, "CONFIG", "DATA")])
    return near.replace("'", f"'{_PREFIX}", 1)


_INFLUX_CLIENT = {
    "url": "URL",
    "org": "ORG",
    "token": "TOKEN",
    "verify": "VERIFY_SSL",
    "ca_file": "SSL_CA_CERT",
}


def _from_influx_client(environment: Mapping[str, str]) -> dict[str, str]:
    """Keys of [influx] from the variables of InfluxDB's own client, which are the least specific source."""
    found = {key: environment.get(f"INFLUXDB_V2_{name}", "") for key, name in _INFLUX_CLIENT.items()}
    if milliseconds := environment.get("INFLUXDB_V2_TIMEOUT", "").strip():
        if not milliseconds.isdecimal():
            raise SettingsError(
                f"INFLUXDB_V2_TIMEOUT = {milliseconds!r} is no number of milliseconds; correct it, or unset it"
            )
        found["timeout"] = f"{milliseconds}ms"
    return {key: value for key, value in found.items() if value}


def _find_file(data: DataFolder, environment: Mapping[str, str]) -> Path | None:
    named = environment.get("HOSTSIGHT_CONFIG")
    if named:
        if not Path(named).is_file():
            raise SettingsError(
                f"HOSTSIGHT_CONFIG names {named}, which is not a file; correct it, or unset it"
            )
        return Path(named)
    for path in (data.root / "hostsight.toml", Path("/etc/hostsight/hostsight.toml")):
        if path.is_dir():
            raise SettingsError(f"{path} is a folder where a settings file would be; move it away")
        if path.is_file():
            return path
    return None


def _from_file(path: Path) -> dict[str, dict[str, Any]]:
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise unreadable(error, path) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is no settings file in TOML ({error}); correct it") from error
    _check_known(found, str(path))
    if "token" in found.get("influx", {}):
        raise SettingsError(
            f"{path}: [influx] token does not belong in a settings file; write it to a file of mode 0600 and name that as token_file, or set HOSTSIGHT_INFLUX_TOKEN"
        )
    return found


def data_folder(flag: str | None = None, environment: Mapping[str, str] = os.environ) -> DataFolder:
    """The data folder that `--data`, `HOSTSIGHT_DATA` or the platform names."""
    named = flag or environment.get("HOSTSIGHT_DATA")
    return DataFolder(Path(named).expanduser().absolute() if named else default_data_folder())


_LISTS = {"disabled", "peer_hosts"}


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := part.strip()))


@dataclass(frozen=True, slots=True)
class _Filled:
    """tree: section -> key -> value.  where: (section, key) -> what said so last."""

    tree: dict[str, dict[str, Any]] = field(default_factory=dict)
    where: dict[tuple[str, str], str] = field(default_factory=dict)

    def set(self, section: str, key: str, value: Any, where: str) -> None:
        self.tree.setdefault(section, {})[key] = value
        self.where[section, key] = where


def load_settings(
    data: DataFolder,
    flags: Mapping[tuple[str, str], Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Settings:
    """Settings from file, environment and `flags` ((section, key) -> value); raises SettingsError."""
    filled = _Filled()
    for key, value in _from_influx_client(environment).items():
        filled.set("influx", key, value, f"INFLUXDB_V2_{_INFLUX_CLIENT.get(key, key.upper())}")
    path = _find_file(data, environment)
    for section, keys in _from_file(path).items() if path else ():
        for key, value in keys.items():
            filled.set(section, key, value, str(path))
    for (section, key), value in _from_environment(environment).items():
        given = _listed(value) if key in _LISTS else value
        filled.set(section, key, given, f"{_PREFIX}{section}_{key}".upper())
    for (section, key), value in (flags or {}).items():
        if value is not None:
            filled.set(section, key, value, f"--{key.replace('_', '-')}")
    return _convert(filled.tree, filled.where)

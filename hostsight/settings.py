"""Every setting, its type, default and meaning, in one table; and how files, environment and flags fill it.

Precedence, lowest first: defaults, `INFLUXDB_V2_*` of InfluxDB's own client, `hostsight.toml`, environment `HOSTSIGHT_<SECTION>_<KEY>`, flags.
The file is the first of `$HOSTSIGHT_CONFIG`, `DATA/hostsight.toml`, `/etc/hostsight/hostsight.toml`.
"""

from __future__ import annotations

import os
import re
import socket
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hostsight.clock import SECOND_NS
from hostsight.errors import SettingsError, UsageError, nearest
from hostsight.folders import DataFolder, default_data_folder
from hostsight.timerange import format_duration, parse_duration_ns


class Duration(float):
    """Seconds; written `90s`, `5m`, `250ms` in files, environment and flags."""

    @property
    def ns(self) -> int:
        return round(self * SECOND_NS)

    def __str__(self) -> str:
        return format_duration(self)


class Size(int):
    """Bytes; written `500MB`, `2GB` (powers of 1000) or `512MiB` (powers of 1024)."""

    def __str__(self) -> str:
        for factor, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
            if self >= factor and self % factor == 0:
                return f"{int(self) // factor}{unit}"
        return f"{int(self)}B"


class Secret(str):
    """Text that is never shown: only `reveal` gives it."""

    __slots__ = ()

    def reveal(self) -> str:
        return str.__str__(self)

    def __str__(self) -> str:
        return "(hidden)" if self else ""

    def __repr__(self) -> str:
        return f"Secret({str(self)!r})"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


_SIZE_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
               "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}  # fmt: skip

_SIZE = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_SIZE_UNITS)})")


def parse_size(text: str) -> Size:
    match = _SIZE.fullmatch(text.strip().lower())
    if not match:
        raise UsageError(f"'{text}' is not a size; write it as 500MB, 2GB or 512MiB")
    return Size(float(match[1]) * _SIZE_UNITS[match[2]])


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class AgentSettings(Section, frozen=True, kw_only=True):
    host: Annotated[str, Meta(description="name this host is known by; empty: the kernel's host name")] = ""
    tick: Annotated[Duration, Meta(description="time between two samples of the fast tier")] = Duration(0.1)
    medium: Annotated[Duration, Meta(description="period of the medium tier")] = Duration(1)
    slow: Annotated[Duration, Meta(description="period of the slow tier")] = Duration(10)
    adaptive: Annotated[
        bool,
        Meta(description="tick once per `idle_tick` while the host is idle and nothing remarkable happens"),
    ] = False
    idle_tick: Annotated[
        Duration, Meta(description="time between two samples of an idle host, where `adaptive`")
    ] = Duration(1)
    root: Annotated[
        str, Meta(description="prefix of /proc and /sys; a captured tree, or a host's / in a container")
    ] = "/"
    disabled: Annotated[tuple[str, ...], Meta(description="collectors that are not started, by name")] = ()
    collectors: Annotated[
        str, Meta(description="folder of the site's own collectors, a Python file each; empty: none")
    ] = ""
    per_cpu_limit: Annotated[
        int, Meta(ge=0, description="hosts with more CPUs than this get per-node instead of per-CPU channels")
    ] = 64
    device_limit: Annotated[
        int, Meta(ge=1, description="at most so many devices per collector (disks, NICs)")
    ] = 64


class SpoolSettings(Section, frozen=True, kw_only=True):
    segment: Annotated[Duration, Meta(description="length of one segment file")] = Duration(60)
    max_bytes: Annotated[
        Size, Meta(description="over this the oldest closed segment is deleted, and counted")
    ] = Size(10**9)


class WindowSettings(Section, frozen=True, kw_only=True):
    pane: Annotated[
        Duration, Meta(description="length of a pane; length and stride are whole multiples of it")
    ] = Duration(1)
    length: Annotated[Duration, Meta(description="length of a window")] = Duration(3)
    stride: Annotated[Duration, Meta(description="time between the ends of two windows")] = Duration(1)
    of_means: Annotated[
        bool,
        Meta(
            description="statistics of the panes' means instead of single samples; always so where `[agent] adaptive`"
        ),
    ] = False


class DetectSettings(Section, frozen=True, kw_only=True):
    warmup: Annotated[Duration, Meta(description="how much telemetry the first baseline is learnt from")] = (
        Duration(180)
    )
    percentile: Annotated[
        float, Meta(gt=50, lt=100, description="a window is anomalous beyond this percentile of training")
    ] = 99.0
    alert_budget: Annotated[
        float,
        Meta(
            ge=0,
            description="episodes a day that healthy telemetry may cost at most; the level of alarm is raised until it does",
        ),
    ] = 0.5
    correlation: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="channels whose |r| with a kept one exceeds this are left out of the model; 1 leaves none out",
        ),
    ] = 1.0
    train_windows: Annotated[
        int, Meta(ge=60, description="at most so many windows are fitted, evenly spread")
    ] = 20_000
    train_span: Annotated[Duration, Meta(description="how far back a refit looks")] = Duration(86_400)
    open_hits: Annotated[
        int, Meta(ge=1, description="an episode opens when so many of the last open_of windows are anomalous")
    ] = 6
    open_of: Annotated[int, Meta(ge=1, description="see open_hits")] = 8
    open_extreme: Annotated[
        int,
        Meta(
            ge=1,
            description="or when so many windows in a row are far beyond the tail; one odd second makes three",
        ),
    ] = 5
    close_after: Annotated[
        Duration, Meta(description="an episode closes after so long without an anomalous window")
    ] = Duration(30)
    merge_gap: Annotated[
        Duration, Meta(description="a new episode within this of a closed one continues it, unless it has another cause")
    ] = Duration(120)
    accept_after: Annotated[
        Duration,
        Meta(
            description="an episode this long is taken as the new normal at the next refit; while the model is younger, one as long as what it was learnt from"
        ),
    ] = Duration(6 * 3600)


class RetentionSettings(Section, frozen=True, kw_only=True):
    samples: Annotated[Duration, Meta(description="age at which samples are deleted from the lake")] = (
        Duration(7 * 86_400)
    )
    features: Annotated[
        Duration, Meta(description="age at which nine in ten windows' features are deleted")
    ] = Duration(86_400)
    scores: Annotated[
        Duration, Meta(description="age at which scores, episodes and thinned features are deleted")
    ] = Duration(90 * 86_400)
    max_bytes: Annotated[Size, Meta(description="over this the oldest hours of the lake are deleted")] = Size(
        20 * 10**9
    )


class JobSettings(Section, frozen=True, kw_only=True):
    refit_hour: Annotated[int, Meta(ge=0, le=23, description="hour of the nightly refit, UTC")] = 2
    lateness: Annotated[Duration, Meta(description="how long a window waits for late samples")] = Duration(0)


class AlertSettings(Section, frozen=True, kw_only=True):
    webhook: Annotated[
        str, Meta(description="address that each message about an episode is posted to as JSON; empty: none")
    ] = ""
    alertmanager: Annotated[
        str, Meta(description="address of an Alertmanager, such as http://localhost:9093; empty: none")
    ] = ""
    severity: Annotated[
        Literal["info", "warning", "critical"],
        Meta(description="episodes of at least this severity are alerted about"),
    ] = "warning"
    token_file: Annotated[
        str, Meta(description="file with a token that both are given as `Authorization: Bearer`; empty: none")
    ] = ""
    timeout: Annotated[Duration, Meta(description="how long a receiver may take to answer")] = Duration(10)
    textfile: Annotated[
        str,
        Meta(
            description="file of episode counts and scores for Prometheus, in the folder of node_exporter's textfile collector and ending in .prom; empty: none"
        ),
    ] = ""


class SqlSettings(Section, frozen=True, kw_only=True):
    timeout: Annotated[Duration, Meta(description="an ad-hoc query is stopped after this")] = Duration(30)
    memory: Annotated[
        Size,
        Meta(
            description="memory an ad-hoc query may use; its process may take 512 MiB more of address space"
        ),
    ] = Size(2 * 10**9)
    rows: Annotated[int, Meta(ge=1, description="rows the console fetches before it says there is more")] = (
        1000
    )


class StoreSettings(Section, frozen=True, kw_only=True):
    kind: Annotated[
        Literal["embedded", "influx", "telegraf"],
        Meta(
            description="where telemetry is kept: `embedded` in the data folder, `influx` in InfluxDB; `telegraf`: what telegraf keeps in InfluxDB"
        ),
    ] = "embedded"


class InfluxSettings(Section, frozen=True, kw_only=True):
    url: Annotated[str, Meta(description="address of InfluxDB")] = "http://localhost:8086"
    org: Annotated[str, Meta(description="organisation; 1.x has none")] = "hostsight"
    bucket: Annotated[str, Meta(description="bucket; with 1.x `database/retention`")] = "hostsight"
    token: Annotated[
        Secret, Meta(description="API token, from the environment alone; with 1.x `user:password` or none")
    ] = Secret("")
    token_file: Annotated[str, Meta(description="file that holds the token")] = ""
    verify: Annotated[bool, Meta(description="whether the server's TLS certificate is checked")] = True
    ca_file: Annotated[
        str, Meta(description="certificates that vouch for the server; empty: the system's own")
    ] = ""
    timeout: Annotated[Duration, Meta(description="how long a write or a small question may take")] = (
        Duration(10)
    )
    export_timeout: Annotated[
        Duration, Meta(description="how long the export of a time range may be silent")
    ] = Duration(60)
    compression: Annotated[
        Literal["auto", "gzip", "none"],
        Meta(description="of requests and answers; `auto` compresses unless the server is on this machine"),
    ] = "auto"
    lateness: Annotated[Duration, Meta(description="how long a window waits for late samples")] = Duration(2)
    telegraf_interval: Annotated[
        Duration,
        Meta(description="telegraf's own interval; windows are so much longer than for hostsight's agent"),
    ] = Duration(10)
    request_values: Annotated[
        int, Meta(ge=1, description="about so many values go in one write when there is a backlog")
    ] = 50_000
    rejected_max_bytes: Annotated[
        Size, Meta(description="room for batches that the server refused for good; the oldest go first")
    ] = Size(100 * 10**6)
    retention: Annotated[
        Duration, Meta(description="how long a bucket made by `store setup` keeps its points; 0s: for ever")
    ] = Duration(30 * 86_400)


class Settings(Section, frozen=True, kw_only=True):
    agent: AgentSettings = AgentSettings()
    spool: SpoolSettings = SpoolSettings()
    window: WindowSettings = WindowSettings()
    detect: DetectSettings = DetectSettings()
    retention: RetentionSettings = RetentionSettings()
    jobs: JobSettings = JobSettings()
    alerts: AlertSettings = AlertSettings()
    sql: SqlSettings = SqlSettings()
    store: StoreSettings = StoreSettings()
    influx: InfluxSettings = InfluxSettings()

    @property
    def host(self) -> str:
        return self.agent.host or socket.gethostname() or "localhost"


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


def sections() -> dict[str, dict[str, msgspec.inspect.Field]]:
    """Section name -> key -> field, for documentation and messages."""
    out = {}
    for section in msgspec.structs.fields(Settings):
        fields = msgspec.structs.fields(section.type)
        out[section.name] = {field.name: field for field in fields}
    return out  # type: ignore[return-value]  # msgspec.structs.FieldInfo is what fields() gives


def _check_known(tree: Mapping[str, Any], where: str) -> None:
    known = sections()
    for section, keys in tree.items():
        if section not in known:
            raise SettingsError(f"{where}: unknown section [{section}]{nearest(section, known)}")
        if not isinstance(keys, Mapping):
            raise SettingsError(f"{where}: [{section}] must be a table")
        for key in keys:
            if key not in known[section]:
                raise SettingsError(
                    f"{where}: unknown key '{key}' in [{section}]{nearest(key, known[section])}"
                )


def _convert(tree: Mapping[str, Any], where: Mapping[tuple[str, str], str]) -> Settings:
    for section, keys in tree.items():
        struct = type(getattr(Settings(), section))
        for key, value in keys.items():
            try:
                msgspec.convert({key: value}, struct, strict=False, dec_hook=_decode)
            except (msgspec.ValidationError, UsageError) as error:
                reason = str(error).split(" - at ")[0]
                shown = "(hidden)" if key == "token" else repr(value)
                raise SettingsError(
                    f"{where[section, key]}: [{section}] {key} = {shown}: {reason}"
                ) from error
    settings = msgspec.convert(tree, Settings, strict=False, dec_hook=_decode)
    _check_consistent(settings)
    return settings


LONGEST_HOST = 190
"""Characters of a host's name, once what file names may not hold is quoted: a file's name has at most 255."""

_MAY_BE_ZERO = {"lateness", "merge_gap", "retention"}


def _check_consistent(settings: Settings) -> None:
    window, agent = settings.window, settings.agent
    _check_host(agent.host)
    for name in ("length", "stride"):
        value = getattr(window, name)
        if value <= 0 or window.pane.ns <= 0 or value.ns % window.pane.ns:
            raise SettingsError(
                f"[window] {name} = {value} must be a positive whole multiple of [window] pane = {window.pane}"
            )
    for name in ("tick", "medium", "slow"):
        if getattr(agent, name).ns < 1_000_000:
            raise SettingsError(f"[agent] {name} = {getattr(agent, name)} must be at least 1ms")
    if agent.adaptive and not agent.tick <= agent.idle_tick <= window.pane:
        raise SettingsError(
            f"[agent] idle_tick = {agent.idle_tick} must be between [agent] tick = {agent.tick} and [window] pane = {window.pane}"
        )
    for section, fields in sections().items():
        for key in fields:
            value = getattr(getattr(settings, section), key)
            if isinstance(value, Duration) and value <= 0 and key not in _MAY_BE_ZERO:
                raise SettingsError(f"[{section}] {key} = {value} must be longer than nothing")
    if settings.detect.open_hits > settings.detect.open_of:
        raise SettingsError("[detect] open_hits may not exceed [detect] open_of")


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
            near = nearest(name.removeprefix(_PREFIX), (one.removeprefix(_PREFIX) for one in known))
            near = near.replace("'", f"'{_PREFIX}", 1)
            raise SettingsError(f"environment variable {name} is no setting{near}")
        found[known[name]] = value
    return found


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
    if milliseconds := environment.get("INFLUXDB_V2_TIMEOUT", ""):
        found["timeout"] = f"{milliseconds}ms"
    return {key: value for key, value in found.items() if value}


def _find_file(data: DataFolder, environment: Mapping[str, str]) -> Path | None:
    named = environment.get("HOSTSIGHT_CONFIG")
    if named:
        if not Path(named).is_file():
            raise SettingsError(f"HOSTSIGHT_CONFIG names {named}, which is not a file")
        return Path(named)
    for path in (data.root / "hostsight.toml", Path("/etc/hostsight/hostsight.toml")):
        if path.is_dir():
            raise SettingsError(f"{path} is a folder where a settings file would be; move it away")
        if path.is_file():
            return path
    return None


def data_folder(flag: str | None = None, environment: Mapping[str, str] = os.environ) -> DataFolder:
    """The data folder that `--data`, `HOSTSIGHT_DATA` or the platform names."""
    named = flag or environment.get("HOSTSIGHT_DATA")
    return DataFolder(Path(named).expanduser().absolute() if named else default_data_folder())


def load_settings(
    data: DataFolder,
    flags: Mapping[tuple[str, str], Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Settings:
    """Settings from file, environment and `flags` ((section, key) -> value); raises SettingsError."""
    tree: dict[str, dict[str, Any]] = {}
    where: dict[tuple[str, str], str] = {}
    for key, value in _from_influx_client(environment).items():
        tree.setdefault("influx", {})[key] = value
        where["influx", key] = f"INFLUXDB_V2_{_INFLUX_CLIENT.get(key, key.upper())}"
    path = _find_file(data, environment)
    if path is not None:
        try:
            loaded = tomllib.loads(path.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise SettingsError(f"{path}: {error}") from error
        _check_known(loaded, str(path))
        if "token" in loaded.get("influx", {}):
            raise SettingsError(
                f"{path}: [influx] token does not belong in a settings file; write it to a file of mode 0600 and name that as token_file, or set HOSTSIGHT_INFLUX_TOKEN"
            )
        for section, keys in loaded.items():
            tree.setdefault(section, {}).update(keys)
            where |= {(section, key): str(path) for key in keys}
    for (section, key), value in _from_environment(environment).items():
        tree.setdefault(section, {})[key] = tuple(value.split(",")) if key == "disabled" else value
        where[section, key] = f"{_PREFIX}{section}_{key}".upper()
    for (section, key), value in (flags or {}).items():
        if value is not None:
            tree.setdefault(section, {})[key] = value
            where[section, key] = f"--{key.replace('_', '-')}"
    return _convert(tree, where)

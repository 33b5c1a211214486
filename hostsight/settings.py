"""Every setting, its type, default and meaning, in one table; `configuration.py` fills it."""

from __future__ import annotations

import socket
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hostsight.clock import SECOND_NS
from hostsight.timerange import format_duration


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
        Duration,
        Meta(
            description="a new episode within this of a closed one continues it, unless it has another cause"
        ),
    ] = Duration(120)
    regime_after: Annotated[
        Duration,
        Meta(
            description="an episode this long that is steady and harmless is a new regime: it is closed and learnt; while the model is younger, one as long as what it was learnt from, five minutes at least"
        ),
    ] = Duration(600)
    accept_after: Annotated[
        Duration,
        Meta(
            description="an episode this long is taken as the new normal at the next refit; while the model is younger, one as long as what it was learnt from"
        ),
    ] = Duration(6 * 3600)
    peer_hosts: Annotated[
        tuple[str, ...],
        Meta(description="patterns such as gpu*: hosts that match the same one share a job and are compared"),
    ] = ()


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
    rows: Annotated[
        int,
        Meta(
            ge=1, description="rows that the console and a table of `sql` show before they say there is more"
        ),
    ] = 1000


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


def sections() -> dict[str, dict[str, msgspec.inspect.Field]]:
    """Section name -> key -> field, for documentation and messages."""
    out = {}
    for section in msgspec.structs.fields(Settings):
        fields = msgspec.structs.fields(section.type)
        out[section.name] = {field.name: field for field in fields}
    return out  # type: ignore[return-value]  # msgspec.structs.FieldInfo is what fields() gives

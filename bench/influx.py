"""How fast telemetry gets into InfluxDB and out again, beside what the server can do and what its own client does.

hostsight and a bare HTTP client take turns, request by request, so that whatever else the machine does slows both. The
bare client posts the very lines that hostsight made, and reads the very answers that it asks for.
"""

from __future__ import annotations

import gzip
import http.client
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import count, zip_longest
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode, urlsplit

import influxdb_client
import msgspec
import numpy as np
import psutil

from bench.influx_server import new_bucket, own_server
from bench.report import report
from bench.server import HOST, START_NS, TICK_NS, server_channels
from hostsight.channel import Channel
from hostsight.clock import SECOND_NS, SystemClock
from hostsight.errors import HostsightError, UsageError
from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings, Settings
from hostsight.timerange import TimeRange
from ingest.influx.ahead import ReadAhead
from ingest.influx.client import InfluxClient, read_token
from ingest.influx.drain import Drain
from ingest.influx.export import Exporter, queries, questions
from ingest.influx.influxql import ACCEPT
from ingest.influx.position import Positions, target
from ingest.lake import Lake
from ingest.spool import SpoolWriter
from migrations import open_state

WARM_REQUESTS = 2
"""The first requests make the server's index of series; they are not measured."""

EXPORT_SECONDS = 60
"""How much is exported at once: what a job takes."""

EXPORT_TURNS = 7

PEER_TICKS = 40
PEER_SECONDS = 2
"""How much of each turn, and of each minute, the server's own client gets: it is slower by far."""

NO_PANDAS = (
    "query_data_frame was not measured: it needs pandas, which is not installed (`pip install pandas`)"
)

BUDGETS = {
    "write_ratio_to_ceiling": (0.7, "least"),
    "write_cpu_us_per_value": (3.0, "most"),
    "write_ratio_to_client": (4.0, "least"),
    "export_ratio_to_download": (0.85, "least"),
    "export_ratio_to_client": (4.0, "least"),
}


@dataclass(frozen=True, slots=True)
class Tally:
    """What one way has done so far."""

    values: int = 0
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Values a second. Raises UsageError where there was no turn beyond those that are not measured."""
        if not self.values:
            raise UsageError("that is too little telemetry to measure; raise --seconds, or --channels")
        return self.values / self.wall_seconds

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.values + other.values,
            self.wall_seconds + other.wall_seconds,
            self.cpu_seconds + other.cpu_seconds,
        )


def timed(work: Callable[[], int]) -> Tally:
    """`work` gives how many values it did."""
    cpu, wall = time.process_time(), time.perf_counter()
    values = work()
    return Tally(values, time.perf_counter() - wall, time.process_time() - cpu)


def bench_influx(settings: Settings, *, channels: int, seconds: int, url: str | None) -> dict[str, object]:
    """Write and export `seconds` of `channels` at 100 ms. `url`: a running InfluxDB, which gets buckets (1.x: databases) for a while.

    Raises UnavailableError where there is no server, UsageError where that is too little to measure.
    """
    influx = settings.influx if url is None else msgspec.structs.replace(settings.influx, url=url)
    with ExitStack() as stack:
        data = DataFolder(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hostsight-bench-"))))
        server = stack.enter_context(own_server(influx) if url is None else nullcontext(influx))
        ours, bare, peer = (stack.enter_context(new_bucket(server)) for _ in range(3))
        known = server_channels(channels)
        fill_spool(data.create(), settings, known, seconds)
        writing = _write(data, ours, bare, _ClientWriter(peer, known))
        reading = _export(data, ours, seconds)
    chosen = {
        "channels": channels,
        "seconds": seconds,
        "compressed": InfluxClient(ours).compressed,
        "own_server": url is None,
    }
    return report("influx", chosen, {**writing, **reading, "budgets": budgets(writing | reading)})


def fill_spool(data: DataFolder, settings: Settings, known: Sequence[Channel], seconds: int) -> None:
    """What an agent would have left: noise about a level of each channel's own, a flush a second."""
    rng, ticks = np.random.default_rng(0), SECOND_NS // TICK_NS
    levels = rng.lognormal(5, 3, len(known))
    with closing(SpoolWriter(data, settings.spool, HOST)) as writer:
        writer.open(known)
        for number in range(seconds * ticks):
            values = levels * (1 + 0.05 * rng.standard_normal(len(known)))
            writer.append(START_NS + number * TICK_NS, 0.1, values.astype(np.float32))
            if number % ticks == ticks - 1:
                writer.flush()


class _Recorder:
    """Writes, and keeps the longest body of a step: the samples, beside which hostsight tells how far it is."""

    def __init__(self, client: InfluxClient) -> None:
        self._client = client
        self.body = b""

    def write(self, lines: bytes) -> None:
        self.body = max(self.body, lines, key=len)
        self._client.write(lines)


def _write(
    data: DataFolder, ours: InfluxSettings, bare: InfluxSettings, client_writer: _ClientWriter
) -> dict[str, object]:
    """Drain the spool; each batch is followed by the same lines from the bare client, and by some of the server's own
    client, into buckets of their own."""
    mine, ceiling, peer, memory = Tally(), Tally(), Tally(), list[int]()
    with ExitStack() as stack:
        client = stack.enter_context(InfluxClient(ours))
        http = stack.enter_context(closing(_Http(bare)))
        state = stack.enter_context(closing(open_state(data.state_db)))
        theirs = stack.enter_context(closing(client_writer))
        drain = Drain(ours, data, Positions(state, target(ours)), SystemClock(), lambda _: 0)
        for number in count():
            recorder = _Recorder(client)
            step = timed(partial(_step, drain, recorder))
            if not step.values:
                break
            body = http.packed(recorder.body)
            posted = timed(partial(http.post, "write", body, step.values))
            memory.append(psutil.Process().memory_info().rss)
            turn = timed(theirs.turn)
            if number >= WARM_REQUESTS:
                mine, ceiling, peer = mine + step, ceiling + posted, peer + turn
    return {
        "write_values": mine.values,
        "write_values_per_s": mine.rate,
        "write_ceiling_values_per_s": ceiling.rate,
        "write_ratio_to_ceiling": mine.rate / ceiling.rate,
        "write_cpu_us_per_value": 1e6 * mine.cpu_seconds / mine.values,
        **_beside("write", mine, peer),
        "write_rss_growth_bytes": growth(memory),
    }


def growth(memory: Sequence[int]) -> int:
    """Of the last third over the one before, each by its median: requests of different sizes move it to and fro."""
    third = len(memory) // 3
    return round(median(memory[-third:]) - median(memory[third : 2 * third])) if third else 0


def _step(drain: Drain, recorder: _Recorder) -> int:
    """One batch; how many values it had."""
    before = _sent(drain)
    drain.step(recorder)
    return _sent(drain) - before


def _sent(drain: Drain) -> int:
    return sum(host.sent_values for host in drain.hosts())


class _Http:
    """A bare HTTP client on one kept connection."""

    def __init__(self, settings: InfluxSettings) -> None:
        parts = urlsplit(settings.url)
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=120)
        self._compressed = InfluxClient(settings).compressed
        self._query = urlencode({"org": settings.org, "bucket": settings.bucket, "precision": "ns"})
        self._headers = {"Authorization": f"Token {read_token(settings)}"}

    def packed(self, body: bytes) -> bytes:
        return gzip.compress(body, 1) if self._compressed else body

    def post(self, what: str, body: bytes, values: int) -> int:
        """`values`, once it is done. Raises HostsightError where it fails."""
        headers = {"Content-Encoding": "gzip"} if self._compressed else {}
        self.ask("POST", f"/api/v2/{what}?{self._query}", body, headers)
        return values

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Reads the whole answer. Raises HostsightError where it is a failure."""
        accepted = {"Accept-Encoding": "gzip" if self._compressed else "identity"}
        self._connection.request(method, path, body, {**self._headers, **accepted, **(headers or {})})
        answer = self._connection.getresponse()
        while answer.read(1 << 16):
            pass
        if answer.status >= 300:
            raise HostsightError(f"InfluxDB answers {answer.status} to the bare client; see its log")

    def close(self) -> None:
        self._connection.close()


def _export(data: DataFolder, ours: InfluxSettings, seconds: int) -> dict[str, object]:
    """Export all of it into Parquet, a minute at a time, while the next minute is on its way; then a bare download of the
    same answers, and `query_data_frame` over a part of each; and so on in turns. The first turn is not measured: in it the
    exporter finds out what it can trust."""
    mine, download, peer = list[Tally](), list[Tally](), Tally()
    lake, spans, pandas = Lake(data), list(_minutes(seconds)), with_pandas()
    with ExitStack() as stack:
        ahead = stack.enter_context(closing(ReadAhead(Exporter(stack.enter_context(InfluxClient(ours))))))
        http = stack.enter_context(closing(_Http(ours)))
        theirs = stack.enter_context(_their_client(ours))
        for turn in range(1 + EXPORT_TURNS):
            exported = timed(partial(_into_lake, ahead, lake, spans))
            downloaded = timed(partial(_download, http, ours.bucket, spans, exported.values))
            if turn:
                mine.append(exported)
                download.append(downloaded)
                peer += timed(partial(_frames, theirs, ours.bucket, spans)) if pandas else Tally()
    whole = sum(mine, Tally())
    return {
        "export_values": whole.values,
        "export_values_per_s": median(turn.rate for turn in mine),
        "export_download_values_per_s": median(turn.rate for turn in download),
        "export_ratio_to_download": median(
            ours.rate / bare.rate for ours, bare in zip(mine, download, strict=True)
        ),
        "export_cpu_us_per_value": 1e6 * whole.cpu_seconds / whole.values,
        **_beside("export", whole, peer),
        **({} if pandas else {"export_client_absent": NO_PANDAS}),
    }


def with_pandas() -> bool:
    return find_spec("pandas") is not None


def _frames(client: Any, bucket: str, spans: Sequence[TimeRange]) -> int:
    """What the client makes of the first seconds of each span, pivoted as its manual has it."""
    parts = (
        TimeRange(span.start_ns, min(span.end_ns, span.start_ns + PEER_SECONDS * SECOND_NS)) for span in spans
    )
    values = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in parts:
            found = client.query_api().query_data_frame(next(iter(queries(bucket, HOST, part))))
            frames = found if isinstance(found, list) else [found]
            values += sum(int(frame.select_dtypes("float").notna().sum().sum()) for frame in frames)
    return values


def _minutes(seconds: int) -> Iterator[TimeRange]:
    for start in range(0, seconds, EXPORT_SECONDS):
        yield _span(start, min(start + EXPORT_SECONDS, seconds))


def _span(start: int, end: int) -> TimeRange:
    return TimeRange(START_NS + start * SECOND_NS, START_NS + end * SECOND_NS)


def _into_lake(ahead: ReadAhead, lake: Lake, spans: Sequence[TimeRange]) -> int:
    values = 0
    for span, following in zip_longest(spans, spans[1:]):
        samples = ahead.export(HOST, span, following).samples
        lake.write("samples", HOST, span, samples)
        values += int(samples.num_rows)
    return values


def _download(http: _Http, bucket: str, spans: Sequence[TimeRange], values: int) -> int:
    for span in spans:
        for asked in questions(bucket, HOST, span):
            http.ask("GET", asked.path, headers={"Accept": ACCEPT})
    return values


class _ClientWriter:
    """The client's batching writer from points; a turn is so many ticks, and ends when they are flushed."""

    def __init__(self, settings: InfluxSettings, known: Sequence[Channel]) -> None:
        self._client = _their_client(settings)
        self._bucket = settings.bucket
        self._known = known
        self._ticks = 0
        self._rng = np.random.default_rng(0)

    def turn(self) -> int:
        rows = self._rng.lognormal(5, 3, (PEER_TICKS, len(self._known))).astype(np.float32).tolist()
        options = influxdb_client.WriteOptions(batch_size=1000, flush_interval=1000)
        with self._client.write_api(write_options=options) as writer:
            for row in rows:
                ts_ns = START_NS + self._ticks * TICK_NS
                writer.write(self._bucket, record=_points(self._known, row, ts_ns))
                self._ticks += 1
        return PEER_TICKS * len(self._known)

    def close(self) -> None:
        self._client.close()


def _points(known: Sequence[Channel], row: Sequence[float], ts_ns: int) -> list[influxdb_client.Point]:
    """A point a device, as hostsight has them."""
    points: dict[tuple[str, str], influxdb_client.Point] = {}
    for channel, value in zip(known, row, strict=True):
        key = (channel.subsystem, channel.device)
        if key not in points:
            point = influxdb_client.Point(channel.subsystem).tag("device", channel.device).tag("host", HOST)
            points[key] = point.time(ts_ns)
        points[key].field(channel.metric, value)
    return list(points.values())


def _their_client(settings: InfluxSettings) -> Any:
    return influxdb_client.InfluxDBClient(
        url=settings.url, token=read_token(settings), org=settings.org, timeout=120_000,
        verify_ssl=settings.verify, ssl_ca_cert=settings.ca_file or None,
    )  # fmt: skip


def _beside(what: str, ours: Tally, theirs: Tally) -> dict[str, float]:
    if not theirs.values:
        return {}
    return {f"{what}_client_values_per_s": theirs.rate, f"{what}_ratio_to_client": ours.rate / theirs.rate}


def budgets(results: dict[str, object]) -> dict[str, object]:
    """Each figure with a limit: what was measured, and whether it keeps to it; null where it was not measured."""
    return {
        name: {sense: limit, "measured": results.get(name), "met": _met(results.get(name), limit, sense)}
        for name, (limit, sense) in BUDGETS.items()
    }


def _met(measured: object, limit: float, sense: str) -> bool | None:
    if not isinstance(measured, float):
        return None
    return measured >= limit if sense == "least" else measured <= limit

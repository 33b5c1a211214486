"""Samples by InfluxQL in MessagePack, which a server answers several times faster than Flux with a pivot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from hostsight.errors import StoreUnavailableError
from hostsight.timerange import TimeRange
from ingest.influx.client import InfluxClient
from ingest.influx.names import quote_name
from ingest.influx.packed import columns_of, results
from ingest.influx.rows import Rows

ACCEPT = "application/x-msgpack"
_CHUNK_ROWS = 1000


class Question(NamedTuple):
    """Path of a request, and how many statements it has."""

    path: str
    statements: int


def question(bucket: str, host: str, span: TimeRange, measurements: Sequence[str]) -> Question:
    """A row a device and tick, device after device."""
    database, _, policy = bucket.partition("/")
    name = "'" + quote_name(host).replace("\\", "\\\\").replace("'", "\\'") + "'"
    where = f"WHERE host = {name} AND time >= {span.start_ns} AND time < {span.end_ns}"
    selects = [
        f'SELECT *::field FROM "{one}" {where} GROUP BY device'  # noqa: S608  # a quoted name and numbers
        for one in measurements
    ]
    asked = {
        "db": database,
        "q": ";".join(selects),
        "epoch": "ns",
        "chunked": "true",
        "chunk_size": str(_CHUNK_ROWS),
    }
    return Question(f"/query?{urlencode(asked | ({'rp': policy} if policy else {}))}", len(selects))


def answer(client: InfluxClient, asked: Question) -> Iterator[Rows]:
    """What the server answers, a thousand rows at a time.

    Raises StoreUnavailableError where not all statements were run, StorageError for what is no sample.
    """
    answered: set[int] = set()
    for result in results(client.stream(asked.path, ACCEPT)):
        if result.error:
            raise _incomplete(client, result.error)
        answered.add(result.statement_id)
        for series in result.series:
            ts, fields = columns_of(series)
            yield Rows(series.name, series.tags.get("device") or None, ts, fields)
    if answered != set(range(asked.statements)):
        raise _incomplete(client, "it ended too early")


def _incomplete(client: InfluxClient, words: str) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"InfluxDB at {client.settings.url} did not answer a query to its end ({words}); it is asked again"
    )

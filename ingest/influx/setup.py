"""Making a server ready: the bucket with its retention and, for clients of 1.x, the names by which they find it.

What exists is left as it is: a shorter retention would delete telemetry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

from hostsight.errors import HostsightError, StoreUnavailableError
from hostsight.timerange import format_duration
from ingest.influx.client import Answer, InfluxClient, no_organisation, unauthorised
from ingest.influx.version import identify

DEFAULT_RETENTION_POLICY = "autogen"


def set_up(client: InfluxClient) -> Iterator[str]:
    """A sentence for each thing done or found done. Raises StoreUnavailableError with what stands in the way."""
    version = identify(client)
    if version.obstacle:
        raise StoreUnavailableError(version.obstacle)
    yield from _set_up_v1(client) if version.major == 1 else _set_up_v2(client)


def _set_up_v2(client: InfluxClient) -> Iterator[str]:
    settings = client.settings
    name, seconds = settings.bucket, round(settings.retention)
    org = _organisation(client)
    found = _get(client, f"/api/v2/buckets?{urlencode({'orgID': org, 'name': name})}").get("buckets", [])
    if found:
        bucket = found[0]
        kept = sum(rule.get("everySeconds", 0) for rule in bucket.get("retentionRules", []))
        yield f"bucket '{name}' exists and {_keeps(kept)}"
    else:
        rules = [{"type": "expire", "everySeconds": seconds}] if seconds else []
        bucket = _post(client, "/api/v2/buckets", {"orgID": org, "name": name, "retentionRules": rules})
        yield f"bucket '{name}' was made and {_keeps(seconds)}"
    yield _map_v1(client, org, str(bucket["id"]))


def _map_v1(client: InfluxClient, org: str, bucket: str) -> str:
    """InfluxQL finds a bucket by database and retention policy; newer servers map these by themselves."""
    database, _, policy = client.settings.bucket.partition("/")
    policy = policy or DEFAULT_RETENTION_POLICY
    known = (
        _get(client, f"/api/v2/dbrps?{urlencode({'orgID': org, 'bucketID': bucket})}").get("content") or []
    )
    if known:
        return f"InfluxQL finds it as database '{known[0]['database']}'"
    mapping = {"orgID": org, "bucketID": bucket, "database": database, "retention_policy": policy, "default": True}  # fmt: skip
    _post(client, "/api/v2/dbrps", mapping)
    return f"InfluxQL finds it from now on as database '{database}'"


def _organisation(client: InfluxClient) -> str:
    name = client.settings.org
    found = _get(client, f"/api/v2/orgs?{urlencode({'org': name})}").get("orgs", [])
    if not found or not name:  # without a name it lists them all
        raise no_organisation(client.settings)
    return str(found[0]["id"])


def _set_up_v1(client: InfluxClient) -> Iterator[str]:
    database, _, policy = client.settings.bucket.partition("/")
    policy = policy or DEFAULT_RETENTION_POLICY
    if database not in _influxql(client, "SHOW DATABASES"):
        _influxql(client, f"CREATE DATABASE {_name(database)}")
        yield f"database '{database}' was made"
    else:
        yield f"database '{database}' exists"
    if policy in _influxql(client, f"SHOW RETENTION POLICIES ON {_name(database)}"):
        yield f"its retention policy '{policy}' exists and is left as it is"
        return
    seconds = round(client.settings.retention)
    length = f"{seconds}s" if seconds else "INF"
    _influxql(
        client,
        f"CREATE RETENTION POLICY {_name(policy)} ON {_name(database)} DURATION {length} REPLICATION 1",
    )
    yield f"its retention policy '{policy}' was made and {_keeps(seconds)}"


def _influxql(client: InfluxClient, statement: str) -> list[str]:
    """First column of the answer to one InfluxQL statement."""
    answer = client.ask("POST", f"/query?q={quote(statement)}")
    document = _document(client, answer)
    for result in document.get("results", []):
        if "error" in result:
            raise StoreUnavailableError(
                f"InfluxDB at {client.settings.url} does not make the database ({result['error']}); make it by hand"
            )
    series = [one for result in document.get("results", []) for one in result.get("series", [])]
    return [str(row[0]) for one in series for row in one.get("values", [])]


def _name(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _keeps(seconds: int) -> str:
    return f"keeps points for {format_duration(seconds)}" if seconds else "keeps points for ever"


def _get(client: InfluxClient, path: str) -> dict[str, Any]:
    return _document(client, client.ask("GET", path), missing_ok=True)


def _post(client: InfluxClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    return _document(client, client.ask("POST", path, json.dumps(body).encode()))


def _document(client: InfluxClient, answer: Answer, *, missing_ok: bool = False) -> dict[str, Any]:
    """The answer's JSON; nothing for 404 where that only means that there is none."""
    if answer.status < 300:
        return answer.document()
    if answer.status == 404 and missing_ok:
        return {}
    raise _refusal(client, answer)


def _refusal(client: InfluxClient, answer: Answer) -> HostsightError:
    where = f"InfluxDB at {client.settings.url}"
    if answer.status == 401:
        if client.ask("GET", "/api/v2/setup").document().get("allowed") is True:
            return StoreUnavailableError(
                f"{where} is new and has no user yet; make one with `influx setup`, or in its web page, and run this again"
            )
        return StoreUnavailableError(unauthorised(client.settings, answer.words), status=401)
    if answer.status == 403:
        return StoreUnavailableError(
            f"{where} lets this token make no bucket ({answer.words}); run it with a token of more rights, or make bucket '{client.settings.bucket}' by hand",
            status=403,
        )
    return StoreUnavailableError(f"{where} answers {answer.status}: {answer.words}", status=answer.status)

"""`store setup` and `store check` against real servers, and against what only looks like one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.main import main
from hostsight.clock import FakeClock, SystemClock
from hostsight.errors import StoreUnavailableError
from hostsight.settings import Duration, InfluxSettings, Secret
from ingest.influx.check import Finding, check
from ingest.influx.client import InfluxClient
from ingest.influx.setup import set_up
from ingest.influx.version import identify
from tests.influx.conftest import bucket_name
from tests.influx.pretender import pretender
from tests.influx.server import Server


def look(settings: InfluxSettings, clock: SystemClock | FakeClock | None = None) -> dict[str, Finding]:
    with InfluxClient(settings) as client:
        return {one.subject: one for one in check(client, clock or SystemClock())}


def make(settings: InfluxSettings) -> list[str]:
    with InfluxClient(settings) as client:
        return list(set_up(client))


def fresh(server: Server, **changes: object) -> InfluxSettings:
    return server.settings(bucket_name(), **changes)


def test_setup_makes_a_bucket_with_its_retention_once(v2: Server) -> None:
    settings = fresh(v2, retention=Duration(7 * 86_400))
    missing = look(settings)
    assert [one.subject for one in missing.values() if not one.ok] == ["access"]
    assert f"has no bucket '{settings.bucket}'" in missing["access"].sentence
    assert make(settings) == [
        f"bucket '{settings.bucket}' was made and keeps points for 7d",
        f"InfluxQL finds it as database '{settings.bucket}'",
    ]
    assert all(one.ok for one in look(settings).values())
    assert (
        make(fresh_copy(settings, 86_400))[0] == f"bucket '{settings.bucket}' exists and keeps points for 7d"
    )


def fresh_copy(settings: InfluxSettings, retention: float) -> InfluxSettings:
    return InfluxSettings(
        url=settings.url, bucket=settings.bucket, token=settings.token, retention=Duration(retention)
    )


def test_setup_makes_database_and_retention_policy_of_1_8(v1: Server) -> None:
    database = f'v1 "{bucket_name()}"'
    settings = v1.settings(f"{database}/two weeks", retention=Duration(14 * 86_400))
    found = look(settings)
    assert found["version"].ok
    assert "2.x-compatible API" in found["version"].sentence
    assert [one.subject for one in found.values() if not one.ok] == ["access"]
    assert "`hostsight store setup`" in found["access"].sentence
    assert make(settings) == [
        f"database '{database}' was made",
        "its retention policy 'two weeks' was made and keeps points for 14d",
    ]
    assert all(one.ok for one in look(settings).values())
    assert make(settings)[1] == "its retention policy 'two weeks' exists and is left as it is"


def test_a_new_server_is_told_from_a_wrong_token(
    tmp_path_factory: pytest.TempPathFactory, v2: Server
) -> None:
    server = Server(tmp_path_factory.mktemp("new")).start()
    try:
        assert "is new and has no user yet" in look(server.settings())["access"].sentence
        with pytest.raises(StoreUnavailableError, match="is new and has no user yet"):
            make(server.settings())
    finally:
        server.kill()
    wrong = v2.settings(token=Secret("wrong"))
    assert "does not accept the token" in look(wrong)["access"].sentence
    with pytest.raises(StoreUnavailableError, match="does not accept the token"):
        make(wrong)


def test_a_missing_token_is_told_once_and_where_one_is_set(v2: Server, tmp_path: Path) -> None:
    missing = v2.settings(token=Secret(""))
    found = look(missing)
    assert list(found) == ["server", "version", "clock", "access"]
    assert found["access"].sentence == (
        f"InfluxDB at {v2.url} wants a token, and none is set; put one into HOSTSIGHT_INFLUX_TOKEN,"
        " or into a file that [influx] token_file names"
    )
    with pytest.raises(StoreUnavailableError, match="wants a token, and none is set"):
        make(missing)
    empty = tmp_path / "token"
    empty.write_text("\n")
    sentence = look(v2.settings(token=Secret(""), token_file=str(empty)))["access"].sentence
    assert f"'{empty}' that [influx] token_file names is empty" in sentence


@pytest.mark.parametrize("org", ["another", ""])
def test_a_wrong_organisation_is_told_once_with_its_own_remedy(v2: Server, org: str) -> None:
    settings = fresh(v2)
    make(settings)
    wrong = v2.settings(settings.bucket, org=org)
    found = look(wrong)
    assert found["access"].sentence == (
        f"InfluxDB at {v2.url} has no organisation '{org}' for this token; correct [influx] org, or use a token that may see it"
    )
    assert not {"read", "write"} & found.keys()
    with pytest.raises(StoreUnavailableError, match=r"correct \[influx\] org"):
        make(wrong)


def test_a_token_that_may_only_read_is_told_apart(v2: Server) -> None:
    settings = fresh(v2)
    make(settings)
    with InfluxClient(settings) as client:
        org = client.ask("GET", "/api/v2/orgs").document()["orgs"][0]["id"]
        (bucket,) = client.ask(
            "GET", f"/api/v2/buckets?name={settings.bucket.replace(' ', '%20')}"
        ).document()["buckets"]
        right = {"action": "read", "resource": {"type": "buckets", "id": bucket["id"], "orgID": org}}
        body = json.dumps({"orgID": org, "permissions": [right]}).encode()
        token = client.ask("POST", "/api/v2/authorizations", body).document()["token"]
    reader = v2.settings(settings.bucket, token=Secret(token))
    found = look(reader)
    assert found["read"].ok
    assert not found["write"].ok
    with pytest.raises(StoreUnavailableError):
        make(v2.settings("another", token=Secret(token)))


def test_clocks_that_differ_are_told(v2: Server) -> None:
    settings = fresh(v2)
    behind = FakeClock(SystemClock().wall_ns() - 90 * 10**9)
    finding = look(settings, behind)["clock"]
    assert not finding.ok
    assert "ahead of this machine's" in finding.sentence
    assert look(settings)["clock"].ok


def test_an_unreachable_server_is_named(v2: Server) -> None:
    found = look(v2.settings(url="http://127.0.0.1:9"))
    assert list(found) == ["server"]
    assert found["server"].sentence.startswith("InfluxDB at http://127.0.0.1:9 cannot be reached (")


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (200, {}, b'{"version": "3.4.1", "revision": "x", "process_id": "y"}'),
        (200, {"X-Influxdb-Version": "3.4.1", "X-Influxdb-Build": "Core"}, b""),
        (401, {}, b""),
    ],
)
def test_version_3_is_recognised_and_told_in_one_sentence(
    status: int, headers: dict[str, str], body: bytes
) -> None:
    with pretender(status, headers, body) as url:
        settings = InfluxSettings(url=url)
        finding = look(settings)["version"]
        assert not finding.ok
        assert "has no Flux" in finding.sentence
        assert finding.sentence.count(". ") == 0
        with pytest.raises(StoreUnavailableError, match="use InfluxDB 2"):
            make(settings)


def test_a_server_without_flux_is_not_told_to_lack_a_bucket() -> None:
    with pretender(404, {}, b"") as url, InfluxClient(InfluxSettings(url=url)) as client:
        with pytest.raises(StoreUnavailableError, match="`hostsight store check` says what it is"):
            client.rows("buckets()")
        with pytest.raises(StoreUnavailableError, match="`hostsight store check` says what it is"):
            client.write(b"a b=1")


def test_a_server_older_than_1_8_is_refused() -> None:
    with pretender(204, {"X-Influxdb-Version": "1.6.7", "X-Influxdb-Build": "OSS"}, b"") as url:
        assert (
            look(InfluxSettings(url=url))["version"].sentence
            == "this is InfluxDB 1.6.7, which has no 2.x API; use InfluxDB 2.x, or 1.8 at least"
        )


def test_something_else_at_the_address_is_told() -> None:
    with pretender(200, {"Server": "nginx"}, b"<html>") as url:
        assert "is no InfluxDB; correct [influx] url" in look(InfluxSettings(url=url))["server"].sentence


def test_versions_are_read(v2: Server, v1: Server) -> None:
    for server, major in ((v2, 2), (v1, 1)):
        with InfluxClient(server.settings()) as client:
            assert identify(client).major == major


def test_the_commands_make_the_store_ready_and_say_so(
    v2: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = fresh(v2)
    monkeypatch.setenv("INFLUXDB_V2_URL", settings.url)
    monkeypatch.setenv("INFLUXDB_V2_TOKEN", settings.token.reveal())
    monkeypatch.setenv("HOSTSIGHT_INFLUX_BUCKET", settings.bucket)
    assert main(["store", "check", "--json"]) == 3
    found = {one["subject"]: one["ok"] for one in json.loads(capsys.readouterr().out)}
    assert found == {"server": True, "version": True, "clock": True, "access": False}
    assert main(["store", "setup"]) == 0
    assert "keeps points for 30d" in capsys.readouterr().out
    assert main(["store", "check"]) == 0
    assert settings.token.reveal() not in capsys.readouterr().out

"""A token file that gets another token while hostsight runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import StoreUnavailableError
from hostsight.settings import Secret
from ingest.influx.client import InfluxClient
from ingest.influx.hosts import first_stamp
from tests.influx.conftest import new_bucket
from tests.influx.server import TOKEN, Server


def test_one_client_writes_and_reads_once_its_token_file_is_mended(v2: Server, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("no-token-any-more\n")
    bucket = new_bucket(v2).bucket
    with InfluxClient(v2.settings(bucket, token=Secret(""), token_file=str(file))) as client:
        with pytest.raises(StoreUnavailableError, match="does not accept the token"):
            client.write(b"hostsight_ticks,host=a dt=0.1 1700000000000000000\n")
        with pytest.raises(StoreUnavailableError, match="does not accept the token"):
            first_stamp(client, "a")
        file.write_text(f"{TOKEN}\n")
        assert first_stamp(client, "a") is None
        client.write(b"hostsight_ticks,host=a dt=0.1 1700000000000000000\n")
        file.unlink()
        assert first_stamp(client, "a") == 1_700_000_000 * SECOND_NS
        assert client.ask("GET", "/api/v2/buckets").status == 200

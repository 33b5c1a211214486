"""Certificates: checked by the system's authorities or a file's, or not at all."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from hostsight.errors import SettingsError, StoreUnavailableError
from hostsight.settings import InfluxSettings
from ingest.influx.client import InfluxClient
from ingest.influx.version import identify
from tests.influx.pretender import pretender

VERSION = {"X-Influxdb-Version": "2.8.0", "X-Influxdb-Build": "OSS"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed one for 127.0.0.1, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate of this test")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", str(path) + ".crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


def version(certificate: Path, **changes: object) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with pretender(204, VERSION, b"", tls=context) as url:
        settings = InfluxSettings(url=url, **changes)  # type: ignore[arg-type]  # settings that exist
        with InfluxClient(settings) as client:
            return identify(client).text


def test_a_certificate_that_nobody_vouches_for_is_refused_with_the_reason(certificate: Path) -> None:
    with pytest.raises(
        StoreUnavailableError, match=r"not trusted \(self-signed certificate\); .* \[influx\] ca_file"
    ):
        version(certificate)


def test_ca_file_vouches_for_a_server(certificate: Path) -> None:
    assert version(certificate, ca_file=f"{certificate}.crt") == "2.8.0"


def test_the_check_can_be_turned_off(certificate: Path) -> None:
    assert version(certificate, verify=False) == "2.8.0"


def test_a_ca_file_that_is_missing_is_named() -> None:
    with pytest.raises(SettingsError, match="ca_file = '/no/such' is not a file"):
        InfluxClient(InfluxSettings(ca_file="/no/such"))

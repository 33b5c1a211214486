"""A real InfluxDB on a free loopback port, in a folder of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from hostsight.settings import InfluxSettings, Secret

BINARIES = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hostsight" / "influxdb"
V2 = "2.8.0"
V1 = "1.8.10"
TOKEN = "a-token-of-the-tests"
READY_SECONDS = 60


class Server:
    """One server process; `kill`, `stop` and `start` it on the same folder and port as often as needed."""

    def __init__(self, folder: Path, version: str = V2) -> None:
        self.folder = folder
        self.version = version
        self.port = _free_port()
        self.log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, *, wait: bool = True) -> Server:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        if wait:
            self._await_ready()
        return self

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(60)
            self._process = None

    def setup(self, bucket: str = "hostsight") -> InfluxSettings:
        """Make a new server usable; the settings with which it is used."""
        if self.version.startswith("2"):
            body = {"username": "tests", "password": "tests-tests", "org": "hostsight", "bucket": bucket, "token": TOKEN}  # fmt: skip
            self.post("/api/v2/setup", json.dumps(body).encode())
        return self.settings(bucket)

    def settings(self, bucket: str = "hostsight", **changes: object) -> InfluxSettings:
        chosen: dict[str, object] = {"url": self.url, "bucket": bucket, "token": Secret(TOKEN), **changes}
        return InfluxSettings(**chosen)  # type: ignore[arg-type]  # the tests name settings that exist

    def post(self, path: str, body: bytes) -> bytes:
        request = urllib.request.Request(
            self.url + path, body, {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return bytes(answer.read())

    def _command(self) -> list[str]:
        binary = str(BINARIES / f"influxd-{self.version}")
        if self.version.startswith("2"):
            return [
                binary, "--bolt-path", f"{self.folder}/b.bolt", "--engine-path", f"{self.folder}/engine",
                "--sqlite-path", f"{self.folder}/s.sqlite", "--http-bind-address", f"127.0.0.1:{self.port}",
                "--reporting-disabled", "--log-level", "error",
            ]  # fmt: skip
        (self.folder / "influxdb.conf").write_text(_V1_CONFIG.format(folder=self.folder, port=self.port))
        return [binary, "run", "-config", f"{self.folder}/influxdb.conf"]

    def _await_ready(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=2) as answer:
                    if json.load(answer)["status"] == "pass":
                        return
            except (OSError, ValueError):
                pass
            assert self._process is not None
            assert self._process.poll() is None, self.log.read_text("utf-8", "replace")[-2000:]
            time.sleep(0.05)
        raise AssertionError(f"no answer from {self.url}: {self.log.read_text('utf-8', 'replace')[-2000:]}")


_V1_CONFIG = """\
reporting-disabled = true
bind-address = "127.0.0.1:0"
[meta]
dir = "{folder}/meta"
[data]
dir = "{folder}/data"
wal-dir = "{folder}/wal"
[http]
bind-address = "127.0.0.1:{port}"
flux-enabled = true
[logging]
level = "error"
"""


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])

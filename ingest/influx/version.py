"""Which InfluxDB a server is, and what hostsight can do with it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hostsight.errors import StoreUnavailableError
from ingest.influx.client import InfluxClient

_NUMBERS = re.compile(r"v?(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Version:
    """`text` is the server's own word; a build that does not know its version is told by what it offers."""

    text: str
    major: int
    minor: int

    @property
    def obstacle(self) -> str | None:
        """One sentence on why this server cannot be the store; None where it can."""
        if self.major >= 3:
            return (
                f"this is InfluxDB {self.text}: it takes hostsight's writes, but has no Flux, so neither `hostsight serve --store influx`"
                " nor an import can read them back; use InfluxDB 2.x"
            )
        if (self.major, self.minor) < (1, 8):
            return f"this is InfluxDB {self.text}, which has no 2.x API; use InfluxDB 2.x, or 1.8 at least"
        return None


def identify(client: InfluxClient) -> Version:
    """Raises StoreUnavailableError where nothing answers, or something that is no InfluxDB."""
    answer = client.ask("GET", "/ping")
    text = answer.headers.get("x-influxdb-version") or str(answer.document().get("version", ""))
    if found := _NUMBERS.match(text):
        return Version(text.removeprefix("v"), int(found[1]), int(found[2]))
    if answer.status == 401:  # 3.x alone asks for a token here
        return Version("3", 3, 0)
    if "x-influxdb-build" not in answer.headers:
        raise StoreUnavailableError(
            f"what answers at {client.settings.url} is no InfluxDB; correct [influx] url",
            status=answer.status,
        )
    modern = client.ask("GET", "/api/v2/setup").status == 200
    return Version("2.x", 2, 0) if modern else Version("1.x", 1, 8)

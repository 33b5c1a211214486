"""Episode counts and newest scores as a file for node_exporter's textfile collector."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow.compute as pc

from hostsight.clock import SECOND_NS, Clock
from hostsight.errors import HostsightError
from hostsight.files import write_atomic
from hostsight.folders import DataFolder
from hostsight.timerange import TimeRange
from ingest.lake import Lake
from jobs.boundary import tell
from jobs.schedule import MATERIALISE
from jobs.watermarks import positions
from migrations import open_state
from models.episode_state import SEVERITIES
from sql.schemas import SCORES

DAY_NS = 86_400 * SECOND_NS
NEWEST_NS = 10 * SECOND_NS
_READABLE = 0o644
"""node_exporter runs as a user of its own."""

Row = tuple[Mapping[str, str], float]


class TextfileJob:
    """`run` never raises: what fails is told on stderr once, until it works again."""

    def __init__(self, path: Path, data: DataFolder, clock: Clock) -> None:
        self._path = path
        self._data = data
        self._clock = clock
        self._error = ""

    def run(self) -> None:
        try:
            write_atomic(
                self._path, self._text().encode(), mode=_READABLE, remedy="correct [alerts] textfile"
            )
            self._error = ""
        except (HostsightError, OSError, sqlite3.Error) as error:
            if str(error) != self._error:
                tell(error)
            self._error = str(error)

    def _text(self) -> str:
        connection = open_state(self._data.state_db)
        try:
            return exposition(connection, Lake(self._data), self._clock.wall_ns())
        finally:
            connection.close()


def exposition(connection: sqlite3.Connection, lake: Lake, now_ns: int) -> str:
    """The text format of Prometheus; muted episodes are not counted."""
    reached = positions(connection, MATERIALISE)
    hosts = sorted(reached)
    scores, tails = _scores(lake, reached)
    families = (
        _family(
            "episodes_open",
            "Episodes that go on, without muted ones.",
            _counts(connection, hosts, "state = 'open'", 0),
        ),
        _family(
            "episodes_last_day",
            "Episodes that opened in the last 24 hours, without muted ones.",
            _counts(connection, hosts, "opened_ns >= ?", now_ns - DAY_NS),
        ),
        _family("score", "Score of the newest window; fused: -log10 of its rarity.", scores),
        _family("tail_probability", "How rare the newest window is among healthy ones.", tails),
        _family(
            "watermark_seconds",
            "End of the newest window that was judged, since the epoch.",
            [({"host": host}, reached[host] / SECOND_NS) for host in hosts],
        ),
        _family(
            "alerts_waiting",
            "Messages that the receiver has not taken yet.",
            [({"receiver": row["receiver"]}, row["n"]) for row in connection.execute(_WAITING)],
        ),
    )
    return "".join(families)


_WAITING = "SELECT receiver, sum(state = 'waiting') AS n FROM alerts GROUP BY receiver ORDER BY receiver"


def _counts(connection: sqlite3.Connection, hosts: Iterable[str], where: str, since_ns: int) -> list[Row]:
    """One a host and severity, zeros too."""
    rows = connection.execute(
        f"SELECT host, severity, count(*) AS n FROM episodes WHERE rule_id IS NULL AND false_alarm_id IS NULL AND {where} GROUP BY host, severity",  # noqa: S608  # from this module alone
        (since_ns,) if "?" in where else (),
    )
    found = {(row["host"], row["severity"]): float(row["n"]) for row in rows}
    return [
        ({"host": host, "severity": severity}, found.get((host, severity), 0.0))
        for host in hosts
        for severity in SEVERITIES
    ]


def _scores(lake: Lake, reached: Mapping[str, int]) -> tuple[list[Row], list[Row]]:
    """Of the newest window of each host that is being judged: (scores, tail probabilities)."""
    scores, tails = list[Row](), list[Row]()
    for host, end_ns in sorted(reached.items()):
        table = lake.read("scores", host, TimeRange(end_ns - NEWEST_NS, end_ns), SCORES)
        newest = table.filter(pc.equal(table.column("window_end"), pc.max(table.column("window_end"))))
        for row in newest.drop_columns(["window_end"]).to_pylist():
            labels = {"host": host, "detector": row["detector"]}
            scores.append((labels, row["score"]))
            tails.append((labels, row["tail_probability"]))
    return scores, tails


def _family(name: str, meaning: str, rows: Iterable[Row]) -> str:
    lines = [f"hostsight_{name}{{{_labels(labels)}}} {value:.14g}\n" for labels, value in rows]
    return f"# HELP hostsight_{name} {meaning}\n# TYPE hostsight_{name} gauge\n{''.join(lines)}"


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

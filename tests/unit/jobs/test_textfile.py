from __future__ import annotations

import re
import sqlite3
import stat

import pyarrow as pa
import pytest

from hostsight.clock import SECOND_NS, FakeClock
from hostsight.folders import DataFolder
from hostsight.timerange import TimeRange
from ingest.lake import Lake
from jobs.textfile import TextfileJob, exposition
from jobs.watermarks import advance
from sql.schemas import SCORES

T0 = 1_700_000_000 * SECOND_NS


def judged(data: DataFolder, state: sqlite3.Connection, host: str) -> Lake:
    """Two windows of two detectors, the newest at T0 + 2 s."""
    rows = [
        {"window_end": T0 + second * SECOND_NS, "host": host, "detector": name, "score": second + 0.5,
         "tail_probability": 10.0**-second, "model": "m1"}
        for second in (1, 2)
        for name in ("fused", "zscore")
    ]  # fmt: skip
    lake = Lake(data)
    lake.write("scores", host, TimeRange(T0, T0 + 2 * SECOND_NS), pa.Table.from_pylist(rows, SCORES))
    advance(state, "materialise", host, T0 + 2 * SECOND_NS, T0)
    return lake


def episode(state: sqlite3.Connection, number: int, opened_ns: int, word: str, rule: int | None) -> None:
    state.execute("INSERT OR IGNORE INTO models VALUES ('m1', 'gpu01', 'live', 1, 0, 1, 178, 20, 20, 'test')")
    state.execute(
        """INSERT INTO episodes VALUES (?, 'gpu01', ?, ?, ?, iif(? = 'closed', 1, NULL), 'warning', 1, 1, 'cpu', 'host',
        'busy_percent', NULL, '', 'm1', 1, NULL, ?, NULL, NULL, '')""",
        (number, word, opened_ns, opened_ns, word, rule),
    )


def test_newest_scores_and_loud_episodes_are_told(data: DataFolder, state: sqlite3.Connection) -> None:
    lake = judged(data, state, "gpu01")
    now_ns = T0 + 90_000 * SECOND_NS
    episode(state, 1, T0, "open", None)
    episode(state, 2, now_ns - 5, "closed", None)
    episode(state, 3, now_ns - 4, "open", 9)
    lines = exposition(state, lake, now_ns).splitlines()
    assert 'hostsight_episodes_open{host="gpu01",severity="warning"} 1' in lines
    assert 'hostsight_episodes_last_day{host="gpu01",severity="warning"} 1' in lines
    assert 'hostsight_episodes_open{host="gpu01",severity="critical"} 0' in lines
    assert 'hostsight_score{host="gpu01",detector="fused"} 2.5' in lines
    assert 'hostsight_tail_probability{host="gpu01",detector="zscore"} 0.01' in lines
    assert 'hostsight_watermark_seconds{host="gpu01"} 1700000002' in lines
    assert sum(line.startswith("hostsight_score{") for line in lines) == 2


def test_every_line_is_of_the_text_format_whatever_a_host_is_called(
    data: DataFolder, state: sqlite3.Connection
) -> None:
    lake = judged(data, state, 'g"p\\u\n01')
    text = exposition(state, lake, T0)
    sample = re.compile(r'hostsight_\w+\{\w+="(\\.|[^"\\\n])*"(,\w+="(\\.|[^"\\\n])*")*\} [0-9.e+-]+')
    assert 'host="g\\"p\\\\u\\n01"' in text
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) hostsight_\w+ .+", line) or sample.fullmatch(line), line


def test_the_file_may_be_read_by_others_and_leaves_nothing_beside_it(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    folder = data.root / "textfile"
    folder.mkdir()
    TextfileJob(folder / "hostsight.prom", data, clock).run()
    (found,) = folder.iterdir()
    assert stat.S_IMODE(found.stat().st_mode) == 0o644
    assert found.read_text().startswith("# HELP hostsight_episodes_open ")


def test_what_keeps_the_file_from_being_written_is_told_once(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    job = TextfileJob(data.root / "gone" / "hostsight.prom", data, clock)
    job.run()
    job.run()
    assert capsys.readouterr().err.count("No such file or directory while writing") == 1

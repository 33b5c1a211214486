from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.main import main


def table(folder: Path, name: str, start: int, burst: slice | None = None) -> Path:
    """300 rows, a minute apart, of three columns of numbers and one of names."""
    values = 10 + np.random.default_rng(start).normal(size=(300, 3))
    if burst is not None:
        values[burst] += 20
    ts = pa.array((start + np.arange(300)) * 60, pa.timestamp("s"))
    columns = {"cpu_u": values[:, 0], "disk_u": values[:, 1], "eth0_rx": values[:, 2]}
    pq.write_table(pa.table({"ts": ts, "rack": ["r1"] * 300, **columns}), folder / f"{name}.parquet")
    return folder / f"{name}.parquet"


def test_analyze_writes_its_files_and_tells_the_episodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, test = table(tmp_path, "train", 0), table(tmp_path, "test", 300, slice(200, 230))
    out = tmp_path / "out"
    words = ["--train", str(train), "--test", str(test), "--out", str(out), "--exclude", "rack", "--json"]
    assert main(["analyze", *words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == 300
    assert document["window_seconds"] == [60]
    assert document["episodes"][0]["start"] >= "1970-01-01T08:20:00.000Z"
    assert pq.read_table(out / "scores.parquet").column("ts").type == pa.timestamp("ms")
    assert sorted(path.name for path in out.iterdir()) == [
        "contributions.parquet",
        "episodes.json",
        "scores.parquet",
    ]


def test_analyze_names_the_column_that_holds_no_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(table(tmp_path, "train", 0))
    assert main(["analyze", "--train", path, "--test", path, "--out", str(tmp_path / "out")]) == 2
    assert "--exclude rack" in capsys.readouterr().err


def test_a_map_that_names_no_column_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, named = table(tmp_path, "a", 0), tmp_path / "map.toml"
    named.write_text('[channels.disk_uu]\nunit = "B"\n[channels."eth*"]\nunit = "B/s"\n')
    words = ["import", str(path), "--exclude", "rack", "--map", str(named)]
    assert main(["--data", str(tmp_path / "data"), *words]) == 0
    said = capsys.readouterr().err
    assert "map.toml: no column is named by 'disk_uu' (did you mean 'disk_u'?)" in said
    assert "eth" not in said.replace(str(tmp_path), "")


def test_a_folder_that_cannot_be_written_is_one_of_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(table(tmp_path, "train", 0))
    words = ["--train", path, "--test", path, "--exclude", "rack", "--out", "/proc/out"]
    assert main(["analyze", *words]) == 1
    said = capsys.readouterr().err
    assert "creating /proc/out; check that place, or choose another folder with --out" in said
    assert "learning" not in said


def test_an_import_that_cannot_begin_leaves_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    assert main(["--data", str(data), "import", str(tmp_path / "gone.csv")]) == 2
    assert "gone.csv cannot be read (No such file or directory)" in capsys.readouterr().err
    assert not data.exists()


def test_a_host_without_a_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["import", str(table(tmp_path, "a", 0)), "--exclude", "rack", "--host", " "]
    assert main(["--data", str(tmp_path / "data"), *words]) == 2
    assert "has no name; give it one with --host" in capsys.readouterr().err


def test_import_brings_a_file_into_the_lake_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, data = str(table(tmp_path, "a", 0)), str(tmp_path / "data")
    words = ["--data", data, "import", path, "--host", "db07", "--exclude", "rack", "--json"]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["samples"] == 900
    assert document["from"] == "1970-01-01T00:00:00.000Z"
    assert (
        main(
            ["--data", data, "sql", "SELECT count(*) n FROM channels WHERE host = 'db07'", "--format", "json"]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out) == [{"n": 3}]
    assert main(words) == 2
    assert "--host" in capsys.readouterr().err

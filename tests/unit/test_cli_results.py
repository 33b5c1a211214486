from __future__ import annotations

import csv
import io
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.results import write_csv, write_json, write_parquet, write_table
from hostsight.errors import UsageError

NS = 1_700_000_000_123_456_789


@pytest.fixture
def result() -> pa.Table:
    return pa.table(
        {
            "ts": pa.array([NS, None], pa.timestamp("ns")),
            "zoned": pa.array([NS // 1000, NS // 1000], pa.timestamp("us", "Asia/Tokyo")),
            "channel_id": pa.array([2**63 - 1, 5], pa.int64()),
            "value": pa.array([float("nan"), 1.5], pa.float64()),
            "total": pa.array([Decimal(12), None], pa.decimal128(38, 0)),
            "name": ['a "quoted", [red]\x1b[2J', None],
            "list": [[1, 2], []],
            "good": [True, False],
        }
    )


def test_json_keeps_digits_and_has_no_nan(result: pa.Table, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(result)
    first, second = json.loads(capsys.readouterr().out)
    assert first == {
        "ts": "2023-11-14T22:13:20.123456789Z",
        "zoned": "2023-11-14T22:13:20.123456Z",
        "channel_id": "9223372036854775807",
        "value": None,
        "total": 12,
        "name": 'a "quoted", [red]\x1b[2J',
        "list": [1, 2],
        "good": True,
    }
    assert (second["ts"], second["channel_id"], second["value"]) == (None, "5", 1.5)


def test_two_columns_of_one_name_both_reach_json(capsys: pytest.CaptureFixture[str]) -> None:
    write_json(pa.table([[1], [2]], names=["n", "n"]))
    assert json.loads(capsys.readouterr().out) == [{"n": 1, "n_2": 2}]


def test_no_rows_is_an_empty_list(result: pa.Table, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(result.slice(0, 0))
    assert json.loads(capsys.readouterr().out) == []


def test_csv_reads_back(result: pa.Table) -> None:
    out = io.StringIO()
    write_csv(result, out)
    first, second = csv.DictReader(io.StringIO(out.getvalue()))
    assert first == {
        "ts": "2023-11-14T22:13:20.123456789Z",
        "zoned": "2023-11-14T22:13:20.123456Z",
        "channel_id": "9223372036854775807",
        "value": "nan",
        "total": "12",
        "name": 'a "quoted", [red]\x1b[2J',
        "list": "[1,2]",
        "good": "true",
    }
    assert (second["ts"], second["name"], second["total"]) == ("", "", "")


def test_parquet_keeps_types_and_values(result: pa.Table) -> None:
    out = io.BytesIO()
    write_parquet(result, out)
    back = pq.read_table(io.BytesIO(out.getvalue()))
    assert back.schema.field("ts").type == pa.timestamp("ns")
    assert back.column("channel_id").to_pylist() == [2**63 - 1, 5]


def test_a_table_shows_data_literally(
    result: pa.Table, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(result)
    out = capsys.readouterr().out
    assert r'a "quoted", [red]\x1b[2J' in out
    assert "2023-11-14T22:13:20.123456789Z" in out


def test_times_within_lists_and_structs_keep_their_digits(capsys: pytest.CaptureFixture[str]) -> None:
    stamp = pa.timestamp("ns")
    table = pa.table(
        {
            "list": pa.array([[NS, None], None], pa.list_(stamp)),
            "struct": pa.array([{"t": NS, "n": 1}, None], pa.struct([("t", stamp), ("n", pa.int64())])),
        }
    )
    write_json(table)
    text = "2023-11-14T22:13:20.123456789Z"
    assert json.loads(capsys.readouterr().out) == [
        {"list": [text, None], "struct": {"t": text, "n": 1}},
        {"list": None, "struct": None},
    ]


def test_dates_beyond_python_s_years_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    days = pa.array([0, 10_000_000], pa.int32()).cast(pa.date32())
    write_json(pa.table({"day": days}))
    assert json.loads(capsys.readouterr().out) == [{"day": "1970-01-01"}, {"day": "29349-01-26"}]


def test_what_parquet_has_no_type_for_is_named() -> None:
    table = pa.table({"length": pa.array([(0, 1, 0)], pa.month_day_nano_interval())})
    with pytest.raises(UsageError, match=r"month_day_nano_interval.*--format json"):
        write_parquet(table, io.BytesIO())

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import SettingsError, UsageError
from hostsight.timerange import TimeRange
from ingest.naming import Naming, guess_subsystem, read_naming
from ingest.recording import RecordingStore, read_recording, read_recordings

NOON_NS = 1_769_860_800 * SECOND_NS


def csv(folder: Path, text: str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2026-01-31T12:00:00Z", "2026-01-31T12:01:00Z"),
        ("2026-01-31 12:00:00", "2026-01-31 12:01:00"),
        ("1769860800", "1769860860"),
        ("1769860800.0", "1769860860.0"),
        ("1769860800000", "1769860860000"),
        ("1769860800000000", "1769860860000000"),
        ("1769860800000000000", "1769860860000000000"),
    ],
)
def test_time_is_told_by_its_form_or_size(tmp_path: Path, first: str, second: str) -> None:
    recording = read_recording(csv(tmp_path, f"time,cpu\n{first},1\n{second},2.5\n"))
    assert recording.ts.tolist() == [NOON_NS, NOON_NS + 60 * SECOND_NS]
    assert recording.period_ns == 60 * SECOND_NS
    assert recording.values.tolist() == [[1.0], [2.5]]


def test_a_wide_table_leaves_out_what_is_excluded_and_keeps_gaps(tmp_path: Path) -> None:
    path = csv(tmp_path, "rack,when,a,b\nr1,1769860800,1,\nr1,1769860860,inf,true\n".replace("true", "4"))
    recording = read_recording(path, exclude=["rack"], time="when")
    assert recording.names == ("a", "b")
    assert np.isnan(recording.values[[1, 0], [0, 1]]).all()
    assert recording.values[1, 1] == 4


def test_a_long_table_becomes_a_row_a_time(tmp_path: Path) -> None:
    text = "ts,channel,value\n1769860860,b,3\n1769860800,a,1\n1769860800,b,2\n1769860860,c,9\n"
    recording = read_recording(csv(tmp_path, text), exclude=["c"])
    assert recording.ts.tolist() == [NOON_NS, NOON_NS + 60 * SECOND_NS]
    columns = dict(zip(recording.names, recording.values.T.tolist(), strict=True))
    assert columns["b"] == [2, 3]
    assert columns["a"][0] == 1
    assert np.isnan(columns["a"][1])


def test_parquet_keeps_the_type_of_its_stamps(tmp_path: Path) -> None:
    stamps = pa.array([NOON_NS // 1000, NOON_NS // 1000 + 1], pa.timestamp("us"))
    pq.write_table(pa.table({"ts": stamps, "x": [1, 2]}), tmp_path / "a.parquet")
    recording = read_recording(tmp_path / "a.parquet")
    assert recording.stamp == pa.timestamp("us")
    assert recording.ts.tolist() == [NOON_NS, NOON_NS + 1000]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("when,a\n1,2\n", "--time"),
        (
            "ts,a\nyesterday,2\n",
            "row 1 of column ts is 'yesterday', which is no time; write each as 2026-01-31T12",
        ),
        (
            "ts,a\n2026-01-31T12:00:00Z,2\n2026-01-31T12:01:00Z,2\n31/01/2026,2\n2026-01-31T12:03:00Z,2\n",
            "row 3 of column ts is '31/01/2026', which is no time, unlike '2026-01-31T12:00:00Z' in row 1",
        ),
        ("ts,a\n1769860800,1\n1769860860,1\nnoon,1\n", "row 3 of column ts is 'noon'"),
        ("ts,a\n1769860800,1\n,1\n", "row 2 of column ts has no time, one of 1; fill them in"),
        ("ts,a\ntrue,1\n", "column ts holds bool values and no times"),
        ("ts,a\n1769860800.5,1\ninf,1\n", "row 2 of column ts is inf, which is no time"),
        ("ts,a\n9999999999999999999,1\n", "beyond the year 2262"),
        ("ts,rack\n1769860800,r1\n", "row 1 of column rack is 'r1', which is no number; .* --exclude rack"),
        ("ts,a\n1769860800,1\n1769860801,\n1769860802,x\n", "row 3 of column a is 'x', which is no number"),
        ("ts\n1769860800\n", "no column of numbers"),
        ("ts,a\n", "has no rows"),
        ("ts,a\n1769860800,nan\n1769860860,inf\n", "no column of numbers"),
    ],
)
def test_what_cannot_be_understood_is_named_with_a_remedy(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_recording(csv(tmp_path, text))


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_wide_and_long_tables_keep_the_same_stamps(tmp_path: Path, zone: str | None) -> None:
    ts = pa.array([NOON_NS // 10**9, NOON_NS // 10**9 + 60], pa.timestamp("s", zone))
    pq.write_table(pa.table({"ts": ts, "a": [1.0, 2.0]}), tmp_path / "wide.parquet")
    pq.write_table(
        pa.table({"ts": ts, "channel": ["a", "a"], "value": [1.0, 2.0]}), tmp_path / "long.parquet"
    )
    wide, long = (read_recording(tmp_path / f"{name}.parquet") for name in ("wide", "long"))
    assert wide.stamp == long.stamp == pa.timestamp("ms", zone), "Parquet has no whole seconds"
    assert wide.ts.tolist() == long.ts.tolist() == [NOON_NS, NOON_NS + 60 * SECOND_NS]


@pytest.mark.parametrize(
    ("stamp", "told"),
    [
        (pa.array([0, 253_402_300_799], pa.timestamp("s")), "row 2 of column ts is 9999-12-31 23:59:59.000"),
        (pa.array([-62_135_596_800, 0], pa.timestamp("s")), "row 1 of column ts is 0001-01-01 00:00:00.000"),
        (pa.array([0, 10_000_000], pa.date32()), "row 2 of column ts is 29349-01-26"),
        (pa.array([0, 2**64 - 1], pa.uint64()), "row 2 of column ts is 18446744073709551615"),
        (pa.array([-1.5, 60.0]), "row 1 of column ts is -1.5"),
        (pa.array([60, -1], pa.timestamp("ms")), "row 2 of column ts is 1969-12-31 23:59:59.999"),
        (pa.array([0, -(2**63)], pa.int64()), "row 2 of column ts is -9223372036854775808"),
    ],
)
def test_a_time_that_cannot_be_counted_from_1970_is_named(tmp_path: Path, stamp: pa.Array, told: str) -> None:
    pq.write_table(pa.table({"ts": stamp, "a": [1.0, 2.0]}), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match=f"{told}, which is before 1970 or beyond the year 2262"):
        read_recording(tmp_path / "a.parquet")


def test_texts_that_are_kept_as_a_dictionary_are_times(tmp_path: Path) -> None:
    texts = pa.array(["2026-01-31 12:00:00", "2026-01-31 12:01:00"]).dictionary_encode()
    pq.write_table(pa.table({"ts": texts, "a": [1, 2]}), tmp_path / "a.parquet")
    assert read_recording(tmp_path / "a.parquet").ts.tolist() == [NOON_NS, NOON_NS + 60 * SECOND_NS]


def test_texts_of_nanoseconds_keep_the_last_digit(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"ts": [f"{NOON_NS + 1}", f"{NOON_NS + 3}"], "a": [1, 2]}), tmp_path / "a.parquet"
    )
    assert read_recording(tmp_path / "a.parquet").ts.tolist() == [NOON_NS + 1, NOON_NS + 3]


def test_texts_without_a_zone_are_utc(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"ts": ["2026-01-31 12:00:00", "2026-01-31 12:01:00"], "a": [1, 2]}), tmp_path / "a.parquet"
    )
    recording = read_recording(tmp_path / "a.parquet")
    assert (recording.ts[0], recording.stamp) == (NOON_NS, pa.timestamp("ns"))


def test_a_column_to_leave_out_that_there_is_not_is_named_with_the_nearest(tmp_path: Path) -> None:
    wide = csv(tmp_path, "ts,rack1,rack2,a\n1769860800,1,1,1\n1769860860,1,1,1\n")
    words = rf"--exclude rack: {wide} has no such column \(did you mean 'rack2' or 'rack1'\?\)"
    with pytest.raises(UsageError, match=words):
        read_recording(wide, exclude=["rack"])
    long = csv(tmp_path, "ts,channel,value\n1769860800,a,1\n1769860860,b,1\n", "long.csv")
    with pytest.raises(UsageError, match=r"--exclude zzz: .* has no such column$"):
        read_recording(long, exclude=["zzz"])


def test_a_column_that_only_one_of_two_files_has_can_be_left_out(tmp_path: Path) -> None:
    one = csv(tmp_path, "ts,rack,a\n1769860800,r1,1\n1769860860,r1,1\n", "one.csv")
    two = csv(tmp_path, "ts,a\n1769860800,1\n1769860860,1\n", "two.csv")
    assert [each.names for each in read_recordings([one, two], exclude=["rack"])] == [("a",), ("a",)]


def test_numbers_too_large_to_be_exact_are_numbers(tmp_path: Path) -> None:
    columns = {"signed": pa.array([2**60 + 1, 5]), "unsigned": pa.array([2**64 - 1, 5], pa.uint64())}
    pq.write_table(pa.table({"ts": [0, 60], **columns}), tmp_path / "a.parquet")
    assert read_recording(tmp_path / "a.parquet").values.tolist() == [[2.0**60, 2.0**64], [5, 5]]


def test_what_is_beyond_single_precision_is_not_absent(tmp_path: Path) -> None:
    recording = read_recording(csv(tmp_path, "ts,a,b\n0,1e300,-1e300\n60,inf,1e400\n"))
    most = float(np.finfo(np.float32).max)
    assert recording.values[0].tolist() == [most, -most]
    assert np.isnan(recording.values[1]).all()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("ts;a;b\n0;0,5;1\n60;1,25;2\n", [[0.5, 1], [1.25, 2]]),
        ("ts;a;b\n0;0.5;1\n60;1.25;2\n", [[0.5, 1], [1.25, 2]]),
        ("ts\ta\tb\n0\t0.5\t1\n60\t1.25\t2\n", [[0.5, 1], [1.25, 2]]),
        ('ts,a,"b;c;d;e"\n0,0.5,1\n60,1.25,2\n', [[0.5, 1], [1.25, 2]]),
        ("\ufeffts,a,b\r\n0,0.5,1\r\n60,1.25,2\r\n", [[0.5, 1], [1.25, 2]]),
    ],
)
def test_what_separates_values_is_told_by_the_first_line(
    tmp_path: Path, text: str, values: list[list[float]]
) -> None:
    assert read_recording(csv(tmp_path, text)).values.tolist() == values
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_recording(packed).values.tolist() == values


def test_a_long_table_with_another_column_is_refused_until_that_is_left_out(tmp_path: Path) -> None:
    path = csv(tmp_path, "ts,host,channel,value\n0,h1,a,1\n60,h1,a,2\n")
    with pytest.raises(
        UsageError, match=r"has 'host' beside ts, channel and value; leave each out with --exclude"
    ):
        read_recording(path)
    assert read_recording(path, exclude=["host"]).values.tolist() == [[1], [2]]


def test_a_table_without_its_time_is_told_by_the_columns_it_has(tmp_path: Path) -> None:
    names = ",".join(f"c{number}" for number in range(10))
    with pytest.raises(UsageError, match=r"or _time, but 'c0', 'c1', .*'c7' \.\.\.; name the one"):
        read_recording(csv(tmp_path, f"{names}\n{names}\n"))


def test_what_is_damaged_is_not_a_matter_of_rights(tmp_path: Path) -> None:
    whole = tmp_path / "whole.parquet"
    pq.write_table(pa.table({"ts": range(9000), "a": np.random.default_rng(1).random(9000)}), whole)
    torn = bytearray(whole.read_bytes())
    torn[3000:3200] = bytes(200)
    (tmp_path / "torn.parquet").write_bytes(torn)
    packed = gzip.compress(b"ts,a\n" + b"0,1\n" * 9000)
    (tmp_path / "cut.csv.gz").write_bytes(packed[:40])
    (tmp_path / "no.csv.gz").write_bytes(b"ts,a\n0,1\n")
    for name in ("torn.parquet", "cut.csv.gz", "no.csv.gz"):
        with pytest.raises(UsageError, match=rf"{name} is damaged or not what its name says"):
            read_recording(tmp_path / name)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_folder_is_no_recording(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(UsageError, match="is a folder; name a file in it"):
        read_recording(tmp_path / name)


def test_names_in_another_encoding_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("ts,é\n0,1\n60,2\n".encode("latin-1"))
    with pytest.raises(UsageError, match="not in UTF-8"):
        read_recording(tmp_path / "a.csv")


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"neither \.csv nor \.parquet"):
        read_recording(csv(tmp_path, "x", "a.txt"))
    with pytest.raises(UsageError, match="damaged or not what its name says"):
        read_recording(csv(tmp_path, "no parquet", "a.parquet"))


@pytest.mark.parametrize("name", ["gone.csv", "gone.parquet"])
def test_a_file_that_cannot_be_read_is_a_wrong_argument(tmp_path: Path, name: str) -> None:
    words = rf"{name} cannot be read \(No such file or directory\); correct the path"
    with pytest.raises(UsageError, match=words):
        read_recording(tmp_path / name)


def test_a_map_that_is_not_there_is_a_wrong_argument(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.toml cannot be read \(No such file or directory\)"):
        read_naming(tmp_path / "gone.toml")


def test_a_recording_is_a_store_of_its_finite_values(tmp_path: Path) -> None:
    recording = read_recording(csv(tmp_path, "ts,a,b\n1769860860,3,\n1769860800,1,2\n"))
    store = RecordingStore(recording, Naming("db07").channels(recording.names, 60.0))
    found = store.export("db07", TimeRange(NOON_NS, NOON_NS + 61 * SECOND_NS))
    assert store.hosts() == ("db07",)
    assert sorted(found.column("value").to_pylist()) == [1, 2, 3]
    assert set(found.column("dt").to_pylist()) == {60.0}
    keys = list(
        zip(*(found.column(name).cast(pa.int64()).to_pylist() for name in ("channel_id", "ts")), strict=True)
    )
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("name", "subsystem"),
    [
        ("cpu_r", "cpu"), ("load_15", "cpu"), ("mem_u", "memory"), ("si", "memory"), ("disk_svc", "storage"),
        ("eth1_fi", "network"), ("tcp_timeouts", "network"), ("curr_estab", "network"), ("gpu0_util", "gpu"),
        ("node.nvlink.tx", "interconnect"), ("m07", "cpu"),
    ],
)  # fmt: skip
def test_a_columns_name_tells_its_subsystem(name: str, subsystem: str) -> None:
    assert guess_subsystem(name) == subsystem


def test_a_map_says_what_columns_are(tmp_path: Path) -> None:
    path = csv(
        tmp_path,
        'host = "db07"\n[channels."eth0_rx"]\nsubsystem = "network"\ndevice = "eth0"\nmetric = "rx_bytes_per_s"\n'
        'unit = "B/s"\nkind = "rate"\n[channels."m*"]\nsubsystem = "memory"\n',
        "map.toml",
    )
    named, pattern, free = read_naming(path).channels(("eth0_rx", "m07", "disk_u"), 60.0)
    assert (named.host, named.label, named.unit, named.kind) == (
        "db07",
        "network eth0 rx_bytes_per_s",
        "B/s",
        "rate",
    )
    assert (pattern.label, free.label) == ("memory m07", "storage disk_u")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[channels.a]\nsubsystm = "cpu"\n', """[channels."a"] has an unknown key 'subsystm' (did you mean 'subsystem'?)"""),
        ('[channels.a]\nsubsystem = "netwrk"\n', """[channels."a"] subsystem = 'netwrk' is none of cpu, gpu"""),
        ('[channels."x*"]\nkind = "gage"\n', "is none of rate, gauge, state, event (did you mean 'gauge'?)"),
        ("[channels.a]\nunit = 3\n", """[channels."a"] unit = 3 must be text in quotes"""),
        ('[channels]\na = "cpu"\n', """[channels."a"] must be a table of subsystem, device"""),
        ('[chanels.a]\nunit = "B"\n', "has an unknown key 'chanels' (did you mean 'channels'?); there are host, channels"),
        ("channels = 3\n", "channels must be tables such as"),
        ("host = 3\n", "host = 3 must be text in quotes"),
        ("host = \n", "is not TOML: "),
    ],
)  # fmt: skip
def test_a_wrong_map_is_named_with_entry_and_key(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=rf"map\.toml.*{re.escape(words)}"):
        read_naming(csv(tmp_path, text, "map.toml"))


def test_two_columns_that_a_map_makes_one_are_named(tmp_path: Path) -> None:
    twice = csv(tmp_path, '[channels."*"]\nmetric = "same"\nsubsystem = "cpu"\n', "two.toml")
    with pytest.raises(SettingsError, match="columns a and b"):
        read_naming(twice).channels(("a", "b"), 1.0)

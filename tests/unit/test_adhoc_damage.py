"""Ad-hoc SQL over a lake in which bytes have changed: never a wrong figure, and no query is stopped for good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import CorruptError
from hostsight.folders import DataFolder
from hostsight.settings import Duration, SqlSettings
from hostsight.timerange import TimeRange
from ingest.lake import Lake, LakeFile
from ingest.store import SAMPLES
from sql.adhoc import run_query

LIMITS = SqlSettings(timeout=Duration(60))
START = 1_700_000_000 * SECOND_NS
MINUTE = 60 * SECOND_NS
SUM = "SELECT sum(value) AS total FROM samples"


@pytest.fixture
def files(data: DataFolder) -> list[LakeFile]:
    """Two files of a minute, of 600 ones each."""
    written = []
    for start in (START, START + MINUTE):
        ts = pa.array(start + np.arange(600) * (SECOND_NS // 10)).cast(pa.timestamp("ns"))
        values = pa.array(np.ones(600, np.float32))
        table = pa.table([ts, np.full(600, 3), values, np.full(600, 0.1, np.float32)], schema=SAMPLES)
        written += Lake(data).write("samples", "gpu01", TimeRange(start, start + MINUTE), table)
    return written


def flip_a_bit(path: Path) -> None:
    """In the middle of the values."""
    column = pq.ParquetFile(path).metadata.row_group(0).column(SAMPLES.names.index("value"))
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 6] ^= 0x10
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize("damage", [flip_a_bit, cut])
def test_a_damaged_file_is_named_and_set_aside_and_the_rest_is_read(
    data: DataFolder, files: list[LakeFile], damage: Callable[[Path], None]
) -> None:
    assert run_query(data, LIMITS, SUM).table.to_pylist() == [{"total": 1200.0}]
    damage(files[0].path)
    with pytest.raises(CorruptError, match=f"set aside as .*{files[0].path.name}; run the query again"):
        run_query(data, LIMITS, SUM)
    assert run_query(data, LIMITS, SUM).table.to_pylist() == [{"total": 600.0}]
    assert [path.name for path in data.lake.rglob("*.bad")] == [f"{files[0].path.name}.bad"]


def test_reading_through_leaves_whole_files_and_those_that_are_gone(
    data: DataFolder, files: list[LakeFile]
) -> None:
    files[0].path.unlink()
    assert Lake(data).set_damaged_aside(files) == []
    assert files[1].path.exists()

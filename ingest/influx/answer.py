"""InfluxDB's CSV answers, streamed to a file and read by pyarrow a block at a time.

An answer is a series of blocks, each a header and its rows; an empty line stands between two whose columns differ. The
client library's own parser makes an object a row, is several times slower, and cuts time stamps to microseconds.
"""

from __future__ import annotations

import csv
import io
import mmap
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from hostsight.errors import StorageError, StoreUnavailableError
from hostsight.files import storage_error

ERROR_COLUMNS = {"error", "reference"}
_BETWEEN = b"\r\n\r\n"
_STAMP = pa.timestamp("ns", "UTC")
_TEXT = pa.dictionary(pa.int32(), pa.string())
_BLOCK_BYTES = 8 << 20
_TAGS = {"", "result", "table", "_measurement", "device", "host"}


def sample_type(name: str) -> pa.DataType:
    """Of a column: `_time` is timestamp[ns, UTC], tags are dictionaries, everything else float32."""
    if name == "_time":
        return _STAMP
    return _TEXT if name in _TAGS else pa.float32()


def blocks(
    pieces: Iterable[bytes], folder: Path, column_type: Callable[[str], pa.DataType] = sample_type
) -> Iterator[pa.Table]:
    """The blocks of an answer, which passes through a nameless file in `folder`: memory holds one block at a time.

    Raises StoreUnavailableError where the server ended its answer with an error, FullError and StorageError where the
    file cannot be written.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            for piece in pieces:
                file.write(piece)
            if file.tell() == 0:
                return
            file.flush()
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                yield from _blocks(content, column_type)
    except OSError as error:
        raise storage_error(error, "writing an export in", folder) from error


def _blocks(content: mmap.mmap, column_type: Callable[[str], pa.DataType]) -> Iterator[pa.Table]:
    start = 0
    while start < len(content):
        end = content.find(_BETWEEN, start)
        end = len(content) if end < 0 else end + len(_BETWEEN)
        text = content[start:end].strip(b"\r\n")
        if text:
            yield _block(text, column_type)
        start = end


def _block(text: bytes, column_type: Callable[[str], pa.DataType]) -> pa.Table:
    header = next(csv.reader(io.StringIO(text[: text.find(b"\n") + 1 or None].decode("utf-8"))))
    if set(header) >= ERROR_COLUMNS:
        words = text.partition(b"\n")[2].decode("utf-8", "replace").strip(", \r\n")
        raise StoreUnavailableError(f"InfluxDB ended its answer with an error: {words}; it is asked again")
    types = {name: column_type(name) for name in header}
    try:
        return pacsv.read_csv(
            pa.py_buffer(text),
            read_options=pacsv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            convert_options=pacsv.ConvertOptions(
                column_types=types, null_values=[""], include_columns=_wanted(header)
            ),
        )
    except pa.ArrowException as error:
        raise StorageError(f"InfluxDB's answer cannot be read: {error}") from error


def _wanted(header: list[str]) -> list[str]:
    return [name for name in header if name not in {"", "result"}]

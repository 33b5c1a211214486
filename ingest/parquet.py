"""Parquet as the lake writes it: version 2, zstd, page checksums, columns that repeat a channel's time stamps as dictionaries.

Dictionary pages hold each time stamp once a row group, and pages are large, so that zstd finds the same run of indices
again for every channel: `ts` and `dt` cost 0.1 to 0.3 bytes a value then, and 4 with pyarrow's own defaults.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hostsight.errors import CorruptError
from hostsight.files import discard, make_folder, storage_error

_GROUP_ROWS = 65_536
_SLICE_ROWS = 2_000_000
_SLICES = 16
_ID_BITS = 63
_DICTIONARY = {"ts", "dt", "channel_id", "window_end", "n", "host", "detector", "model"}


def open_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        schema,
        version="2.6",
        data_page_version="2.0",
        compression="zstd",
        compression_level=3,
        use_dictionary=[name for name in schema.names if name in _DICTIONARY],
        data_page_size=4 << 20,
        max_rows_per_page=1 << 30,
        dictionary_pagesize_limit=4 << 20,
        write_page_checksum=True,
    )


def write_sliced(writer: pq.ParquetWriter, table: pa.Table, slices: Iterator[tuple[int, int]]) -> None:
    """Write `table`, sorted by channel_id if it has such a column, with a row group a slice of the channel ids."""
    if "channel_id" not in table.column_names:
        writer.write_table(table, row_group_size=max(1, table.num_rows))
        return
    ids = table["channel_id"].to_numpy()
    for low, high in slices:
        start, end = np.searchsorted(ids, [low, high])
        if end > start:
            writer.write_table(table.slice(start, end - start), row_group_size=end - start)


def channel_slices(rows: int) -> Iterator[tuple[int, int]]:
    """Ranges [low, high) of channel ids for a file of `rows`; ids are hashes, so the rows spread evenly.

    A slice is small enough to read a few channels alone, to merge files a slice at a time, and large enough to compress.
    """
    wanted = max(min(_SLICES, rows // _GROUP_ROWS), rows // _SLICE_ROWS)
    count = 1 << max(0, wanted - 1).bit_length()
    step = (1 << _ID_BITS) // count
    return ((index * step, (index + 1) * step) for index in range(count))


def open_file(path: Path) -> pq.ParquetFile:
    """Raises FileNotFoundError, CorruptError, StorageError."""
    return guarded(path, lambda: pq.ParquetFile(path, page_checksum_verification=True))


def guarded(path: Path, read: Callable[[], Any]) -> Any:
    """What `read` gives; a file that is not what was written is a CorruptError, one that is gone a FileNotFoundError."""
    try:
        return read()
    except FileNotFoundError:
        raise
    except MemoryError:
        raise
    except OSError as error:
        if error.errno is not None:
            raise storage_error(error, "reading", path) from error
        raise CorruptError(f"{path} is not what was written: {error}") from error
    except (pa.ArrowException, ValueError) as error:
        raise CorruptError(f"{path} is not what was written: {error}") from error


def write_beside(path: Path, write: Callable[[Path], None], *, sync: bool = False) -> None:
    """Let `write` fill a file beside `path`, then rename it into place. Raises FullError, StorageError."""
    make_folder(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(part)
        part.chmod(0o600)
        if sync:
            _sync(part)
        part.replace(path)
    except (OSError, pa.ArrowException) as error:
        discard(part)
        cause = error if isinstance(error, OSError) else OSError(str(error))
        raise storage_error(cause, "writing", path) from error
    except BaseException:
        discard(part)
        raise


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

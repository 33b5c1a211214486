"""The lake: immutable Parquet files, named by what they hold.

`<kind>/date=2026-01-31/hour=12/<host>~<start_ns>-<end_ns>.parquet`; a file's span never leaves its hour. It holds
samples with start <= ts < end, or windows (features, scores) with start < window_end <= end. A file whose span lies
inside another's of the same kind and host is superseded: it is not listed, and compaction deletes it. A file that is
damaged is set aside as `.bad`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc

from hostsight.clock import SECOND_NS
from hostsight.errors import CorruptError
from hostsight.files import delete, storage_error
from hostsight.folders import SET_ASIDE, DataFolder
from hostsight.timerange import TimeRange
from ingest.parquet import channel_slices, guarded, open_file, open_writer, write_beside, write_sliced
from ingest.segment import quote_host, unquote_host
from ingest.store import SAMPLES

Kind = Literal["samples", "features", "scores"]
KINDS: tuple[Kind, ...] = get_args(Kind)
HOUR_NS = 3600 * SECOND_NS
_SUFFIX = ".parquet"
PART = ".part"

SORT_KEYS: dict[Kind, tuple[str, str]] = {
    "samples": ("channel_id", "ts"),
    "features": ("channel_id", "window_end"),
    "scores": ("window_end", "detector"),
}
"""What a file of each kind is sorted by; no two rows agree in both."""

_EMPTY: dict[Kind, pa.Schema] = {
    "samples": SAMPLES,
    "features": pa.schema([("channel_id", pa.int64()), ("window_end", pa.timestamp("ns"))]),
    "scores": pa.schema([("window_end", pa.timestamp("ns")), ("detector", pa.string())]),
}

CHANNELS = pa.schema(
    [
        ("channel_id", pa.int64()),
        ("host", pa.string()),
        ("subsystem", pa.string()),
        ("device", pa.string()),
        ("metric", pa.string()),
        ("kind", pa.string()),
        ("unit", pa.string()),
        ("period_seconds", pa.float64()),
        ("source", pa.string()),
        ("first_seen", pa.timestamp("ns")),
        ("last_seen", pa.timestamp("ns")),
    ]
)
"""Columns of `channels/<host>.parquet`, which makes the samples readable without the state database."""


@dataclass(frozen=True, slots=True)
class LakeFile:
    kind: Kind
    host: str
    span: TimeRange
    path: Path

    @classmethod
    def parse(cls, kind: Kind, path: Path) -> LakeFile | None:
        """None for a file that is not one of the lake's, such as one being written."""
        host, separator, span = path.name.removesuffix(_SUFFIX).partition("~")
        start, dash, end = span.partition("-")
        whole = path.name.endswith(_SUFFIX) and separator and dash and start.isdecimal() and end.isdecimal()
        if not whole or int(end) < int(start):
            return None
        return cls(kind, unquote_host(host), TimeRange(int(start), int(end)), path)


class Lake:
    """Files below `lake/`. Any process may read; the jobs of one process write.

    `problems` has a sentence for each file that this object found damaged.
    """

    def __init__(self, data: DataFolder) -> None:
        self.root = data.lake
        self._problems: dict[Path, str] = {}

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(self._problems.values())

    def path(self, kind: Kind, host: str, span: TimeRange) -> Path:
        """Where the file of `span`, which must not leave its hour, lies."""
        return (
            self.hour_folder(kind, span.start_ns)
            / f"{quote_host(host)}~{span.start_ns}-{span.end_ns}{_SUFFIX}"
        )

    def hour_folder(self, kind: Kind, ns: int) -> Path:
        return self.root / kind / _hour_name(ns)

    def write(self, kind: Kind, host: str, span: TimeRange, table: pa.Table) -> list[LakeFile]:
        """Store `table`, sorted by SORT_KEYS: a file an hour that `span` touches and that has rows.

        The same span gives the same names, so writing again changes nothing. Raises FullError, StorageError.
        """
        written = []
        for part in split_by_hour(span):
            rows = table if part == span else within(kind, table, part)
            if rows.num_rows:
                path = self.path(kind, host, part)
                write_table(path, rows)
                written.append(LakeFile(kind, host, part, path))
        return written

    def files(self, kind: Kind, *, host: str | None = None, span: TimeRange | None = None) -> list[LakeFile]:
        """Files with something in `span`, oldest first, without superseded ones. A file may be gone when it is opened."""
        found: list[LakeFile] = []
        for folder in self.hour_folders(kind, span):
            found += visible(self.folder_files(kind, folder))
        return [
            file
            for file in found
            if (host is None or file.host == host) and (span is None or file.span.overlaps(span))
        ]

    def hour_folders(self, kind: Kind, span: TimeRange | None = None) -> Iterator[Path]:
        """Folders of the hours that `span` touches, oldest first."""
        first = _hour_name(span.start_ns - HOUR_NS) if span else ""
        last = _hour_name(span.end_ns) if span else "~"
        for date in list_names(self.root / kind):
            if first.partition("/")[0] <= date <= last:
                hours = (f"{date}/{hour}" for hour in list_names(self.root / kind / date))
                yield from (
                    self.root / kind / hour for hour in hours if first <= hour <= last and _is_hour(hour)
                )

    def folder_files(self, kind: Kind, folder: Path) -> list[LakeFile]:
        """All files in one hour's folder, superseded ones included, by start."""
        parsed = (LakeFile.parse(kind, folder / name) for name in list_names(folder))
        return sorted((file for file in parsed if file is not None), key=_by_start)

    def read(self, kind: Kind, host: str, span: TimeRange, schema: pa.Schema | None = None) -> pa.Table:
        """All rows of `span`, sorted. A damaged file is set aside and left out; `problems` says so.

        `schema` chooses columns and their types. By default they are SAMPLES for samples and what the files hold for other
        kinds; an empty result then has the columns it would be sorted by. Raises StorageError.
        """
        if schema is None and kind == "samples":
            schema = SAMPLES
        columns = sorted({*schema.names, *SORT_KEYS[kind]}) if schema else None
        tables = self._read_files(kind, host, span, columns)
        if not tables:
            return (schema or _EMPTY[kind]).empty_table()
        rows = within(kind, pa.concat_tables(tables, promote_options="permissive"), span)
        if len(tables) > 1:
            rows = sort_rows(kind, rows)
        return shaped(rows, schema) if schema else rows.replace_schema_metadata(None)

    def set_aside(self, file: LakeFile, error: CorruptError) -> None:
        """Rename a damaged file to `.bad`, where that is allowed, so that nothing stumbles over it again."""
        self._problems[file.path] = f"{error}; it is left out"
        try:
            file.path.replace(file.path.with_name(file.path.name + SET_ASIDE))
        except OSError:
            return

    def set_damaged_aside(self, files: Iterable[LakeFile]) -> list[LakeFile]:
        """Read `files` whole, set aside those that are not what was written, and give these."""
        damaged = []
        for file in files:
            try:
                _read_through(file)
            except CorruptError as error:
                self.set_aside(file, error)
                damaged.append(file)
            except FileNotFoundError:
                continue
        return damaged

    def discard_from(self, host: str, position_ns: int) -> int:
        """Delete what a killed run left: files of `host` that start at or after `position_ns`, and half-written ones."""
        deleted = 0
        for kind in KINDS:
            for folder in self.hour_folders(kind):
                for file in self.folder_files(kind, folder):
                    if file.host == host and file.span.start_ns >= position_ns:
                        deleted += delete(file.path) > 0
                for name in list_names(folder):
                    if name.startswith(f".{quote_host(host)}~") and name.endswith(PART):
                        delete(folder / name)
        return deleted

    def write_channels(self, rows: pa.Table) -> None:
        """Replace the channel list of each host that `rows` (as CHANNELS) names."""
        for host in pc.unique(rows["host"]).to_pylist():
            of_host = rows.filter(pc.equal(rows["host"], host)).select(CHANNELS.names).cast(CHANNELS)
            write_table(self.root / "channels" / f"{quote_host(host)}{_SUFFIX}", of_host)

    def bytes(self) -> int:
        """Size of all files, superseded, damaged and half-written ones included."""
        return sum(_folder_bytes(self.root))

    def _read_files(
        self, kind: Kind, host: str, span: TimeRange, columns: Sequence[str] | None
    ) -> list[pa.Table]:
        """A table a file; all are read again when compaction has just replaced one."""
        for _ in range(_ATTEMPTS):
            tables = []
            try:
                for file in self.files(kind, host=host, span=span):
                    try:
                        tables.append(read_table(file, columns))
                    except CorruptError as error:
                        self.set_aside(file, error)
            except FileNotFoundError:
                continue
            return tables
        raise CorruptError(f"files in {self.root / kind} keep vanishing; is another program deleting them?")


_ATTEMPTS = 5


def split_by_hour(span: TimeRange) -> Iterator[TimeRange]:
    start_ns = span.start_ns
    while start_ns < span.end_ns:
        end_ns = min(span.end_ns, (start_ns // HOUR_NS + 1) * HOUR_NS)
        yield TimeRange(start_ns, end_ns)
        start_ns = end_ns


def within(kind: Kind, table: pa.Table, span: TimeRange) -> pa.Table:
    """Rows of `span`: from its start for samples, after its start to its end for windows."""
    if kind == "samples":
        after, before, stamps = pc.greater_equal, pc.less, table["ts"]
    else:
        after, before, stamps = pc.greater, pc.less_equal, table["window_end"]
    start, end = (pa.scalar(ns, pa.timestamp("ns")) for ns in (span.start_ns, span.end_ns))
    inside = pc.and_(after(stamps, start), before(stamps, end))
    return table if pc.all(inside).as_py() else table.filter(inside)


def sort_rows(kind: Kind, table: pa.Table) -> pa.Table:
    return table.sort_by([(key, "ascending") for key in SORT_KEYS[kind]])


def visible(files: Sequence[LakeFile]) -> list[LakeFile]:
    """Those of one hour's files that no other of the same host contains, by start."""
    reached: dict[str, int] = {}
    kept = []
    for file in sorted(files, key=_by_start):
        if file.span.end_ns > reached.get(file.host, -1):
            reached[file.host] = file.span.end_ns
            kept.append(file)
    return kept


def hour_of(folder: Path) -> int:
    """Start of the hour that a folder `date=2026-01-31/hour=12` is named for."""
    stamp = datetime.fromisoformat(f"{folder.parent.name[5:]}T{folder.name[5:]}:00:00+00:00")
    return int(stamp.timestamp()) * SECOND_NS


def _hour_name(ns: int) -> str:
    """Names sort as the hours do."""
    return f"{datetime.fromtimestamp(ns // SECOND_NS, UTC):date=%Y-%m-%d/hour=%H}"


@lru_cache(maxsize=16_384)
def _is_hour(name: str) -> bool:
    try:
        return _hour_name(hour_of(Path(name))) == name
    except ValueError:
        return False


def write_table(path: Path, table: pa.Table) -> None:
    def write(part: Path) -> None:
        with open_writer(part, table.schema) as writer:
            write_sliced(writer, table, channel_slices(table.num_rows))

    write_beside(path, write)


def read_table(file: LakeFile, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a file, with those of `columns` that it has. Raises FileNotFoundError, CorruptError, StorageError."""
    with open_file(file.path) as opened:
        check_columns(file, opened.schema_arrow)
        return guarded(file.path, lambda: opened.read(columns, use_threads=False))


def _read_through(file: LakeFile) -> None:
    """Every page once, a row group at a time."""
    with open_file(file.path) as opened:
        check_columns(file, opened.schema_arrow)
        for group in range(opened.num_row_groups):
            guarded(file.path, partial(opened.read_row_group, group, use_threads=False))


def check_columns(file: LakeFile, schema: pa.Schema) -> None:
    """Raises CorruptError where a column is missing that no version left out."""
    required = SAMPLES.names if file.kind == "samples" else SORT_KEYS[file.kind]
    if missing := sorted(set(required) - set(schema.names)):
        raise CorruptError(f"{file.path} is not what was written: it has no column {', '.join(missing)}")


def shaped(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """`rows` with the columns and types of `schema`; columns that an older version did not write are null."""
    stacked = pa.concat_tables([schema.empty_table(), rows], promote_options="permissive")
    return stacked.select(schema.names).cast(schema)


def list_names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  # names are all that is needed
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise storage_error(error, "listing", folder) from error


def _by_start(file: LakeFile) -> tuple[int, int]:
    return file.span.start_ns, -file.span.end_ns


def _folder_bytes(folder: Path) -> Iterator[int]:
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                yield (Path(base) / name).stat().st_size
            except OSError:
                continue

"""Compaction: the lake's small files become one a minute, then one an hour.

A merged file is renamed into place, which supersedes its inputs; they are deleted minutes later, since a reader may still
hold a listing of them. So a run that is killed at any point leaves a lake that reads the same, and the next one goes on.
Memory is bounded: an hour is merged in slices of the channel ids, which are hashes and so evenly spread, and files are
written with a row group a slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hostsight.clock import SECOND_NS
from hostsight.errors import CorruptError
from hostsight.files import delete
from hostsight.timerange import TimeRange
from ingest.lake import (
    HOUR_NS,
    KINDS,
    PART,
    SORT_KEYS,
    Kind,
    Lake,
    LakeFile,
    check_columns,
    hour_of,
    list_names,
    shaped,
    sort_rows,
    visible,
)
from ingest.parquet import channel_slices, guarded, open_file, open_writer, write_beside

MINUTE_NS = 60 * SECOND_NS
_SETTLED_NS = 30 * SECOND_NS
"""A file younger than this may be the work of a run that is not committed yet."""
_GRACE_NS = 120 * SECOND_NS
"""How long a superseded file stays for readers that have listed it."""
_ABANDONED_NS = HOUR_NS
_WHOLE = ((0, 1 << 63),)
_FILES = 64
"""So many files at most are open at once."""


@dataclass(slots=True)
class CompactReport:
    """What one run did: files merged and written, superseded or abandoned ones deleted, damaged ones set aside."""

    merged: int = 0
    written: int = 0
    deleted: int = 0
    problems: list[str] = field(default_factory=list)


class _DamagedInputError(Exception):
    def __init__(self, file: LakeFile, cause: CorruptError) -> None:
        super().__init__(str(cause))
        self.file = file
        self.cause = cause


def compact(lake: Lake, now_ns: int) -> CompactReport:
    """One pass over the lake; cheap where there is nothing to do. Raises FullError, StorageError: the lake reads the same."""
    report = CompactReport()
    for kind in KINDS:
        for folder in lake.hour_folders(kind):
            _compact_hour(lake, kind, folder, now_ns, report)
    return report


def _compact_hour(lake: Lake, kind: Kind, folder: Path, now_ns: int, report: CompactReport) -> None:
    if len(list_names(folder)) < 2:
        return
    _sweep(folder, lake.folder_files(kind, folder), now_ns, report)
    files = sorted(visible(lake.folder_files(kind, folder)), key=lambda file: file.host)
    for _, of_host in groupby(files, key=lambda file: file.host):
        for group in _due(list(of_host), hour_of(folder), now_ns):
            _merge_group(lake, group, report)


def _sweep(folder: Path, files: Sequence[LakeFile], now_ns: int, report: CompactReport) -> None:
    """Delete superseded files whose successor has been there for a while, and parts of writers that are gone."""
    kept = visible(files)
    for file in set(files).difference(kept):
        if all(_age(other.path, now_ns) >= _GRACE_NS for other in kept if _covers(other, file)):
            report.deleted += delete(file.path) > 0
    for name in list_names(folder):
        if name.endswith(PART) and _age(folder / name, now_ns) >= _ABANDONED_NS:
            report.deleted += delete(folder / name) > 0


def _covers(other: LakeFile, file: LakeFile) -> bool:
    return other.host == file.host and other.span.contains(file.span)


def _due(files: Sequence[LakeFile], hour_ns: int, now_ns: int) -> Iterator[Sequence[LakeFile]]:
    """Groups of one host's files in one hour that are to be merged now: the whole hour once it is over, else minutes."""
    if now_ns >= hour_ns + HOUR_NS and _settled(files, now_ns):
        groups = [list(files)]
    else:
        short = [file for file in files if file.span.end_ns - file.span.start_ns <= MINUTE_NS]
        minutes = groupby(short, key=lambda file: file.span.start_ns // MINUTE_NS)
        groups = [group for _, minute in minutes if _settled(group := list(minute), now_ns)]
    return (group for group in groups if len(group) > 1 and not _would_hide(group, files))


def _would_hide(group: Sequence[LakeFile], files: Sequence[LakeFile]) -> bool:
    """Whether the merged file's span would hold that of a file which is not merged."""
    whole = _whole_span(group)
    return any(whole.contains(file.span) for file in files if file not in group)


def _whole_span(files: Sequence[LakeFile]) -> TimeRange:
    return TimeRange(files[0].span.start_ns, max(file.span.end_ns for file in files))


def _settled(files: Sequence[LakeFile], now_ns: int) -> bool:
    return all(_age(file.path, now_ns) >= _SETTLED_NS for file in files)


def _age(path: Path, now_ns: int) -> int:
    """Nanoseconds from a file's writing to now; forward too, since the clock may have been set back. A file that is gone is old."""
    try:
        return abs(now_ns - path.stat().st_mtime_ns)
    except OSError:
        return now_ns


def _merge_group(lake: Lake, files: Sequence[LakeFile], report: CompactReport) -> None:
    """Merge consecutive files of one host into one, however many there are; damaged ones are set aside first.

    Nothing more is merged once a file has vanished: a span over those left would hide what it does not hold.
    """
    rest = list(files)
    with suppress(FileNotFoundError):
        while len(rest) > 1:
            batches = [rest[at : at + _FILES] for at in range(0, len(rest), _FILES)]
            rest = [merged for batch in batches for merged in _merge_batch(lake, batch, report)]


def _merge_batch(lake: Lake, files: Sequence[LakeFile], report: CompactReport) -> list[LakeFile]:
    """The one file that holds what `files` hold, if any of them can be read. Raises FileNotFoundError."""
    rest = list(files)
    while len(rest) > 1:
        try:
            return [_merge(lake, rest, report)]
        except _DamagedInputError as error:
            lake.set_aside(error.file, error.cause)
            report.problems.append(str(error.cause))
            rest.remove(error.file)
    return rest


def _merge(lake: Lake, files: Sequence[LakeFile], report: CompactReport) -> LakeFile:
    kind, host = files[0].kind, files[0].host
    span = _whole_span(files)
    path = lake.path(kind, host, span)
    with ExitStack() as stack:
        inputs = [_Input(file, stack) for file in files]
        write_beside(path, lambda part: _write_merged(kind, inputs, part), sync=True)
    report.merged += len(files)
    report.written += 1
    return LakeFile(kind, host, span, path)


def _write_merged(kind: Kind, inputs: Sequence[_Input], path: Path) -> None:
    schema = pa.unify_schemas([one.schema for one in inputs], promote_options="permissive")
    by_channel = "channel_id" in schema.names
    with open_writer(path, schema) as writer:
        for low, high in channel_slices(sum(one.rows for one in inputs)) if by_channel else _WHOLE:
            pieces = [one.rows_between(low, high) for one in inputs]
            rows = shaped(pa.concat_tables(pieces, promote_options="permissive"), schema)
            if rows.num_rows:
                writer.write_table(_ordered(kind, rows), row_group_size=rows.num_rows)


class _Input:
    """One file to merge, read a slice of channel ids at a time."""

    def __init__(self, file: LakeFile, stack: ExitStack) -> None:
        self._lake_file = file
        try:
            self._file: pq.ParquetFile = stack.enter_context(open_file(file.path))
            check_columns(file, self._file.schema_arrow)
        except CorruptError as error:
            raise _DamagedInputError(file, error) from error
        self.schema: pa.Schema = self._file.schema_arrow.remove_metadata()
        self.rows: int = self._file.metadata.num_rows

    def rows_between(self, low: int, high: int) -> pa.Table:
        """Rows whose channel id is in [low, high); all where the file has no such column."""
        try:
            return guarded(self._lake_file.path, lambda: self._read(low, high))
        except CorruptError as error:
            raise _DamagedInputError(self._lake_file, error) from error

    def _read(self, low: int, high: int) -> pa.Table:
        groups = [group for group in range(self._file.num_row_groups) if self._overlaps(group, low, high)]
        table = self._file.read_row_groups(groups, use_threads=False)
        if "channel_id" not in table.column_names:
            return table
        start, end = np.searchsorted(table["channel_id"].to_numpy(), [low, high])
        if end - start == table.num_rows:
            return table
        return table.take(
            pa.array(np.arange(start, end))
        )  # a copy: a view would keep the whole table in memory

    def _overlaps(self, group: int, low: int, high: int) -> bool:
        at = self.schema.get_field_index("channel_id")
        statistics = self._file.metadata.row_group(group).column(at).statistics if at >= 0 else None
        if statistics is None or not statistics.has_min_max:
            return True
        return bool(statistics.min < high and statistics.max >= low)


def _ordered(kind: Kind, rows: pa.Table) -> pa.Table:
    """Sorted by the kind's keys, a row for each pair of keys."""
    ordered = sort_rows(kind, rows.combine_chunks())
    same = np.ones(max(0, ordered.num_rows - 1), bool)
    for key in SORT_KEYS[kind]:
        column = ordered[key].to_numpy()
        same &= column[1:] == column[:-1]
    return ordered.filter(pa.array(np.concatenate([[True], ~same]))) if same.any() else ordered

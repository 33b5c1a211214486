"""Retention: what is too old, or too much, leaves the lake.

Age counts from now, or from the newest sample where the clock runs ahead of it. The agent follows a clock that is set far
forward, and stamps samples with it: so hours beyond a gap of over a day count only once PROVEN_HOURS hours hold data after
it, and until then age counts from before the gap. A clock that was wrong for less than that deletes nothing by age.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from hostsight.errors import CorruptError
from hostsight.files import delete
from hostsight.settings import RetentionSettings
from ingest.lake import (
    HOUR_NS,
    KINDS,
    Kind,
    Lake,
    LakeFile,
    hour_of,
    list_names,
    read_table,
    visible,
    write_table,
)
from ingest.parquet import open_file

THINNING = 10
_THINNED = b"hostsight.thinned"
GAP_NS = 24 * HOUR_NS
PROVEN_HOURS = 24
_KEPT_HOURS = 2
"""Hours that are never deleted for size: the live path writes there."""


@dataclass(slots=True)
class RetainReport:
    """deleted: files; thinned: files of features that lost nine windows in ten; problems: damaged ones, set aside.

    now_ns: what age counted from.
    """

    now_ns: int
    deleted: int = 0
    freed_bytes: int = 0
    thinned: int = 0
    problems: list[str] = field(default_factory=list)


def retain(lake: Lake, settings: RetentionSettings, now_ns: int) -> RetainReport:
    """Delete by age, thin features, then delete the oldest hours while the lake is too large. Raises StorageError."""
    ends = _hour_ends(lake)
    newest_ns = min([now_ns, *ends[-1:]])
    now_ns = min(now_ns, _proven(ends, now_ns))
    report = RetainReport(now_ns)
    ages: dict[Kind, int] = {
        "samples": settings.samples.ns,
        "features": max(settings.features.ns, settings.scores.ns),
        "scores": settings.scores.ns,
    }
    for kind, age_ns in ages.items():
        for folder in list(lake.hour_folders(kind)):
            if _end(folder) <= now_ns - age_ns:
                _empty(folder, report)
    _thin_old(lake, now_ns - settings.features.ns, report)
    _shrink(lake, settings.max_bytes, newest_ns, report)
    return report


def _hour_ends(lake: Lake) -> list[int]:
    """When each hour ends that holds anything, in order."""
    return sorted({_end(folder) for kind in KINDS for folder in lake.hour_folders(kind)})


def _proven(ends: list[int], now_ns: int) -> int:
    """The end of the newest hour that age may count from: the last before the first gap that too few hours follow."""
    recent = ends[-PROVEN_HOURS:]
    for before, after in pairwise(recent):
        if after - before > GAP_NS + HOUR_NS:
            return before
    return recent[-1] if recent else now_ns


def _end(folder: Path) -> int:
    return hour_of(folder) + HOUR_NS


def _empty(folder: Path, report: RetainReport) -> None:
    """Delete an hour's folder with all in it, and its date's when that was the last one."""
    for name in list_names(folder):
        report.freed_bytes += delete(folder / name)
        report.deleted += 1
    for empty in (folder, folder.parent):
        try:
            empty.rmdir()
        except OSError:
            return


def _thin_old(lake: Lake, before_ns: int, report: RetainReport) -> None:
    for folder in lake.hour_folders("features"):
        if _end(folder) <= before_ns:
            files = visible(lake.folder_files("features", folder))
            hosts = Counter(file.host for file in files)
            for file in files:
                if (
                    hosts[file.host] == 1
                ):  # the hour was compacted; else its merged file would be thinned again
                    _thin(lake, file, report)


def _thin(lake: Lake, file: LakeFile, report: RetainReport) -> None:
    """Keep every tenth window of a file, by the windows' own stride; once."""
    try:
        with open_file(file.path) as opened:
            if _THINNED in (opened.schema_arrow.metadata or {}):
                return
        table = read_table(file)
    except FileNotFoundError:
        return
    except CorruptError as error:
        lake.set_aside(file, error)
        report.problems.append(str(error))
        return
    marked = {**(table.schema.metadata or {}), _THINNED: str(THINNING).encode()}
    write_table(file.path, _every_tenth(table).replace_schema_metadata(marked))
    report.thinned += 1


def _every_tenth(table: pa.Table) -> pa.Table:
    ends = table["window_end"].cast(pa.int64()).to_numpy()
    strides = np.diff(np.unique(ends))
    stride = int(strides.min()) if len(strides) else 1
    return table.filter(pa.array(ends // stride % THINNING == 0))


def _shrink(lake: Lake, max_bytes: int, now_ns: int, report: RetainReport) -> None:
    """Delete hours, the oldest first; scores, which are small and what history is made of, only after all else."""
    excess = lake.bytes() - max_bytes
    hours = _hours_by_worth(lake, now_ns - _KEPT_HOURS * HOUR_NS)
    before = report.freed_bytes
    while report.freed_bytes - before < excess and (hour := next(hours, None)) is not None:
        for folder in hour:
            _empty(folder, report)


def _hours_by_worth(lake: Lake, before_ns: int) -> Iterator[list[Path]]:
    """The folders of each hour that may go, in the order in which they should."""
    kinds: tuple[tuple[Kind, ...], ...] = (("samples", "features"), ("scores",))
    for group in kinds:
        folders = [
            folder for kind in group for folder in lake.hour_folders(kind) if _end(folder) <= before_ns
        ]
        for _, hour in groupby(sorted(folders, key=_end), key=_end):
            yield list(hour)

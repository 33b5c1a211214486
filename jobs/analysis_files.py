"""The files that an analysis leaves, and its summary."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from hostsight.clock import iso
from hostsight.files import make_folder, storage_error, write_atomic
from jobs.analysis import TIME, Analysis
from models.episode_state import EpisodeChange

_REMEDY = "choose another folder with --out"
SCORES, CONTRIBUTIONS, EPISODES = "scores.parquet", "contributions.parquet", "episodes.json"


def make_out(folder: Path) -> None:
    """Raises StorageError, FullError where the files of an analysis could not be kept there."""
    make_folder(folder, _REMEDY)


def write_analysis(analysis: Analysis, folder: Path) -> None:
    """`scores.parquet` (ts, score), `contributions.parquet` (ts, a column a metric) and `episodes.json` (start, end and more).

    One row a row of the test recording, in its order; into a folder that is there. Raises StorageError, FullError.
    """
    ts = (
        pa.array(analysis.ts)
        .cast(pa.timestamp("ns", getattr(analysis.stamp, "tz", None)))
        .cast(analysis.stamp)
    )
    parts = {name: analysis.contributions[:, index] for index, name in enumerate(analysis.names)}
    _write(folder / SCORES, pa.table({TIME: ts, "score": analysis.score}))
    _write(folder / CONTRIBUTIONS, pa.table({TIME: ts, **parts}))
    told = msgspec.json.format(msgspec.json.encode(episodes(analysis)), indent=1)
    write_atomic(folder / EPISODES, told, remedy=_REMEDY)


def _write(path: Path, table: pa.Table) -> None:
    try:
        pq.write_table(table, path, compression="zstd")
    except OSError as error:
        raise storage_error(error, "writing", path, _REMEDY) from error


def episodes(analysis: Analysis) -> list[dict[str, object]]:
    """What an operator would have been shown, oldest first."""
    return [_episode(analysis, change) for change in analysis.episodes]


def _episode(analysis: Analysis, change: EpisodeChange) -> dict[str, object]:
    return {
        "start": iso(analysis.stamp_ns(change.opened_ns)),
        "end": iso(analysis.stamp_ns(change.last_seen_ns)),
        "severity": change.severity,
        "score": change.score,
        "confidence": change.confidence,
        "subsystem": change.subsystem,
        "device": change.device,
        "metric": change.metric,
        "summary": change.summary,
    }


def summarise(analysis: Analysis) -> dict[str, object]:
    """What was learnt, how the test was judged, and the episodes, ready for JSON."""
    baseline, layout = analysis.baseline, analysis.baseline.layout
    lengths = [scale * float(layout.window.length) for scale in layout.scales]
    return {
        "rows": len(analysis.ts),
        "channels": len(analysis.names),
        "training_windows": baseline.windows,
        "window_seconds": lengths,
        "same_time_of_other_days": layout.daily,
        "detectors": [each.name for each in baseline.entries],
        "tail_probability_threshold": baseline.threshold,
        "anomalous_windows": int(analysis.scored.anomalous.sum()),
        "episodes": episodes(analysis),
    }

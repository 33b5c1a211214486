"""Recordings learnt from and judged, on a machine that exists only in numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_limits

from hostsight.clock import SECOND_NS
from hostsight.errors import UsageError
from hostsight.settings import DetectSettings, WindowSettings
from ingest.naming import Named, Naming
from ingest.recording import Recording
from jobs.analysis import Analysis, Analyst, window_for
from jobs.analysis_files import write_analysis

ROWS = 1200
MINUTE_NS = 60 * SECOND_NS
NAMES = ("cpu_u", "mem_u", "disk_u", "eth0_rx", "eth0_tx", "idle_constant")
ANALYST = Analyst(DetectSettings(), WindowSettings())
INCIDENT = slice(700, 740)


def recording(
    start: int, rows: int = ROWS, incident: slice | None = None, period_ns: int = MINUTE_NS
) -> Recording:
    """Load that comes and goes in all columns, and noise; in the incident the network alone does what it never did."""
    rng = np.random.default_rng(start)
    load = np.convolve(rng.normal(size=rows + 20), np.ones(20) / 4.5, "valid")[:rows]
    values = 0.3 + 0.1 * load[:, np.newaxis] + 0.02 * rng.normal(size=(rows, len(NAMES)))
    values[:, -1] = 0.5
    if incident is not None:
        values[incident, 3] += 0.8
        values[incident, 4] -= 0.5
    ts = (start + np.arange(rows)) * period_ns + 17
    return Recording(Path("made.parquet"), ts, pa.timestamp("ns"), NAMES, values.astype(np.float32))


@cache
def train() -> Recording:
    return recording(0)


@cache
def judged() -> Recording:
    return recording(ROWS, incident=INCIDENT)


@cache
def analysis() -> Analysis:
    return ANALYST.analyse(train(), judged())


def test_every_row_has_a_score_and_the_incident_the_highest() -> None:
    found = analysis()
    assert len(found.score) == ROWS
    assert np.isfinite(found.score).all()
    outside = np.ones(ROWS, bool)
    outside[INCIDENT.start : INCIDENT.stop + 130] = False
    assert found.score[INCIDENT].min() > np.quantile(found.score[outside], 0.99)


def test_the_incident_is_one_episode_and_explained_by_its_columns() -> None:
    found = analysis()
    spans = [(found.stamp_ns(each.opened_ns), found.stamp_ns(each.last_seen_ns)) for each in found.episodes]
    start, end = judged().ts[[INCIDENT.start, INCIDENT.stop - 1]]
    inside = [span for span in spans if span[0] <= end and start <= span[1]]
    assert len(inside) == 1
    assert start <= inside[0][0] <= start + 3 * MINUTE_NS
    parts = dict(zip(found.names, found.contributions[INCIDENT].mean(axis=0).tolist(), strict=True))
    assert set(sorted(parts, key=parts.__getitem__)[-2:]) == {"eth0_rx", "eth0_tx"}
    assert found.episodes[spans.index(inside[0])].subsystem == "network"


def test_a_map_that_names_gpus_lets_them_be_compared() -> None:
    names = tuple(f"clock{number}" for number in range(4))
    named = {
        name: Named(subsystem="gpu", device=f"gpu{number}", metric="sm_clock_hertz", unit="Hz")
        for number, name in enumerate(names)
    }
    job = 1.2e9 + 4e8 * (np.arange(1200) // 50 % 2)  # all of them up and down with the job
    values = np.tile(job[:, np.newaxis], (1, 4)) + np.random.default_rng(4).normal(0, 5e6, (1200, 4))
    values[950:1000, 2] = 1.2e9  # as it does at other times, while its peers work
    ts = np.arange(1200) * MINUTE_NS
    whole = Recording(Path("made.parquet"), ts, pa.timestamp("ns"), names, values.astype(np.float32))
    halves = (
        replace(whole, ts=ts[part], values=whole.values[part])
        for part in (slice(None, 600), slice(600, None))
    )
    (episode,) = Analyst(DetectSettings(), WindowSettings(), Naming(named=named)).analyse(*halves).episodes
    assert episode.device == "gpu2"
    assert "its 3 peers are at 1.6 GHz" in episode.summary


def test_scores_do_not_depend_on_later_rows() -> None:
    shorter = replace(judged(), ts=judged().ts[:720], values=judged().values[:720])
    found = ANALYST.analyse(train(), shorter)
    assert np.array_equal(found.score, analysis().score[:720])
    assert np.array_equal(found.contributions, analysis().contributions[:720])


@pytest.mark.parametrize("period_seconds", [60.0, 0.7])
def test_scores_do_not_depend_on_later_rows_where_stamps_are_uneven(period_seconds: float) -> None:
    """Some rows come so close together that both are within one sampling period."""
    rng, period_ns = np.random.default_rng(7), int(period_seconds * SECOND_NS)
    learnt, told = (
        replace(each, ts=np.sort(each.ts + rng.normal(0, period_ns / 3, ROWS).astype(np.int64)))
        for each in (
            recording(0, period_ns=period_ns),
            recording(ROWS, incident=INCIDENT, period_ns=period_ns),
        )
    )
    whole = ANALYST.analyse(learnt, told)
    (close,) = np.nonzero(np.diff((told.ts - told.ts[0]) // period_ns) == 0)
    for rows in close[20:26] + 1:
        found = ANALYST.analyse(learnt, replace(told, ts=told.ts[:rows], values=told.values[:rows]))
        assert np.array_equal(found.score, whole.score[:rows])
        assert np.array_equal(found.contributions, whole.contributions[:rows])


def test_scores_do_not_depend_on_the_number_of_threads() -> None:
    """Enough columns for products of matrices to be shared among threads."""
    rng = np.random.default_rng(3)
    mixed = rng.normal(size=(len(NAMES) - 1, 40))
    learnt, told = (
        replace(
            each,
            names=tuple(f"cpu{number}" for number in range(40)),
            values=(each.values[:, :-1] @ mixed + 0.02 * rng.normal(size=(ROWS, 40))).astype(np.float32),
        )
        for each in (train(), judged())
    )
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            found.append(ANALYST.analyse(learnt, told))
    assert np.array_equal(found[0].score, found[1].score)
    assert np.array_equal(found[0].contributions, found[1].contributions)


def test_neither_the_order_of_rows_nor_a_column_of_one_half_matters() -> None:
    order = np.random.default_rng(9).permutation(ROWS)
    values = np.column_stack([judged().values, np.arange(ROWS)]).astype(np.float32)
    shuffled = replace(judged(), ts=judged().ts[order], names=(*NAMES, "label"), values=values[order])
    found = ANALYST.analyse(train(), shuffled)
    assert found.names == NAMES
    assert np.array_equal(found.score, analysis().score[order])


def test_a_column_without_a_value_in_training_sets_nothing_apart() -> None:
    values = train().values.copy()
    values[:, 4] = np.nan
    found = ANALYST.analyse(replace(train(), values=values), judged())
    assert found.names == NAMES
    assert not found.contributions[:, 4].any()
    assert found.contributions[INCIDENT].mean(axis=0).argmax() == 3


def test_recordings_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(UsageError, match="no column in common"):
        ANALYST.analyse(train(), replace(judged(), names=tuple("abcdef")))
    empty = np.full_like(train().values, np.nan)
    with pytest.raises(UsageError, match=r"made\.parquet holds no finite value"):
        ANALYST.analyse(replace(train(), values=empty), judged())
    with pytest.raises(UsageError, match=r"made\.parquet holds no finite value"):
        ANALYST.analyse(train(), replace(judged(), values=empty))
    with pytest.raises(UsageError, match=r"have a metric named ts, .* leave it out with --exclude ts"):
        ANALYST.analyse(*(replace(each, names=("ts", *NAMES[1:])) for each in (train(), judged())))
    with pytest.raises(UsageError, match=r"made\.parquet holds 12 windows, too few .* at least 30"):
        ANALYST.analyse(recording(0, 12), judged())
    with pytest.raises(UsageError, match="a row every 5m"):
        ANALYST.analyse(train(), recording(ROWS, period_ns=5 * MINUTE_NS))


def test_windows_are_rows_unless_rows_are_closer_than_a_pane() -> None:
    live = WindowSettings()
    assert window_for(SECOND_NS // 10, live) is live
    assert float(window_for(5 * MINUTE_NS, live).length) == 300


def test_ten_rows_a_second_are_judged_in_live_windows() -> None:
    tenth = SECOND_NS // 10
    found = ANALYST.analyse(
        recording(0, 1200, period_ns=tenth), recording(1200, 600, slice(300, 400), period_ns=tenth)
    )
    assert float(found.baseline.layout.window.length) == 3
    assert found.score[320:400].mean() > np.quantile(found.score[:300], 0.95)


def test_the_files_hold_a_row_a_row(tmp_path: Path) -> None:
    write_analysis(analysis(), tmp_path)
    scores = pq.read_table(tmp_path / "scores.parquet")
    parts = pq.read_table(tmp_path / "contributions.parquet")
    episodes = json.loads((tmp_path / "episodes.json").read_text())
    assert scores.column("ts").cast(pa.int64()).to_numpy().tolist() == judged().ts.tolist()
    assert parts.column_names == ["ts", *NAMES]
    assert len(episodes) == len(analysis().episodes)
    assert {"start", "end", "summary"} <= set(episodes[0])

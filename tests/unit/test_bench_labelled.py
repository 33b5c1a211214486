from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import average_precision_score, precision_recall_curve

from bench.labelled import Cause, auc_pr, best_f1, hit_rate, incidents, machines, shown
from hostsight.errors import UsageError

LABELS = np.array([0, 0, 1, 1, 0, 0, 0, 1, 0, 0], bool)
TS = np.arange(10) * 3600 * 10**9


@pytest.mark.parametrize("levels", [3, 1000])
def test_precision_and_recall_agree_with_scikit_learn(levels: int) -> None:
    rng = np.random.default_rng(levels)
    labels = rng.random(500) < 0.1
    scores = rng.integers(0, levels, 500) + levels * labels * rng.random(500)
    precision, recall, _ = precision_recall_curve(labels, scores)
    assert auc_pr(labels, scores) == pytest.approx(average_precision_score(labels, scores))
    assert best_f1(labels, scores) == pytest.approx(
        np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12))
    )


def test_incidents_are_runs_of_labelled_rows() -> None:
    assert incidents(LABELS) == [(2, 3), (7, 7)]


def test_episodes_are_counted_by_the_incidents_they_touch() -> None:
    found = shown([(int(TS[3]), int(TS[5])), (int(TS[9]), int(TS[9]))], LABELS, TS)
    assert found.per_day == pytest.approx(2 / (9 / 24))
    assert (found.precision, found.recall) == (0.5, 0.5)


def test_no_episodes_have_no_precision_and_find_nothing() -> None:
    found = shown([], LABELS, TS)
    assert np.isnan(found.precision)
    assert (found.per_day, found.recall) == (0, 0)


def test_days_without_an_incident_are_counted_by_the_episodes_that_begin_in_them() -> None:
    """A row an hour for 72, an incident at 30 to 33: 24 hours are quiet from 0 to 6 and from 34 to 47 on."""
    ts = np.arange(72) * 3600 * 10**9
    labels = np.zeros(72, bool)
    labels[30:34] = True
    begun = [5, 40, 50]
    expected = [sum(start <= each < start + 24 for each in begun) for start in [*range(7), *range(34, 48)]]
    found = shown([(int(ts[each]), int(ts[each])) for each in begun], labels, ts)
    assert found.quiet_day == pytest.approx(np.mean(expected))
    assert np.isnan(shown([], np.ones(72, bool), ts).quiet_day)
    assert np.isnan(shown([], labels[:20], ts[:20]).quiet_day)


def test_a_hit_is_a_named_metric_among_the_first() -> None:
    parts = np.tile([0.1, 5.0, 3.0, 4.0], (10, 1))
    causes = [Cause(2, 4, ("b", "c")), Cause(7, 8, ("a",)), Cause(20, 21, ("a",))]
    assert hit_rate(parts, ["a", "b", "c", "d"], causes, 1.0) == 0.25
    assert hit_rate(parts, ["a", "b", "c", "d"], causes, 1.5) == 0.5


def test_machines_are_found_by_their_two_halves(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no labelled machine"):
        machines(tmp_path)
    folder = tmp_path / "smd" / "machine-1"
    folder.mkdir(parents=True)
    table = pa.table({"ts": pa.array(TS, pa.timestamp("ns")), "x": TS * 1.0, "label": LABELS.astype(np.int8)})
    for half in ("train", "test"):
        pq.write_table(table, folder / f"{half}.parquet")
    causes = {"causes": [{"first_row": 2, "end_row": 4, "metrics": ["x"]}]}
    (folder / "causes.json").write_text(json.dumps(causes), "utf-8")
    (found,) = machines(tmp_path)
    assert (found.name, found.set) == ("smd/machine-1", "smd")
    assert found.labels().tolist() == LABELS.tolist()
    assert found.causes() == (Cause(2, 4, ("x",)),)

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import average_precision_score, precision_recall_curve

from bench.detect import Measured, bench_detect, left_out
from bench.labelled import Cause, Shown, auc_pr, best_f1, hit_rate, incidents, machines, shown
from hostsight.errors import UsageError
from hostsight.settings import Settings

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


CAUSES = {"causes": [{"first_row": 2, "end_row": 4, "metrics": ["x"]}]}


def labelled(data: Path, **test: pa.Array) -> Path:
    """The folder of a machine; test: columns of its test half in place of a label a row."""
    folder = data / "smd" / "machine-1"
    folder.mkdir(parents=True)
    columns = {"ts": pa.array(TS, pa.timestamp("ns")), "x": pa.array(TS * 1.0)}
    pq.write_table(pa.table(columns), folder / "train.parquet")
    label = {"label": pa.array(LABELS.astype(np.int8))}
    pq.write_table(pa.table(columns | (test or label)), folder / "test.parquet")
    (folder / "causes.json").write_text(json.dumps(CAUSES), "utf-8")
    return folder


def test_machines_are_found_by_their_two_halves(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no labelled machine"):
        machines(tmp_path)
    labelled(tmp_path)
    (found,) = machines(tmp_path)
    assert (found.name, found.set) == ("smd/machine-1", "smd")
    assert found.labels().tolist() == LABELS.tolist()
    assert found.causes() == (Cause(2, 4, ("x",)),)


@pytest.mark.parametrize("test", [{"y": pa.array(TS)}, {"label": pa.array(["no"] * len(TS))}])
def test_a_machine_without_labels_is_named_before_any_is_learnt_from(
    tmp_path: Path, test: dict[str, pa.Array]
) -> None:
    labelled(tmp_path, **test)
    with pytest.raises(
        UsageError, match=r"test\.parquet: the column label, 0 or 1 for each row, cannot be read"
    ):
        bench_detect(Settings(), tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", r"is not \{\"causes\": .* \(Input data was truncated\); write it anew"),
        ('{"causes": [{"first_row": "a"}]}', "Expected `int`, got `str`"),
        ('{"causes": [{"first_row": 4, "end_row": 2, "metrics": []}]}', "rows 4 to 2 are no incident"),
        ('{"causes": [{"first_row": -4, "end_row": 2, "metrics": []}]}', "rows -4 to 2 are no incident"),
        (None, r"causes\.json cannot be read \(No such file"),
    ],
)
def test_causes_that_are_not_understood_are_named(tmp_path: Path, text: str | None, words: str) -> None:
    path = labelled(tmp_path) / "causes.json"
    path.unlink()
    if text is not None:
        path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=words):
        bench_detect(Settings(), tmp_path)


def test_a_lone_machine_gets_the_first_way_since_no_other_chooses() -> None:
    one = Measured("smd/a", {"zscore": (0.2, 0.3), "fused": (0.6, 0.7)}, 1.0, 1.0, Shown(1, 1, 1, 1), 1.0)
    found = left_out({"smd": [one]})
    assert found == {"sets": {"smd": {"auc_pr": 0.2, "best_f1": 0.3}}, "chosen": {"smd/a": "zscore"}}


def test_each_machine_gets_what_is_best_on_the_others() -> None:
    ways = {"a": {"x": (0.9, 0.8), "y": (0.1, 0.2)}, "b": {"x": (0.3, 0.3), "y": (0.5, 0.6)}}
    group = [Measured(name, ranked, 1.0, 1.0, Shown(1, 1, 1, 1), 1.0) for name, ranked in ways.items()]
    found = left_out({"smd": group})
    assert found["chosen"] == {"a": "y", "b": "x"}
    assert found["sets"] == {"smd": {"auc_pr": pytest.approx(0.2), "best_f1": pytest.approx(0.25)}}

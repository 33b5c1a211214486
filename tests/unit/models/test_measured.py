from __future__ import annotations

import numpy as np

from models.measured import Measured

FAST, SLOW = 0, 1


def flags(rows: list[list[int]]) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    return np.array(rows, np.bool_)


def test_windows_without_the_channel_that_was_anomalous_say_nothing() -> None:
    present = flags([[1, 1], [1, 0], [1, 0], [1, 1], [1, 0]])
    deciding = flags([[0, 1], [0, 0], [0, 0], [0, 0], [0, 0]])
    assert Measured(2).silent(present, deciding).tolist() == [False, True, True, False, False]


def test_a_channel_that_is_always_there_leaves_no_window_out() -> None:
    present = np.ones((5, 2), np.bool_)
    deciding = flags([[1, 0], [0, 0], [0, 0], [1, 0], [0, 0]])
    assert not Measured(2).silent(present, deciding).any()


def test_it_is_over_when_nothing_is_measured_for_half_a_minute() -> None:
    present = np.tile(np.array([[True, False]]), (60, 1))
    deciding = np.zeros((60, 2), np.bool_)
    deciding[0, SLOW] = True
    assert Measured(2).silent(present, deciding).sum() == 30


def test_how_windows_are_batched_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    present, deciding = rng.random((50, 2)) < 0.4, rng.random((50, 2)) < 0.1
    one = Measured(2)
    parts = [one.silent(present[at : at + 7], deciding[at : at + 7]) for at in range(0, 50, 7)]
    assert np.array_equal(np.concatenate(parts), Measured(2).silent(present, deciding))

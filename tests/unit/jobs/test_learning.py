from __future__ import annotations

from hostsight.clock import SECOND_NS
from hostsight.settings import DetectSettings, Duration, Settings
from jobs.learning import RETRY_WINDOWS, History, Learning, warmup_windows

MINUTE = 60 * SECOND_NS


def settings(warmup: float) -> Settings:
    return Settings(detect=DetectSettings(warmup=Duration(warmup), train_span=Duration(86_400)))


def test_a_minute_of_telemetry_has_58_windows_of_three_seconds() -> None:
    assert warmup_windows(settings(60)) == 58


def test_a_short_warm_up_still_has_the_windows_that_a_baseline_needs() -> None:
    assert [warmup_windows(settings(seconds)) for seconds in (10, 32, 33)] == [30, 30, 31]


def test_the_first_baseline_is_asked_for_once_the_warm_up_is_over() -> None:
    learning = Learning(settings(60), windows=57)
    assert learning.due(None, 0, live=False) is None
    assert round(learning.progress, 3) == 0.983

    learning.windows = 58
    assert learning.due(None, 0, live=False) == "warm-up"
    assert learning.due(None, 0, live=False) is None
    assert learning.activity == "fitting a baseline"


def test_a_first_fit_that_came_to_nothing_is_tried_again_later() -> None:
    learning = Learning(settings(60), windows=58)
    learning.due(None, 0, live=False)

    learning.windows = 58 + RETRY_WINDOWS - 1
    assert learning.due(None, 0, live=False) is None
    learning.windows += 1
    assert learning.due(None, 0, live=False) == "warm-up"


def test_a_live_model_that_cannot_be_used_is_learnt_anew_from_what_is_there() -> None:
    learning = Learning(settings(60), windows=58)
    assert learning.due(History(0, 3 * MINUTE), 4 * MINUTE, live=False) == "unusable"
    assert learning.due(History(0, 3 * MINUTE), 4 * MINUTE, live=False) is None


def test_a_refit_is_due_whenever_the_history_has_doubled() -> None:
    learning = Learning(settings(180))
    history = History(0, 3 * MINUTE)

    assert learning.due(history, 6 * MINUTE - 1, live=True) is None
    assert learning.due(history, 6 * MINUTE, live=True) == "growth"
    assert learning.due(history, 6 * MINUTE, live=True) is None, "asked for already"
    assert learning.due(History(0, 6 * MINUTE), 12 * MINUTE, live=True) == "growth"


def test_with_half_a_day_learnt_the_nightly_refit_carries_on_alone() -> None:
    learning = Learning(settings(180))
    hours = 60 * MINUTE

    assert learning.due(History(0, 11 * hours), 22 * hours, live=True) == "growth"
    assert learning.due(History(0, 12 * hours), 24 * hours, live=True) is None


def test_the_warm_up_says_how_long_it_still_takes() -> None:
    learning = Learning(settings(60), windows=18)

    assert learning.activity == "learning what is normal here: 18 of 58 windows, 40 s to go"

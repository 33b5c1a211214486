from __future__ import annotations

import re

import pytest

from hostsight import errors
from hostsight.errors import HostsightError, NoDataError, nearest


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("HostsightError", 1),
        ("UsageError", 2),
        ("SettingsError", 2),
        ("UnavailableError", 3),
        ("NoDataError", 3),
        ("LockedError", 3),
        ("StorageError", 1),
        ("CorruptError", 1),
        ("FullError", 1),
        ("ModelError", 1),
    ],
)
def test_each_error_has_the_exit_code_of_its_branch(name: str, code: int) -> None:
    assert getattr(errors, name).exit_code == code


def test_the_tree_at_the_top_of_the_module_names_every_error() -> None:
    kinds = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, HostsightError)
    }
    assert kinds == set(re.findall(r"\w+Error\b", errors.__doc__ or ""))


def test_no_data_keeps_its_reason_apart_from_the_sentence() -> None:
    error = NoDataError("/proc/pressure is not there", "not supported", "boot with psi=1")
    assert (str(error), error.reason, error.remedy) == (
        "/proc/pressure is not there",
        "not supported",
        "boot with psi=1",
    )


@pytest.mark.parametrize(
    ("word", "expected"),
    [("warmpu", " (did you mean 'warmup'?)"), ("zzz", ""), ("", "")],
)
def test_nearest_names_a_close_word_or_nothing(word: str, expected: str) -> None:
    assert nearest(word, ["warmup", "window"]) == expected

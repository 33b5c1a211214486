"""The attribution tree."""

from __future__ import annotations

import pytest

from tests.console.fake import ATTRIBUTION
from tui.attribution import nodes


def test_the_largest_share_comes_first_on_each_level() -> None:
    paths = [node.path for node in nodes(ATTRIBUTION, frozenset())]
    assert paths == [
        ("cpu",),
        ("cpu", "host"),
        ("cpu", "host", "busy_percent"),
        ("cpu", "cpu3"),
        ("cpu", "cpu3", "user_percent"),
        ("memory",),
        ("memory", "node0"),
        ("memory", "node0", "free_bytes"),
        ("storage",),
        ("storage", "nvme0n1"),
        ("storage", "nvme0n1", "read_await_seconds"),
    ]


def test_a_part_has_the_share_of_what_is_below_it() -> None:
    shares = {node.path: node.share for node in nodes(ATTRIBUTION, frozenset())}
    assert shares["cpu",] == pytest.approx(0.7)
    assert shares["cpu", "cpu3"] == pytest.approx(0.2)


def test_a_folded_part_hides_what_is_below_it() -> None:
    rows = nodes(ATTRIBUTION, frozenset({("cpu",), ("memory", "node0")}))
    assert [node.path for node in rows][:3] == [("cpu",), ("memory",), ("memory", "node0")]
    assert [node.folded for node in rows][:3] == [True, False, True]


def test_a_part_stands_for_its_strongest_channel() -> None:
    first = nodes(ATTRIBUTION, frozenset())[0]
    assert first.channel.metric == "busy_percent"

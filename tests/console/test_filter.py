"""The filter of the episode list."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.console.fake import EPISODE, NOW
from tui.filter import matching

OPEN = EPISODE
CLOSED = replace(
    EPISODE, id=8, host="node-b", closed_ns=NOW, severity="info", subsystem="network", device="eth0",
    metric="rx_drops_per_s", summary="network: eth0 drops",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", [7, 8]),
        ("   ", [7, 8]),
        ("ETH0", [8]),
        ("network info", [8]),
        ("cpu info", []),
        ("severity:critical", [7]),
        ("state:open", [7]),
        ("host:node", [8]),
        ("-info", [7]),
        ("-host:gpu01 drops", [8]),
        ("id:8", [8]),
        ("usually 4", [7]),
        ("unknown:word", []),
        ("-", [8]),
        ("[", []),
    ],
)
def test_all_words_must_be_found(text: str, ids: list[int]) -> None:
    assert [episode.id for episode in matching([OPEN, CLOSED], text)] == ids

"""The filter of the episode list: words that must all be found, in any order and case.

`cpu critical`   both words, anywhere in the row
`host:gpu01`     in that column: id, host, severity, state, subsystem, device, metric
`-info`          not in the row
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tui.source import Episode

_COLUMNS: dict[str, Callable[[Episode], str]] = {
    "id": lambda episode: str(episode.id),
    "host": lambda episode: episode.host,
    "severity": lambda episode: episode.severity,
    "state": lambda episode: "open" if episode.open else "closed",
    "subsystem": lambda episode: episode.subsystem,
    "device": lambda episode: episode.device,
    "metric": lambda episode: episode.metric,
    "summary": lambda episode: episode.said,
}


def matching(episodes: Iterable[Episode], text: str) -> list[Episode]:
    """The episodes that `text` lets through, in the order given; an empty text lets all through."""
    tests = [_test(word) for word in text.casefold().split()]
    return [episode for episode in episodes if all(test(episode) for test in tests)]


def _test(word: str) -> Callable[[Episode], bool]:
    if word.startswith("-") and len(word) > 1:
        wanted = _test(word[1:])
        return lambda episode: not wanted(episode)
    name, colon, value = word.partition(":")
    if colon and name in _COLUMNS:
        column = _COLUMNS[name]
        return lambda episode: value in column(episode).casefold()
    return lambda episode: any(word in column(episode).casefold() for column in _COLUMNS.values())

"""States and severities: always a glyph, a word and a colour, so that no one of them is needed alone."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content


@dataclass(frozen=True, slots=True)
class Mark:
    glyph: str
    word: str
    style: str

    @property
    def text(self) -> str:
        return f"{self.glyph} {self.word}"

    def content(self, width: int = 0) -> Content:
        return Content.styled(self.text.ljust(width), self.style)


MUTED = "$foreground 55%"
"""For what is read second. `$text-muted` is for style sheets: in content it comes out bright."""

NORMAL = Mark("●", "normal", "$text-success")
INFO = Mark("◆", "info", "$text-primary")
WARNING = Mark("▲", "warning", "$text-warning")
CRITICAL = Mark("■", "critical", "bold $text-error")
LEARNING = Mark("◌", "learning", "$text-primary")
NO_DATA = Mark("○", "no data", MUTED)
STALE = Mark("○", "stale", MUTED)
LIVE = Mark("●", "LIVE", "$text-success")
OUTDATED = Mark("◇", "STALE", "bold $text-warning")
WAITING = Mark("○", "WAITING", MUTED)
PAUSED = Mark("‖", "PAUSED", "bold $text-warning")

SEVERITIES = {"info": INFO, "warning": WARNING, "critical": CRITICAL}
RANKS = {"info": 1, "warning": 2, "critical": 3}
DIRECTIONS = {"high": "↑", "low": "↓", "changed": "≠"}


def severity(name: str) -> Mark:
    """The mark of a severity; an unknown one is shown as information."""
    return SEVERITIES.get(name, INFO)

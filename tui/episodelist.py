"""Episodes as rows; the summary takes what room is left."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from hostsight.clock import SECOND_NS
from tui.glyphs import MUTED, severity
from tui.quantity import duration, instant
from tui.rowlist import RowList
from tui.source import Episode
from tui.text import fit

SEVERITY, OPENED, LASTED, HOST, SUBSYSTEM, SCORE = 12, 14, 13, 14, 12, 6
WIDE = 95


class EpisodeList(RowList[Episode]):
    """All episodes of the time range. `now_ns` decides how instants are written; set it before `show`."""

    now_ns = 0
    order = ""

    def key(self, row: Episode) -> object:
        return row.id

    def heading(self, width: int) -> Content | None:
        words = ("opened (UTC)", "lasted", "host", "subsystem", "score", "summary")
        return Content("  " + fit("severity", SEVERITY) + _line(words, width - 2 - SEVERITY))

    def line(self, row: Episode, width: int) -> Content:
        lasted = duration((row.end_ns - row.opened_ns) / SECOND_NS) + (" …" if row.open else "")
        opened = instant(row.opened_ns, self.now_ns)
        words = (opened, lasted, row.host, row.subsystem, f"{row.score:.3g}", row.said)
        return Content.assemble(severity(row.severity).content(SEVERITY), _line(words, width - SEVERITY))


def _line(words: tuple[str, str, str, str, str, str], width: int) -> str:
    """One line of what follows the severity; narrow screens leave out what the summary says anyway."""
    opened, lasted, host, subsystem, score, summary = words
    left = fit(opened, OPENED) + fit(lasted, LASTED)
    room = width - OPENED - LASTED
    if width >= WIDE:
        left += fit(host, HOST) + fit(subsystem, SUBSYSTEM + 1) + fit(score, SCORE, right=True) + "  "
        room -= HOST + SUBSYSTEM + 1 + SCORE + 2
    return left + fit(summary, max(0, room))


class OpenEpisodes(EpisodeList):
    """The open ones below the overview: no heading, and for how long instead of since when."""

    shows_host = False

    def heading(self, width: int) -> Content | None:
        return None

    def line(self, row: Episode, width: int) -> Content:
        since = duration((self.now_ns - row.opened_ns) / SECOND_NS)
        left = Content.assemble(severity(row.severity).content(SEVERITY), fit(f"for {since}", LASTED + 2))
        host = fit(row.host, HOST if self.shows_host else 0)
        rest = width - left.cell_length - cell_len(host)
        return Content.assemble(left, (host, MUTED), fit(row.said, max(0, rest)))

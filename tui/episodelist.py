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

SEVERITY, OPENED, LASTED, WIDE_LASTED, SINCE = 12, 13, 12, 18, 16
ID, HOST, SUBSYSTEM, SCORE = 7, 14, 12, 6
WIDE = 95


class EpisodeList(RowList[Episode]):
    """All episodes of the time range. `now_ns` decides how instants are written; set it before `show`."""

    now_ns = 0
    order = ""

    def key(self, row: Episode) -> object:
        return row.id

    def heading(self, width: int) -> Content | None:
        inside = width - 2
        words = ("id", "opened (UTC)", "lasted", "host", "subsystem", "score", "summary")
        return Content("  " + fit("severity", SEVERITY) + _line(words, inside - SEVERITY))

    def line(self, row: Episode, width: int) -> Content:
        room = width - SEVERITY
        lasted = duration((row.end_ns - row.opened_ns) / SECOND_NS, parts=2 if room >= WIDE else 1)
        words = (
            str(row.id),
            instant(row.opened_ns, self.now_ns),
            f"open {lasted}" if row.open else lasted,
            row.host,
            row.subsystem,
            f"{row.score:.3g}",
            row.said,
        )
        return Content.assemble(severity(row.severity).content(SEVERITY), _line(words, room))


def _line(words: tuple[str, str, str, str, str, str, str], width: int) -> str:
    """One line of what follows the severity; narrow screens leave out what the summary says anyway."""
    number, opened, lasted, host, subsystem, score, summary = words
    if width < WIDE:
        left = fit(opened, OPENED) + fit(lasted, LASTED)
    else:
        left = fit(number, ID) + fit(opened, OPENED + 1) + fit(lasted, WIDE_LASTED)
        left += fit(host, HOST) + fit(subsystem, SUBSYSTEM + 1) + fit(score, SCORE, right=True) + "  "
    return left + fit(summary, max(0, width - cell_len(left)))


class OpenEpisodes(EpisodeList):
    """The open ones below the overview: no heading, and for how long instead of since when."""

    shows_host = False

    def heading(self, width: int) -> Content | None:
        return None

    def line(self, row: Episode, width: int) -> Content:
        since = duration((self.now_ns - row.opened_ns) / SECOND_NS)
        left = Content.assemble(severity(row.severity).content(SEVERITY), fit(f"for {since}", SINCE))
        host = fit(row.host, HOST if self.shows_host else 0)
        rest = width - left.cell_length - cell_len(host)
        return Content.assemble(left, (host, MUTED), fit(row.said, max(0, rest)))

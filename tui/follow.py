"""Which time range is shown, and whether it moves with the clock."""

from __future__ import annotations

from hostsight.errors import UsageError
from hostsight.timerange import TimeRange, format_duration, parse_range


class Follow:
    """A range in the grammar of `hostsight.timerange`: LIVE while its end is now, PAUSED while it stands still."""

    def __init__(self, text: str = "5m") -> None:
        self.text = text
        self._still: TimeRange | None = None

    @property
    def live(self) -> bool:
        return self._still is None

    def span(self, now_ns: int) -> TimeRange:
        return self._still or _up_to_now(parse_range(self.text, now_ns), now_ns)

    def choose(self, text: str, now_ns: int) -> None:
        """Show `text`; it stands still where it ends in the past. Raises UsageError and changes nothing."""
        wanted = parse_range(text, now_ns)
        span = _up_to_now(wanted, now_ns)
        if not span:
            raise UsageError(
                f"'{text}' holds no time before now; write a range such as 15m, now-6h..now-1h or 2026-01-31.."
            )
        self.text = text.strip()
        self._still = None if wanted.end_ns >= now_ns else span

    def toggle(self, now_ns: int) -> None:
        """Stand still at what is shown now, or move again: a range of the past goes on as one of its length."""
        if self._still is None:
            self._still = self.span(now_ns)
            return
        if parse_range(self.text, now_ns).end_ns < now_ns:
            self.text = format_duration(round(self._still.seconds))
        self._still = None


def _up_to_now(span: TimeRange, now_ns: int) -> TimeRange:
    return TimeRange(min(span.start_ns, now_ns), min(span.end_ns, now_ns))

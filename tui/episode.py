"""One episode in full: what happened, when, and what explains it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from hostsight.clock import SECOND_NS
from hostsight.timerange import TimeRange
from tui.attribution import AttributionTree, Node
from tui.glyphs import MUTED, severity
from tui.quantity import duration, instant, probability, quantity
from tui.source import DetectorVote, Episode, EpisodeDetail, Pulse
from tui.text import clean, fit
from tui.timeline import Plot, Timeline
from tui.trouble import trouble
from tui.view import View

MIN_MARGIN_NS = 60 * SECOND_NS
POINTS = 400


class EpisodeView(View):
    DEFAULT_CSS = """
    EpisodeView #summary { height: auto; max-height: 3; padding: 0 2; }
    EpisodeView #facts { height: 1; padding: 0 2; margin-bottom: 1; color: $text-muted; }
    EpisodeView #timeline { height: 30%; min-height: 7; max-height: 14; margin-bottom: 1; }
    EpisodeView #tally { height: 1; padding: 0 2; color: $text-muted; }
    EpisodeView #votes { height: auto; max-height: 8; padding: 0 2; display: none; }
    EpisodeView.-tall #votes { display: block; }
    EpisodeView.-tall #tally, EpisodeView.-short #tally { display: none; }
    EpisodeView #facts, EpisodeView #tally, EpisodeView #votes { text-wrap: nowrap; text-overflow: ellipsis; }
    """
    HELP = (
        "The course of the metric under the cursor, with the episode marked below it and the expected level dashed. "
        "Shares say how much of the episode each part explains; they sum to 100 %. Beyond an alarm level a detector votes."
    )
    VERTICAL_BREAKPOINTS = [(0, "-short"), (22, "-middle"), (34, "-tall")]  # noqa: RUF012  # textual declares it without ClassVar
    AUTO_FOCUS: ClassVar[str | None] = "AttributionTree"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "back", "Back", key_display="Esc"),
        Binding(
            "a", "acknowledge", "Ack", tooltip="Somebody is at it: no more alerts about it; again: take back"
        ),
        Binding("y", "copy", "Copy", tooltip="Copy the episode as text, over SSH too (OSC 52)"),
    ]

    def __init__(self, episode_id: int) -> None:
        super().__init__()
        self._episode_id = episode_id
        self._detail: EpisodeDetail | None = None

    def crumbs(self) -> tuple[str, ...]:
        mode = "Episodes" if self.app.current_mode == "episodes" else "Overview"
        return ("hostsight", mode, f"Episode {self._episode_id}")

    def body(self) -> ComposeResult:
        yield Static("Reading the episode ...", id="summary", markup=False)
        yield Static(id="facts", markup=False)
        yield Timeline(id="timeline")
        yield AttributionTree(id="tree")
        yield Static(id="tally", markup=False)
        yield Static(id="votes", markup=False)

    async def load(self, pulse: Pulse, span: TimeRange) -> None:
        detail = await self.console.read(self.console.source.episode, self._episode_id)
        self._detail = detail
        now = self.console.clock.wall_ns()
        self.query_one("#summary", Static).update(summary(detail.episode))
        self.query_one("#facts", Static).update(facts(detail.episode, now))
        self.query_one("#tally", Static).update(tally(detail))
        self.query_one("#votes", Static).update(votes(detail))
        self.query_one(AttributionTree).show_attribution(detail.attribution)
        await self._plot()

    def on_mount(self) -> None:
        self.watch(self.query_one(AttributionTree), "cursor", self._cursor_moved, init=False)

    def _cursor_moved(self) -> None:
        self.run_worker(self._plot_or_say(), group="plot", exclusive=True)

    async def _plot_or_say(self) -> None:
        try:
            await self._plot()
        except Exception as error:  # noqa: BLE001  # the console outlives it
            self.show_trouble(trouble(error))

    async def _plot(self) -> None:
        node = self.query_one(AttributionTree).current
        if node is None or self._detail is None:
            return
        episode = self._detail.episode
        span = around(episode, self.console.clock.wall_ns())
        series = await self.console.read(self.console.source.series, episode.host, node.channel, span, POINTS)
        self.query_one(Timeline).show(
            Plot(
                label=_label(node),
                unit=node.channel.unit,
                series=series,
                span=span,
                window=TimeRange(episode.opened_ns, max(episode.opened_ns, episode.end_ns)),
                expected=node.channel.expected,
                style=severity(episode.severity).style,
            )
        )

    def action_back(self) -> None:
        self.dismiss()

    async def action_acknowledge(self) -> None:
        await self.acknowledge(self._episode_id)

    def action_copy(self) -> None:
        if self._detail is not None:
            self.app.copy_to_clipboard(plain_text(self._detail, self.console.clock.wall_ns()))
            self.notify("Episode copied", timeout=2)


def around(episode: Episode, now_ns: int) -> TimeRange:
    """The episode with as much before it, at least a minute, and half as much after it, up to now."""
    lasted = max(0, episode.end_ns - episode.opened_ns)
    margin = max(MIN_MARGIN_NS, lasted)
    end = max(episode.end_ns, min(now_ns, episode.end_ns + margin // 2))
    return TimeRange(episode.opened_ns - margin, max(end, episode.opened_ns + 1))


def summary(episode: Episode) -> Content:
    return Content.assemble(severity(episode.severity).content(), "  ", (clean(episode.said), "bold"))


def facts(episode: Episode, now_ns: int) -> str:
    """Where, when, for how long, how sure."""
    since = instant(episode.opened_ns, now_ns)
    lasted = duration((episode.end_ns - episode.opened_ns) / SECOND_NS)
    when = f"open since {since} UTC, {lasted}" if episode.open else f"from {since} UTC for {lasted}"
    sure = f"score {episode.score:.3g} · confidence {100 * episode.confidence:.0f} %"
    return f"{clean(episode.host)} · {when} · {sure}"


def _ranked(detail: EpisodeDetail) -> list[DetectorVote]:
    """The detectors, the rarest tail first."""
    return sorted(detail.detectors, key=lambda vote: vote.tail_probability)


def _votes(vote: DetectorVote) -> bool:
    return vote.tail_probability <= vote.threshold


def tally(detail: EpisodeDetail) -> str:
    """The votes where there is room for one line."""
    voting = [clean(vote.name) for vote in _ranked(detail) if _votes(vote)]
    of = f"{len(voting)} of {len(detail.detectors)} detectors vote"
    return f"{of}: {', '.join(voting)}" if voting else of


def votes(detail: EpisodeDetail) -> Content:
    """A line a detector, the rarest first, and the model they belong to."""
    lines = [Content.styled(f"Detectors of model {clean(detail.model)}", "bold")]
    for vote in _ranked(detail):
        beyond = _votes(vote)
        mark = ("▲ votes   ", "$text-warning") if beyond else ("  silent  ", MUTED)
        chance = fit(f"tail {probability(vote.tail_probability)}", 24)
        alarm = (f"alarm at {probability(vote.threshold)}", MUTED)
        lines.append(Content.assemble("  ", fit(vote.name, 18), mark, chance, alarm))
    return Content("\n").join(lines)


def plain_text(detail: EpisodeDetail, now_ns: int) -> str:
    """The episode for a message to a colleague."""
    lines = [summary(detail.episode).plain, facts(detail.episode, now_ns)]
    for row in detail.attribution:
        expected, actual = (quantity(value, row.unit) for value in (row.expected, row.actual))
        lines.append(
            f"{100 * row.share:3.0f} %  {clean(row.subsystem)} {clean(row.device)} {clean(row.metric)}: "
            f"{clean(actual)}, expected {clean(expected)}"
        )
    return "\n".join([*lines, votes(detail).plain])


def _label(node: Node) -> str:
    channel = node.channel
    return f"{channel.subsystem} {channel.device} {channel.metric}"

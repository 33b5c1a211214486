from __future__ import annotations

import io
import re

import msgspec
import pytest
from rich.console import Console

from cli.lines import BarLines, PlainLines
from cli.narration import QUIET_SECONDS, Narrator
from hostsight.clock import SECOND_NS
from jobs.host_status import HostStatus
from jobs.status import AgentStatus, PipelineStatus, Status
from jobs.store_status import StoreStatus
from models.episode_store import Episode

T0 = 1_700_000_000 * SECOND_NS
HOST = HostStatus(
    host="gpu01",
    phase="learning",
    progress=0.0,
    activity="learning what is normal here",
    windows=0,
    processed_to=None,
    newest_ns=None,
    lag_seconds=0.5,
    model=None,
    open_episodes=0,
)
EPISODE = Episode(
    id=3,
    host="gpu01",
    state="open",
    opened_ns=T0,
    last_seen_ns=T0 + 100 * SECOND_NS,
    closed_ns=None,
    severity="warning",
    score=9.0,
    confidence=2 / 3,
    subsystem="cpu",
    device="host",
    metric="busy_percent",
    cause=None,
    summary="cpu: busy is 97 %, usually 4 %",
    model="m",
    visible_ns=T0,
)


def status(*hosts: HostStatus, agent: bool = True, problems: tuple[str, ...] = ()) -> Status:
    return Status(
        version="0",
        data="/data",
        time="",
        agent=AgentStatus(running=agent, host="gpu01", channels=412, tick_seconds=0.1, cpu_percent=1.25),
        pipeline=PipelineStatus(running=agent, started="2026-01-31T11:59:00.000Z" if agent else None),
        store=StoreStatus(),
        hosts=hosts,
        jobs=(),
        models=0,
        problems=problems,
    )


@pytest.fixture
def narrator() -> Narrator:
    """One that has said already that the agent collects."""
    made = Narrator()
    assert made.tell(status(), (), T0) == ["collecting 412 channels of gpu01 every 100ms into /data"]
    return made


def learning(progress: float) -> Status:
    return status(msgspec.structs.replace(HOST, progress=progress))


def test_learning_is_told_in_tenths(narrator: Narrator) -> None:
    told = [narrator.tell(learning(progress), (), T0) for progress in (0.0, 0.05, 0.11, 0.12, 0.35)]
    assert told == [
        ["gpu01: 0%, learning what is normal here"],
        [],
        ["gpu01: 11%, learning what is normal here"],
        [],
        ["gpu01: 35%, learning what is normal here"],
    ]


def test_nothing_is_told_of_a_host_before_the_jobs_run() -> None:
    starting = msgspec.structs.replace(status(HOST), pipeline=PipelineStatus())
    assert Narrator().tell(starting, (), T0) == ["collecting 412 channels of gpu01 every 100ms into /data"]


def test_no_problem_is_told_before_the_jobs_have_reported() -> None:
    narrator, troubled = Narrator(), status(problems=("the disk is full",))
    starting = msgspec.structs.replace(troubled, pipeline=PipelineStatus(running=True))
    assert len(narrator.tell(starting, (), T0)) == 1
    assert narrator.tell(troubled, (), T0) == ["problem: the disk is full"]


def test_no_model_is_called_live_before_the_jobs_have_opened_it() -> None:
    live = status(msgspec.structs.replace(HOST, phase="live", progress=1.0, model="m1"))
    starting = msgspec.structs.replace(live, pipeline=PipelineStatus(running=True))
    assert len(Narrator().tell(starting, (), T0)) == 1, "what the agent collects"


def test_going_live_is_told_once(narrator: Narrator) -> None:
    live = status(msgspec.structs.replace(HOST, phase="live", progress=1.0, model="m1"))
    assert narrator.tell(live, (), T0) == [
        "gpu01: baseline is live: from now on every window is judged (model m1)"
    ]
    assert narrator.tell(live, (), T0) == []


def test_an_episode_is_told_when_it_opens_and_when_it_closes(narrator: Narrator) -> None:
    closed = msgspec.structs.replace(EPISODE, state="closed", closed_ns=T0, severity="critical")
    told = [narrator.tell(status(), [episode], T0) for episode in (EPISODE, EPISODE, closed, closed, EPISODE)]
    assert told == [
        [
            "episode 3 on gpu01 opened: warning, cpu: busy is 97 %, usually 4 %"
            " (confidence 66.7 %; hostsight explain 3)"
        ],
        [],
        ["episode 3 on gpu01 closed after 1m40s: critical, cpu: busy is 97 %, usually 4 %"],
        [],
        [
            "episode 3 on gpu01 opened again: warning, cpu: busy is 97 %, usually 4 %"
            " (confidence 66.7 %; hostsight explain 3)"
        ],
    ]


def test_problems_are_told_once_and_not_while_things_start() -> None:
    narrator = Narrator()
    assert narrator.tell(status(agent=False, problems=("no agent; start one",)), (), T0) == []
    narrator.tell(status(), (), T0)
    full = status(problems=("no space left; free some",))
    assert narrator.tell(full, (), T0) == ["problem: no space left; free some"]
    assert narrator.tell(full, (), T0) == []
    assert narrator.tell(status(), (), T0) == ["over: no space left; free some"]
    assert narrator.tell(status(), (), T0) == []


def test_a_quiet_minute_says_that_all_is_well(narrator: Narrator) -> None:
    live = status(msgspec.structs.replace(HOST, phase="live", windows=1234, model="m1"))
    narrator.tell(live, (), T0)
    assert narrator.tell(live, (), T0 + round((QUIET_SECONDS - 1) * SECOND_NS)) == []
    assert narrator.tell(live, (), T0 + round(QUIET_SECONDS * SECOND_NS)) == [
        "gpu01: 1,234 windows judged, 500ms behind, 0 open episodes; agent at 1.2 % of a core"
    ]


def test_a_bar_is_drawn_while_a_host_learns_and_lines_scroll_above(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    screen = Console(file=out, force_terminal=True, width=80, markup=False, highlight=False)
    monkeypatch.setattr("cli.output.console", lambda: screen)
    with BarLines() as lines:
        lines.show([msgspec.structs.replace(HOST, host="[b]gpu01\x1b[2J", progress=0.25)])
        lines.say("a line with [markup]")
    with BarLines() as idle:
        idle.show([msgspec.structs.replace(HOST, phase="live")])
    text = out.getvalue()
    assert r"[b]gpu01\x1b[2J: learning what is normal here" in text
    assert "25%" in text
    assert "Z  a line with [markup]" in text


def test_lines_for_a_log_come_with_their_time(capsys: pytest.CaptureFixture[str]) -> None:
    with PlainLines() as lines:
        lines.say("two\nlines")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  two\\nlines\n", capsys.readouterr().out)


def test_a_problem_that_goes_on_is_not_told_again_as_its_figures_grow() -> None:
    narrator = Narrator()
    narrator.tell(status(), (), T0)
    young, old = ("jobs (process 7) last reported 59s ago", "jobs (process 7) last reported 1m1s ago")

    assert narrator.tell(status(problems=(young, "eth0 is gone")), (), T0) == [
        "problem: eth0 is gone",
        f"problem: {young}",
    ]
    assert narrator.tell(status(problems=(old, "eth1 is gone")), (), T0) == [
        "problem: eth1 is gone",
        "over: eth0 is gone",
    ]


def test_what_stops_on_purpose_is_no_news() -> None:
    narrator = Narrator()
    narrator.tell(status(msgspec.structs.replace(HOST, phase="live")), (), T0)
    gone = msgspec.structs.replace(HOST, phase="no data", activity="waiting for telemetry")
    assert narrator.tell(status(gone, problems=("nothing is sent",)), (), T0, ending=True) == []

"""What a test sees of the console, and how it waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot

from hostsight.clock import FakeClock
from tests.console.fake import NOW, FakeSource
from tui.app import Console

SMALL, LARGE = (80, 24), (160, 50)
DEADLINE_SECONDS = 20.0


def console(source: FakeSource | None = None, **options: Any) -> Console:
    return Console(source or FakeSource(), clock=FakeClock(wall_ns=NOW), **options)


def text(app: Console) -> str:
    """The screen, line by line."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def until(pilot: Pilot[None], happened: Callable[[], bool]) -> None:
    """Let the application work until `happened`, which a deadline turns into a failure that shows the screen."""
    end = asyncio.get_running_loop().time() + DEADLINE_SECONDS
    while not happened():
        app = pilot.app
        assert isinstance(app, Console)
        assert asyncio.get_running_loop().time() < end, f"still waiting; the screen is\n{text(app)}"
        await pilot.pause()


async def shown(pilot: Pilot[None], *parts: str) -> str:
    """The screen once it shows all `parts`."""
    app = pilot.app
    assert isinstance(app, Console)
    await until(pilot, lambda: all(part in text(app) for part in parts))
    return text(app)

"""The page on the console names every key that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.console.fake import FakeSource
from tests.console.screen import SMALL, console, shown
from tui.keyline import usable_bindings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "console.md"


@pytest.mark.parametrize("mode", ["overview", "episodes", "query", "episode"])
async def test_each_key_of_the_key_line_is_documented(mode: str) -> None:
    page = PAGE.read_text("utf-8")
    app = console(FakeSource())
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "interconnect")
        if mode == "episode":
            app.show_episode(7)
            await shown(pilot, "explained by")
        else:
            app.action_view(mode)
            await pilot.pause()
        bindings = [binding for binding in usable_bindings(app.screen) if binding.show]
        keys = {app.get_key_display(binding).replace("⏎", "Enter") for binding in bindings}
        assert [key for key in sorted(keys) if f"`{key}`" not in page] == []

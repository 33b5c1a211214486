"""The reading thread."""

from __future__ import annotations

import asyncio
import threading

import pytest

from hostsight.errors import StorageError
from tui.background import Background


async def test_all_calls_run_on_one_thread_that_is_not_the_callers() -> None:
    background = Background("reader")
    names = {await background.run(threading.get_ident) for _ in range(5)}
    assert len(names) == 1
    assert threading.get_ident() not in names


async def test_an_error_reaches_the_one_who_waits_and_the_next_call_works() -> None:
    background = Background("reader")

    def fail() -> None:
        raise StorageError("the lake is gone")

    with pytest.raises(StorageError, match="the lake is gone"):
        await background.run(fail)
    assert await background.run(int, "7") == 7


async def test_a_call_nobody_waits_for_any_more_is_not_started() -> None:
    background, gate = Background("reader"), threading.Event()
    ran: list[int] = []
    blocking = asyncio.ensure_future(background.run(gate.wait, 30))
    abandoned = asyncio.ensure_future(background.run(ran.append, 1))
    await asyncio.sleep(0)
    abandoned.cancel()
    await asyncio.sleep(0)
    gate.set()
    await blocking
    await background.run(ran.append, 2)
    assert ran == [2]

"""Threads that share readings."""

from __future__ import annotations

import threading

from hostsight.clock import FakeClock
from ingest.crew import WAIT_SECONDS, Crew

DEADLINE = 20.0


def test_one_thread_does_all_in_the_order_asked(clock: FakeClock) -> None:
    crew, done, end = Crew(clock), list[tuple[int, str]](), threading.Event()
    for number in range(5):
        crew.ask(lambda number=number: done.append((number, threading.current_thread().name)))  # type: ignore[misc]
    crew.ask(end.set)
    assert not end.wait(0.1)
    crew.begin()
    assert end.wait(DEADLINE)
    assert done == [(number, "reading 1") for number in range(5)]
    crew.close()


def test_a_job_that_never_ends_holds_up_no_other(clock: FakeClock) -> None:
    crew, gate, begun, done = Crew(clock), threading.Event(), threading.Event(), threading.Event()

    def endless() -> None:
        begun.set()
        gate.wait(DEADLINE)

    crew.ask(endless)
    crew.begin()
    assert begun.wait(DEADLINE)
    asked_ns = clock.monotonic_ns()
    crew.ask(done.set)
    crew.begin()
    clock.advance(WAIT_SECONDS - 0.1)
    crew.help(asked_ns)
    assert not done.is_set()
    clock.advance(0.1)
    crew.help(asked_ns)
    assert done.wait(DEADLINE)
    gate.set()
    crew.close()


def test_one_wait_brings_one_thread(clock: FakeClock) -> None:
    crew, gate, begun = Crew(clock), threading.Event(), threading.Semaphore(0)

    def endless() -> None:
        begun.release()
        gate.wait(DEADLINE)

    asked_ns = clock.monotonic_ns()
    for _ in range(3):
        crew.ask(endless)
    crew.begin()
    clock.advance(WAIT_SECONDS)
    for _ in range(5):
        crew.help(asked_ns)
    assert begun.acquire(timeout=DEADLINE)
    assert begun.acquire(timeout=DEADLINE)
    assert not begun.acquire(timeout=0.2)
    gate.set()
    crew.close()

"""How often something that costs time is done again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hostsight.clock import Clock


class Pace:
    """`due` so rarely that what is done `within` takes at most `share` of the time."""

    def __init__(self, clock: Clock, share: float) -> None:
        self._clock = clock
        self._share = share
        self._rest_until_ns = 0

    @property
    def due(self) -> bool:
        return self._clock.monotonic_ns() >= self._rest_until_ns

    @contextmanager
    def within(self) -> Iterator[None]:
        """Counts the time that its block takes."""
        started_ns = self._clock.monotonic_ns()
        try:
            yield
        finally:
            ended_ns = self._clock.monotonic_ns()
            self._rest_until_ns = ended_ns + round((ended_ns - started_ns) * (1 / self._share - 1))

"""One collector's life: opened, read, turned into values; backed off where it fails, looked for again where absent."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import perf_counter_ns
from typing import Literal

import numpy as np

from hostsight.channel import KINDS, SUBSYSTEMS
from hostsight.clock import SECOND_NS, Clock
from hostsight.errors import NoDataError
from ingest.collector import Captured, Collector, Host, Metric, Slot, Values, captured_by, tier_on
from ingest.leaks import LeakError, LeakWatch
from ingest.rates import Rates

State = Literal["ok", "absent", "failed"]
Fault = Exception | SystemExit
FAULTS = (Exception, SystemExit)
"""What a collector may raise: one that would end the process costs its own channels, as any other."""

FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 60.0
MOST_CHANGES = 5
CHANGES_SECONDS = 10
"""Hardware that changes more than MOST_CHANGES times in CHANGES_SECONDS is backed off from."""

MOST_SLOTS = 20_000
"""A collector that lists more floods the spool and the jobs; a host of 1,024 CPUs and 64 disks has fewer."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_RESTLESS = "the hardware changes faster than it can be listed"


@dataclass(frozen=True, slots=True)
class Condition:
    """`absent`: this host has nothing of the kind (`reason`). `failed`: it should have, and reading it went wrong."""

    state: State
    reason: str = ""
    error: str = ""
    remedy: str = ""


OK = Condition("ok")


class HeldUpError(Exception):
    """Raised by a watchdog inside a collector that does not return."""


class Reader:
    """Drives one collector; no exception of it gets past `step`.

    `slots` is the layout of what `step` gives, and a new tuple each time the hardware changed. They stay while a
    collector fails, so that a passing fault leaves the channels as they are, without values.
    """

    def __init__(self, collector: Collector, host: Host, clock: Clock) -> None:
        self.collector = collector
        self.tier = tier_on(collector, host)
        self.slots: tuple[Slot, ...] = ()
        self.condition = Condition("absent", "not opened yet")
        self.read_ns = 0
        """How long the last reading took."""
        self.raw: Values = np.empty(0)
        """The last reading as the collector gave it, before rates and scale; one value a slot."""
        self.busy = False
        """Whether the collector is at work: a HeldUpError raised then is taken as its failure."""
        self.held_up = False
        """Whether it ever was."""
        self.captured: list[int] = []
        """When each capture was made that `settle` has not parsed yet, monotonic."""
        self._retired = False
        self._host = host
        self._clock = clock
        self._rates = Rates(())
        self._open = False
        self._retry_ns = 0
        self._wait = FIRST_RETRY_SECONDS
        self._leaks = LeakWatch()
        self._changes: deque[int] = deque(maxlen=MOST_CHANGES)
        self._read_from: Sequence[Captured] = ()
        self._takes: tuple[Callable[[], None], ...] = ()

    @property
    def takes(self) -> tuple[Callable[[], None], ...]:
        """Calls that take what the collector reads as it is now, for `settle` to parse; none where `step` must be used.

        Where one of them raises, `fail` must be told.
        """
        return self._takes if self._open else ()

    def settle(self) -> Values:
        """Values of all captures since the last call, float64[captures, slots] in the layout that they were made in.

        From the one on that a failure or a change of the hardware spoils they are NaN. Call it with numpy's warnings off,
        as `step`.
        """
        taken, self.captured = self.captured, []
        values = np.full((len(taken), len(self.slots)), np.nan)
        parsed, error = self._parse(values)
        error = self._forget() or error
        values[:parsed] = self._rates.rows(values[:parsed], taken[:parsed])
        values[parsed:] = np.nan
        if error is None and parsed < len(taken):
            error = self._changed()
        if error is not None:
            self.fail(error)
        return values

    def step(self) -> Values | None:
        """Read once; float64[slots] with NaN where absent, or None where there is nothing now.

        Call it with numpy's warnings about invalid operations off: a reading may be infinite.
        """
        if self.resting or (not self._open and not self.open()):
            return None
        try:
            values = self._read()
        except FAULTS as error:  # shown, and costs the collector's channels only
            self.fail(error)
            return None
        self._wait = FIRST_RETRY_SECONDS
        return values

    @property
    def resting(self) -> bool:
        """Whether it is absent or failed, and not to be tried yet: `step` gives nothing."""
        return not self._open and (self._retired or self._clock.monotonic_ns() < self._retry_ns)

    def open(self) -> bool:
        """Ask the collector for its layout; False where it is absent or failed, as `condition` then says."""
        try:
            listed = self._list()
        except NoDataError as error:
            self._relist(())
            self._set_aside(Condition("absent", error.reason, str(error), error.remedy), LAST_RETRY_SECONDS)
            return False
        except FAULTS as error:  # see step
            self.fail(error)
            return False
        self._relist(listed)
        self._open = True
        self.condition = OK
        return True

    def close(self) -> None:
        self._open = False
        self.captured = []
        try:
            self.collector.close()
        except FAULTS as error:  # closing is the last thing asked of it
            self.condition = Condition("failed", error=describe(error))

    def _list(self) -> tuple[Slot, ...]:
        self.busy = True
        try:
            listed = _checked(self.collector.open(self._host))
            self._read_from = tuple(captured_by(self.collector))
            captures = [one.capture for one in self._read_from]
            self._takes = (*captures, self._stamp) if captures else ()
            return listed
        finally:
            self.busy = False

    def _stamp(self) -> None:
        self.captured.append(self._clock.monotonic_ns())

    def _read(self) -> Values | None:
        if self._fill(self.raw):
            return self._rated()
        if self._list_anew() and self._fill(self.raw):
            return self._rated()
        if self._open:
            raise RuntimeError(_RESTLESS)
        return None

    def _parse(self, rows: Values) -> tuple[int, Fault | None]:
        """Fill `rows`, float64[rows, slots], NaN so far; how many could be, and what went wrong with the one after."""
        started, done = perf_counter_ns(), 0
        self._leaks.before()
        self.busy = True
        try:
            for row in rows:
                if not _said(self.collector.read(row)):
                    return done, None
                done += 1
            self._leaks.after()
        except FAULTS as error:  # see step
            return done, error
        finally:
            self.busy = False
        if done:
            self._wait = FIRST_RETRY_SECONDS
            self.read_ns = (perf_counter_ns() - started) // done
        return done, None

    def _forget(self) -> Fault | None:
        """Drop what was captured and that `read` left; what went wrong."""
        try:
            for one in self._read_from:
                one.forget()
        except FAULTS as error:  # see step
            return error
        return None

    def _changed(self) -> Fault | None:
        try:
            self._list_anew()
        except RuntimeError as error:
            return error
        return None

    def _list_anew(self) -> bool:
        self.close()
        self._note_change()
        return self.open()

    def _note_change(self) -> None:
        """Raises RuntimeError where listing anew, which ends a spool segment each time, would never end."""
        now = self._clock.monotonic_ns()
        if len(self._changes) == MOST_CHANGES and now - self._changes[0] < CHANGES_SECONDS * SECOND_NS:
            raise RuntimeError(_RESTLESS)
        self._changes.append(now)

    def _fill(self, raw: Values) -> bool:
        """Fill `raw`, float64[slots]; False where the hardware changed."""
        raw.fill(np.nan)
        started = perf_counter_ns()
        self._leaks.before()
        self.busy = True
        try:
            same = self.collector.read(raw)
        finally:
            self.busy = False
        self._leaks.after()
        self.read_ns = perf_counter_ns() - started
        return _said(same)

    def _rated(self) -> Values:
        return self._rates.values(self.raw, self._clock.monotonic_ns())

    def _relist(self, listed: tuple[Slot, ...]) -> None:
        if listed == self.slots:
            return
        self._rates = self._rates.relisted(listed)
        self.raw = np.empty(len(listed))
        self.slots = listed

    def fail(self, error: Fault) -> None:
        """Set the collector aside for a while; what was captured is lost."""
        self.held_up |= isinstance(error, HeldUpError)
        self._retired |= isinstance(error, LeakError)
        self._set_aside(Condition("failed", error=describe(error)), self._wait)
        self._wait = min(2 * self._wait, LAST_RETRY_SECONDS)

    def _set_aside(self, condition: Condition, seconds: float) -> None:
        self.busy = False
        self.close()
        self._rates.restart()
        self.condition = condition
        self._retry_ns = self._clock.monotonic_ns() + round(seconds * SECOND_NS)


def describe(error: BaseException) -> str:
    """`FileNotFoundError: ...` on one line, cut at 300 characters."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__


def _said(same: object) -> bool:
    """What `read` gave; raises TypeError."""
    if not isinstance(same, bool):
        raise TypeError(f"read() gave {type(same).__name__}, not bool")
    return same


def _checked(listed: Sequence[Slot]) -> tuple[Slot, ...]:
    slots = tuple(islice(listed, MOST_SLOTS + 1))
    if len(slots) > MOST_SLOTS:
        raise ValueError(f"open() lists more than {MOST_SLOTS:,} channels")
    for slot in slots:
        _check(slot)
    return tuple(slot if _is_text(slot) else _as_text(slot) for slot in slots)


def _check(slot: object) -> None:
    """Raises TypeError or ValueError where this is no slot, or none that can be stored."""
    if not isinstance(slot, Slot):
        raise TypeError(f"open() gave {type(slot).__name__} in its list, not Slot")
    if not isinstance(slot.metric, Metric):
        raise TypeError(f"open() gave a slot whose metric is {type(slot.metric).__name__}, not Metric")
    if not all(
        isinstance(text, str) for text in (slot.device, slot.source, slot.metric.name, slot.metric.unit)
    ):
        raise TypeError(
            f"open() gave a slot of {slot.metric.name} whose name, unit, device or source is no text"
        )
    if not all(isinstance(number, int | float) for number in (slot.period_seconds, slot.metric.scale)):
        raise TypeError(f"open() gave a slot of {slot.metric.name} whose period or scale is no number")
    for given, known in ((slot.subsystem, SUBSYSTEMS), (slot.metric.kind, KINDS)):
        if given not in known:
            raise ValueError(f"open() gave a slot of {slot.metric.name} as {given!r}, not {', '.join(known)}")


def _is_text(slot: Slot) -> bool:
    return (slot.device + slot.source).isascii()


def _as_text(slot: Slot) -> Slot:
    """A file's name may be bytes that are no UTF-8, which Python keeps as surrogates and nothing else takes."""
    device, source = (
        _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text) for text in (slot.device, slot.source)
    )
    return replace(slot, device=device, source=source)

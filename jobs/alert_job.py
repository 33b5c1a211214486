"""The job that sends the outbox to one receiver, in order, each message until it is taken or refused for good."""

from __future__ import annotations

import sqlite3
import threading

from hostsight.clock import SECOND_NS, Clock
from hostsight.errors import HostsightError, RefusedError, StoreUnavailableError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from jobs.alerts import Alert, Receiver, mark, oldest_waiting, queue_resolved, severity_before, standing
from jobs.boundary import tell
from jobs.receivers import address, alertmanager_message, post, webhook_message
from migrations import open_state

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 300.0
"""After a failure the next try waits so long, twice as long each time."""
_DOUBLINGS = 16
"""More say nothing: a receiver that is away for days fails so often that its wait is no number any more."""

REPEAT_NS = 60 * SECOND_NS
"""How often an Alertmanager is told again of what goes on, since it forgets what it does not hear of."""


class AlertJob:
    """`run` is called from one thread, about once a second."""

    def __init__(
        self,
        settings: Settings,
        data: DataFolder,
        clock: Clock,
        stop: threading.Event,
        receiver: Receiver,
    ) -> None:
        self._settings = settings.alerts
        self._gap_ns = settings.detect.merge_gap.ns
        self._began_ns = clock.wall_ns()
        self._data = data
        self._clock = clock
        self._stop = stop
        self._receiver = receiver
        self._failures = 0
        self._wait_until_ns = 0
        self._repeated_ns = clock.monotonic_ns()

    def run(self) -> int:
        """Send all that waits; gives how many messages were taken. Never raises: `status` shows what fails."""
        if self._clock.monotonic_ns() < self._wait_until_ns:
            return 0
        try:
            connection = open_state(self._data.state_db)
            try:
                return self._send_all(connection)
            finally:
                connection.close()
        except (HostsightError, sqlite3.Error) as error:
            self._back_off(error)
            return 0

    def _send_all(self, connection: sqlite3.Connection) -> int:
        now_ns = self._clock.wall_ns()
        queue_resolved(connection, self._receiver, self._gap_ns, self._began_ns, now_ns)
        sent = 0
        while not self._stop.is_set() and (alert := oldest_waiting(connection, self._receiver)) is not None:
            if self._send(connection, alert):
                sent += 1
        self._repeat(connection)
        return sent

    def _send(self, connection: sqlite3.Connection, alert: Alert) -> bool:
        """Raises where trying again may help; that is noted with the message."""
        try:
            self._post(self._message(connection, alert), {"Idempotency-Key": f"hostsight-{alert.id}"})
        except RefusedError as error:
            mark(connection, alert, "refused", str(error))
            return False
        except HostsightError as error:
            mark(connection, alert, "waiting", str(error))
            raise
        mark(connection, alert, "sent")
        self._failures = 0
        return True

    def _message(self, connection: sqlite3.Connection, alert: Alert) -> bytes:
        if self._receiver == "webhook":
            return webhook_message(alert)
        firing = alert.status == "firing"
        told = [(alert, alert.severity, firing)]
        before = severity_before(connection, alert)
        if firing and before is not None and before != alert.severity:
            told.append((alert, before, False))
        return alertmanager_message(told, self._clock.wall_ns())

    def _repeat(self, connection: sqlite3.Connection) -> None:
        now_ns = self._clock.monotonic_ns()
        if self._receiver != "alertmanager" or now_ns - self._repeated_ns < REPEAT_NS:
            return
        self._repeated_ns = now_ns
        told = [(alert, alert.severity, True) for alert in standing(connection, self._receiver)]
        if told:
            self._post(alertmanager_message(told, self._clock.wall_ns()), {})
            self._failures = 0

    def _post(self, body: bytes, headers: dict[str, str]) -> None:
        post(self._settings, address(self._settings, self._receiver), body, headers)

    def _back_off(self, error: Exception) -> None:
        """Told once on stderr, and with the message in `status`."""
        wait = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** min(self._failures, _DOUBLINGS))
        self._wait_until_ns = self._clock.monotonic_ns() + round(wait * SECOND_NS)
        if not self._failures:
            away = isinstance(error, StoreUnavailableError)
            words = f"alerts wait for the {self._receiver}: {error}; they are sent once it answers"
            tell(StoreUnavailableError(words) if away else error)
        self._failures += 1

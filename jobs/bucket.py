"""Whose a bucket of InfluxDB is, and so by which settings its jobs run."""

from __future__ import annotations

from hostsight import narration
from hostsight.clock import SECOND_NS, Clock
from hostsight.settings import Settings
from ingest.embedded import EmbeddedStore

ASK_SECONDS = 10.0
"""How often a bucket that has no host yet is asked whose it is."""


class Bucket:
    """`settings` are as given until the bucket is recognised as telegraf's. Asks the server as it is made.

    Raises SettingsError where the server cannot be asked by these settings.
    """

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self._clock = clock
        self._asked_ns = clock.monotonic_ns()
        if settings.store.kind != EmbeddedStore.name and not self._recognise():
            self._tell_absence()

    def turns_out(self) -> bool:
        """Ask again where it is time, and say so where `settings` have become others by it."""
        now_ns = self._clock.monotonic_ns()
        if self.settings.store.kind != "influx" or now_ns - self._asked_ns < ASK_SECONDS * SECOND_NS:
            return False
        self._asked_ns = now_ns
        return self._recognise()

    def _recognise(self) -> bool:
        from jobs.telegraf import recognised

        found = recognised(self.settings)
        if found is self.settings:
            return False
        self.settings, window = found, found.window
        _say(
            f"bucket '{found.influx.bucket}' is telegraf's: windows of {window.length} every {window.stride}, as [influx] telegraf_interval says"
        )
        return True

    def _tell_absence(self) -> None:
        from jobs.telegraf import told_absence

        if sentence := told_absence(self.settings):
            _say(sentence)


def _say(text: str) -> None:
    narration.say("hostsight serve", text)

"""Learning one host's baseline from its lake; run as `python -m jobs.refit DATA HOST WHY`, a process of its own.

scikit-learn and the training windows come and go with that process, so the live path is neither delayed nor bloated.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path

import msgspec

from hostsight.channel import Channel
from hostsight.configuration import load_settings
from hostsight.errors import HostsightError, ModelError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from hostsight.timerange import TimeRange, format_duration
from ingest.lake import Lake
from jobs.catalogue import known_channels
from jobs.requests import WHYS, Why
from jobs.schedule import MATERIALISE
from jobs.watermarks import position
from migrations import open_state
from models.episode_store import adopted, quarantined
from models.refit import Learner, Refit, read_training, refit
from models.store import ModelStore
from sql.schemas import FEATURES

REASONS: dict[Why, str] = {
    "refit": "on request",
    "warm-up": "first baseline after the warm-up",
    "unusable": "the model before cannot be used",
    "growth": "history has doubled",
    "nightly": "nightly refit",
    "new-regime": "new regime: an episode that lasts",
}


def run_refit(settings: Settings, data: DataFolder, host: str, why: Why) -> Refit:
    """Learn from the last `[detect] train_span` of `host`; the new model goes live if it is no worse.

    Raises ModelError where there is too little to learn from, StorageError where the lake cannot be read.
    """
    connection = open_state(data.state_db)
    try:
        end_ns = position(connection, MATERIALISE, host)
        if end_ns is None:
            raise ModelError(f"host {host} has no windows yet; let the agent and the jobs run first")
        channels = known_channels(connection, host)
        _check_period(host, channels.values(), settings)
        lake = Lake(data)
        span = held(lake, host, TimeRange(max(0, end_ns - settings.detect.train_span.ns), end_ns))
        learner = Learner(channels, settings.detect, settings.window, adopted=adopted(connection, host))
        training = read_training(
            lambda part: lake.read("features", host, part, FEATURES),
            span,
            quarantined(connection, host, settings, end_ns),
            learner,
        )
        return refit(ModelStore(data, connection, settings.window), host, training, learner, REASONS[why])
    finally:
        connection.close()


def _check_period(host: str, channels: Collection[Channel], settings: Settings) -> None:
    """Raises ModelError where windows are too short to hold a value."""
    period = min((channel.period_seconds for channel in channels), default=0.0)
    if period > settings.window.length:
        raise ModelError(
            f"host {host} has a value every {format_duration(period)} and windows are {settings.window.length} long, so there is nothing to learn from; judge the recording with `hostsight analyze`, or import it into a data folder with [window] pane, length and stride of {format_duration(period)}"
        )


def held(lake: Lake, host: str, span: TimeRange) -> TimeRange:
    """The part of `span` from which on the lake has features."""
    start_ns = min(
        (file.span.start_ns for file in lake.files("features", host=host, span=span)), default=span.end_ns
    )
    return TimeRange(max(span.start_ns, start_ns), span.end_ns)


def main(arguments: list[str]) -> int:
    """Prints the result as JSON, or a sentence on stderr; gives the exit code."""
    root, host, word = arguments
    why = next(known for known in WHYS if known == word)
    data = DataFolder(Path(root))
    try:
        result = run_refit(load_settings(data), data, host, why)
    except HostsightError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    sys.stdout.buffer.write(msgspec.json.encode(result))
    return 0


if __name__ == "__main__":
    os.nice(10)
    sys.exit(main(sys.argv[1:]))

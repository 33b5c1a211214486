"""What of a server's telemetry the jobs may have."""

from __future__ import annotations

import msgspec
import pytest

from hostsight.clock import SECOND_NS
from hostsight.settings import Duration, Settings
from hostsight.timerange import TimeRange
from ingest.influx.reach import reach

NOW_S = 1_700_000_000
SETTINGS = msgspec.structs.replace(
    Settings(),
    retention=msgspec.structs.replace(Settings().retention, samples=Duration(3600)),
    influx=msgspec.structs.replace(Settings().influx, lateness=Duration(2)),
)


@pytest.mark.parametrize(
    ("first", "complete", "start", "end"),
    [
        (-100, -50, -100, -50),  # all that is complete
        (-100, 0, -100, -2),  # late samples are waited for
        (-5000, -50, -3600, -50),  # what is older would be deleted at once
        (-9000, -8000, -3600, -3600),  # nothing, where all is older
        (-1, 0, -1, -1),  # nothing yet
        (-99.5, -49.5, -100, -50),  # whole seconds
    ],
)
def test_it_is_what_is_complete_and_will_be_kept(first: float, complete: float, start: int, end: int) -> None:
    found = reach(SETTINGS, *(round((NOW_S + at) * SECOND_NS) for at in (first, complete, 0)))
    assert found == TimeRange((NOW_S + start) * SECOND_NS, (NOW_S + end) * SECOND_NS)

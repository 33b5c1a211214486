from __future__ import annotations

import pytest

from hostsight.settings import DetectSettings
from models.baseline import Baseline, fit_baseline
from tests.unit.models.simulator import SimulatedHost

WARMUP_SECONDS = 180


@pytest.fixture(scope="session")
def simulated() -> SimulatedHost:
    return SimulatedHost()


@pytest.fixture(scope="session")
def baseline(simulated: SimulatedHost) -> Baseline:
    """What the default warm-up of a quiet host teaches."""
    return fit_baseline(simulated.windows(WARMUP_SECONDS), simulated.channels, DetectSettings())

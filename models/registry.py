"""The detectors; one more is a file and a line here."""

from __future__ import annotations

from models.isolation_forest import IsolationForest
from models.mahalanobis import Mahalanobis
from models.protocol import Detector
from models.zscore import ZScore

DETECTORS: tuple[type[Detector], ...] = (ZScore, Mahalanobis, IsolationForest)


def detector(name: str) -> type[Detector]:
    """The detector of that name; raises KeyError."""
    return {known.name: known for known in DETECTORS}[name]

"""A model folder's own description: `manifest.json` beside `arrays.npz`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version

import msgspec

from hostsight import __version__
from hostsight.channel import Channel
from models.baseline import Baseline

FORMAT = 3
ARRAYS = "arrays.npz"
MANIFEST = "manifest.json"
REPORT = "report.json"
"""What came of the refit that made the model; only where one did."""


class ManifestChannel(msgspec.Struct, frozen=True, kw_only=True):
    """A modelled channel; `represented_by` is the id of the channel that stands for it, its own where it is kept."""

    id: str
    host: str
    subsystem: str
    device: str
    metric: str
    kind: str
    unit: str
    period_seconds: float
    source: str
    represented_by: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is. files: SHA-256 by file name.  seal: SHA-256 of this document with an empty seal."""

    format: int
    model: str
    host: str
    created_ns: int
    trained_from_ns: int
    trained_to_ns: int
    reason: str
    windows: int
    percentile: float
    feature_set: str
    detectors: tuple[str, ...]
    channels: tuple[ManifestChannel, ...]
    libraries: dict[str, str]
    files: dict[str, str]
    seal: str = ""

    def sealed(self) -> Manifest:
        return msgspec.structs.replace(self, seal=self._digest())

    @property
    def intact(self) -> bool:
        return self.seal == self._digest()

    def _digest(self) -> str:
        return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(self, seal=""))).hexdigest()

    def encode(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1)


def channel_rows(baseline: Baseline) -> tuple[ManifestChannel, ...]:
    return tuple(
        ManifestChannel(
            id=str(channel.id),
            host=channel.host,
            subsystem=channel.subsystem,
            device=channel.device,
            metric=channel.metric,
            kind=channel.kind,
            unit=channel.unit,
            period_seconds=float(channel.period_seconds),
            source=channel.source,
            represented_by=str(baseline.channels[standing].id),
        )
        for channel, standing in zip(baseline.channels, baseline.standing.tolist(), strict=True)
    )


def channels(rows: Sequence[ManifestChannel]) -> tuple[Channel, ...]:
    """Raises msgspec.ValidationError where a row is no channel."""
    return tuple(
        msgspec.convert({name: getattr(row, name) for name in Channel.__dataclass_fields__}, Channel)
        for row in rows
    )


def libraries() -> Mapping[str, str]:
    return {"hostsight": __version__, "numpy": version("numpy"), "scikit-learn": version("scikit-learn")}

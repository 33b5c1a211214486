"""Models on disk, a folder a version, and which of them is live.

A folder holds `manifest.json` and `arrays.npz`; there is no pickle, so opening a model runs no code. The state database
says which model of a host is live; a folder whose content is not what was written, or that was learnt from other features, is
refused by name.
"""

from __future__ import annotations

import hashlib
import io
import re
import secrets
import shutil
import sqlite3
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
import numpy as np
from numpy.typing import NDArray

from hostsight.clock import SECOND_NS, Clock, SystemClock, iso
from hostsight.errors import CorruptError, ModelError, UsageError, nearest
from hostsight.files import make_folder, storage_error, write_atomic
from hostsight.folders import DataFolder
from hostsight.settings import WindowSettings
from hostsight.timerange import TimeRange
from migrations.transaction import transaction
from models.baseline import Baseline
from models.feature_set import feature_set
from models.manifest import ARRAYS, FORMAT, MANIFEST, REPORT, Manifest, channel_rows, channels, libraries
from models.regimes import Regime, described
from models.report import RefitReport

_INSERT = """
INSERT INTO models VALUES (:model, :host, :state, :created_ns, :trained_from_ns, :trained_to_ns, :windows, :channels,
  :kept_channels, :reason)
"""


class ModelRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `models`; state: live, retired or rejected."""

    model: str
    host: str
    state: str
    created_ns: int
    trained_from_ns: int
    trained_to_ns: int
    windows: int
    channels: int
    kept_channels: int
    reason: str

    def to_json(self) -> dict[str, object]:
        return {
            "model": self.model,
            "host": self.host,
            "state": self.state,
            "created": iso(self.created_ns),
            "trained_from": iso(self.trained_from_ns),
            "trained_to": iso(self.trained_to_ns),
            "windows": self.windows,
            "channels": self.channels,
            "kept_channels": self.kept_channels,
            "reason": self.reason,
        }


class ModelDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A model in full; kept: the labels of the channels it works on.  regimes: what behaviour it knows, one at least."""

    row: ModelRow
    folder: str
    percentile: float
    detectors: tuple[str, ...]
    kept: tuple[str, ...]
    libraries: dict[str, str]
    regimes: tuple[Regime, ...] = ()
    report: RefitReport | None = None

    def to_json(self) -> dict[str, object]:
        facts = msgspec.structs.asdict(self)
        shown = {name: value for name, value in facts.items() if name != "row"}
        return self.row.to_json() | shown | {"regimes": [each.to_json() for each in self.regimes]}


class ModelStore:
    """`connection` is to the data folder's state database; `window` is what models here are expected to be learnt from."""

    def __init__(
        self,
        data: DataFolder,
        connection: sqlite3.Connection,
        window: WindowSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._folder = data.models
        self._connection = connection
        self._feature_set = feature_set(window or WindowSettings())
        self._clock = clock or SystemClock()

    def save(  # noqa: PLR0913  # facts by name
        self,
        host: str,
        baseline: Baseline,
        *,
        trained: TimeRange,
        reason: str,
        state: str = "live",
        report: RefitReport | None = None,
    ) -> str:
        """Write the model and its row; a live one takes the place of the host's live one. Returns its name.

        `state` is `rejected` for a candidate that is kept only to be looked at; `report` is what its refit found. Raises StorageError, FullError.
        """
        created = self._clock.wall_ns()
        name = _name(host, created)
        content = {ARRAYS: _packed(baseline)}
        if report is not None:
            content[REPORT] = msgspec.json.encode(report)
        manifest = Manifest(
            format=FORMAT,
            model=name,
            host=host,
            created_ns=created,
            trained_from_ns=trained.start_ns,
            trained_to_ns=trained.end_ns,
            reason=reason,
            windows=baseline.windows,
            percentile=baseline.percentile,
            feature_set=self._feature_set,
            detectors=tuple(each.name for each in baseline.detectors),
            channels=channel_rows(baseline),
            libraries=dict(libraries()),
            files={file: hashlib.sha256(text).hexdigest() for file, text in content.items()},
        )
        self._write(manifest.sealed(), content)
        self._insert(manifest, state, len(baseline.kept))
        return name

    def live(self, host: str) -> str | None:
        """The name of the host's live model; None where it has none yet."""
        row = self._connection.execute(
            "SELECT model FROM models WHERE host = ? AND state = 'live'", (host,)
        ).fetchone()
        return None if row is None else str(row["model"])

    def load(self, name: str) -> Baseline:
        """Raises ModelError where the model was learnt from other features, CorruptError where it is not what was written."""
        manifest = self._manifest(name)
        if manifest.feature_set != self._feature_set:
            raise ModelError(
                f"model {name} was learnt from other features than this hostsight and its [window] settings give; run `hostsight refit --host {manifest.host}`"
            )
        arrays = self._arrays(name, manifest)
        try:
            return Baseline.from_arrays(arrays, channels(manifest.channels), manifest.detectors)
        except (KeyError, ValueError, msgspec.ValidationError) as error:
            raise CorruptError(
                f"model {name} lacks something it needs ({error}); roll back with `hostsight models rollback`, or run `hostsight refit`"
            ) from error

    def list(self, host: str | None = None) -> list[ModelRow]:
        """Newest first."""
        rows = self._connection.execute(
            "SELECT * FROM models WHERE :host IS NULL OR host = :host ORDER BY created_ns DESC, model DESC",
            {"host": host},
        )
        return [msgspec.convert(dict(row), ModelRow) for row in rows]

    def show(self, name: str) -> ModelDetail:
        """Raises UsageError where there is no such model, CorruptError where its folder is damaged."""
        row = self._row(name)
        manifest = self._manifest(name)
        by_id = {channel.id: channel for channel in channels(manifest.channels)}
        kept = [channel for channel in manifest.channels if channel.id == channel.represented_by]
        return ModelDetail(
            row=row,
            folder=str(self._folder / name),
            percentile=manifest.percentile,
            detectors=manifest.detectors,
            kept=tuple(sorted(by_id[int(channel.id)].label for channel in kept)),
            libraries=manifest.libraries,
            regimes=described(self._arrays(name, manifest, "regimes/")),
            report=self._report(name, manifest),
        )

    def rollback(self, host: str, name: str | None = None) -> str:
        """Make `name`, or else the model that was live before the present one, live again; returns its name.

        Raises UsageError where there is none, and refuses a model that cannot be used as `load` does.
        """
        target = name or self._previous(host)
        if self._row(target).host != host:
            raise UsageError(
                f"model {target} is not of host {host}; `hostsight models list` shows whose it is"
            )
        self.load(target)
        with transaction(self._connection):
            self._retire(host)
            self._connection.execute("UPDATE models SET state = 'live' WHERE model = ?", (target,))
        return target

    def forget(self, keep: int) -> int:
        """Delete the folders of all but the live and the `keep` newest models of each host; returns how many."""
        gone = 0
        for host in {row.host for row in self.list()}:
            for row in self.list(host)[keep:]:
                folder = self._folder / row.model
                if row.state != "live" and folder.is_dir():
                    shutil.rmtree(folder)
                    gone += 1
        return gone

    def _retire(self, host: str) -> None:
        self._connection.execute(
            "UPDATE models SET state = 'retired' WHERE host = ? AND state = 'live'", (host,)
        )

    def _previous(self, host: str) -> str:
        live = self.live(host)
        rows = [row for row in self.list(host) if row.state == "retired"]
        created = {row.model: row.created_ns for row in self.list(host)}
        for row in rows:
            older = live is None or row.created_ns <= created[live]
            if older and (self._folder / row.model).is_dir():
                return row.model
        raise UsageError(
            f"host {host} has no earlier model to return to; `hostsight models list` shows those there are"
        )

    def _row(self, name: str) -> ModelRow:
        rows = {row.model: row for row in self.list()}
        if name not in rows:
            raise UsageError(
                f"there is no model {name}{nearest(name, rows)}; `hostsight models list` shows those there are"
            )
        return rows[name]

    def _write(self, manifest: Manifest, content: Mapping[str, bytes]) -> None:
        folder = make_folder(self._folder / manifest.model)
        for file, text in content.items():
            write_atomic(folder / file, text, sync=True)
        write_atomic(folder / MANIFEST, manifest.encode(), sync=True)

    def _insert(self, manifest: Manifest, state: str, kept: int) -> None:
        row = ModelRow(
            model=manifest.model,
            host=manifest.host,
            state=state,
            created_ns=manifest.created_ns,
            trained_from_ns=manifest.trained_from_ns,
            trained_to_ns=manifest.trained_to_ns,
            windows=manifest.windows,
            channels=len(manifest.channels),
            kept_channels=kept,
            reason=manifest.reason,
        )
        with transaction(self._connection):
            if state == "live":
                self._retire(manifest.host)
            self._connection.execute(_INSERT, msgspec.structs.asdict(row))

    def _manifest(self, name: str) -> Manifest:
        if not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
            raise UsageError(f"'{name}' is no model's name; `hostsight models list` shows them")
        try:
            manifest = msgspec.json.decode(self._read(name, MANIFEST), type=Manifest)
        except msgspec.DecodeError as error:
            raise _tampered(name, MANIFEST) from error
        if manifest.format != FORMAT:
            raise ModelError(
                f"model {name} was written by another hostsight (format {manifest.format}, here {FORMAT}); run `hostsight refit --host {manifest.host}`"
            )
        if manifest.model != name or not manifest.intact:
            raise _tampered(name, MANIFEST)
        return manifest

    def _arrays(self, name: str, manifest: Manifest, part: str = "") -> Mapping[str, NDArray[np.generic]]:
        """Those whose names begin with `part`, without it."""
        content = self._checked(name, ARRAYS, manifest)
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                return {key.removeprefix(part): arrays[key] for key in arrays.files if key.startswith(part)}
        except (ValueError, OSError, zipfile.BadZipFile) as error:
            raise _tampered(name, ARRAYS) from error

    def _report(self, name: str, manifest: Manifest) -> RefitReport | None:
        if REPORT not in manifest.files:
            return None
        try:
            return msgspec.json.decode(self._checked(name, REPORT, manifest), type=RefitReport)
        except msgspec.DecodeError as error:
            raise _tampered(name, REPORT) from error

    def _checked(self, name: str, file: str, manifest: Manifest) -> bytes:
        content = self._read(name, file)
        if hashlib.sha256(content).hexdigest() != manifest.files.get(file):
            raise _tampered(name, file)
        return content

    def _read(self, name: str, file: str) -> bytes:
        path = self._folder / name / file
        try:
            return path.read_bytes()
        except FileNotFoundError as error:
            raise CorruptError(
                f"model {name} has no {file} in {path.parent}; roll back with `hostsight models rollback`, or run `hostsight refit`"
            ) from error
        except OSError as error:
            raise storage_error(error, "reading", path) from error


def _packed(baseline: Baseline) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **baseline.arrays())
    return buffer.getvalue()


def _tampered(name: str, file: str) -> CorruptError:
    return CorruptError(
        f"model {name} is refused: its {file} is not what was written (checksum differs); roll back with `hostsight models rollback`, or run `hostsight refit`"
    )


def _name(host: str, created_ns: int) -> str:
    """`gpu01-20260131T120000Z-1a2b3c`: safe as a folder, and sorted by time within a host."""
    stamp = datetime.fromtimestamp(created_ns // SECOND_NS, UTC)
    safe = re.sub(r"[^A-Za-z0-9_.-]", "_", host).lstrip(".-")[:64] or "host"
    return f"{safe}-{stamp:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"

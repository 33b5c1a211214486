"""Which hostsight is installed, to tell whether a process that runs for weeks is still the same."""

from __future__ import annotations

import hashlib
import time
from functools import lru_cache
from importlib.resources import files

import hostsight

_LOOKED_AT_SECONDS = 30
"""The console and `up` ask each second."""


def installed_build() -> str:
    """Version and digest of the SQL that features are made by, as they are on disk, or were up to half a minute ago."""
    return _build(int(time.monotonic() // _LOOKED_AT_SECONDS))


@lru_cache(maxsize=1)
def _build(_period: int) -> str:
    package = files("sql")
    found = [*package.iterdir(), *package.joinpath("derived").iterdir()]
    texts = sorted((file.name, file.read_text("utf-8")) for file in found if file.name.endswith(".sql"))
    digest = hashlib.sha256(repr(texts).encode())
    return f"{hostsight.__version__}+{digest.hexdigest()[:12]}"

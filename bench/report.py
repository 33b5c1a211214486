"""The shape of every benchmark's result, and where it was measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import psutil

from hostsight import __version__
from ingest.inventory import cpu_model

_LIBRARIES = ("duckdb", "numpy", "psutil", "pyarrow", "scikit-learn", "textual")


def report(name: str, settings: Mapping[str, object], results: Mapping[str, object]) -> dict[str, object]:
    """`{benchmark, version, machine, settings, results}`, ready for JSON."""
    return {
        "benchmark": name,
        "version": __version__,
        "machine": machine(),
        "settings": dict(settings),
        "results": dict(results),
    }


def machine() -> dict[str, object]:
    """CPU, memory, kernel, load at this moment, and the versions of what does the work."""
    return {
        "cpu": cpu_model(),
        "cpus": psutil.cpu_count() or 1,
        "cores": psutil.cpu_count(logical=False),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": platform.release(),
        "load_1m": os.getloadavg()[0],
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in _LIBRARIES},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"

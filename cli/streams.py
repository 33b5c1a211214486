"""The three standard streams, made fit for whatever a caller handed over and whatever is printed."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def prepare_streams() -> None:
    _open_closed()
    _tolerate_any_text()


def _open_closed() -> None:
    """One that the caller closed (`<&-`) reads and writes nothing, rather than the next file that happens to be opened."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  # open until the process ends


def _tolerate_any_text() -> None:
    """A device name that the terminal's encoding lacks is shown escaped instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

"""Handing settings to a child process: it loads them from its environment, as any start of hostsight does."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from hostsight.settings import Secret, Settings, sections


def settings_environment(settings: Settings, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """`environment` with every setting in it, so that the child works by the same table, flags included."""
    child = dict(environment)
    for section, keys in sections().items():
        values = msgspec.structs.asdict(getattr(settings, section))
        for key in keys:
            name = f"HOSTSIGHT_{section}_{key}".upper()
            text = _text(values[key])
            if text:
                child[name] = text
            else:
                child.pop(name, None)
    return child


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return value.reveal() if isinstance(value, Secret) else str(value)

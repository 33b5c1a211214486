"""Text from the kernel, which may be no UTF-8: Python keeps such bytes as lone surrogates."""

from __future__ import annotations


def encodable(text: str) -> str:
    """`text` with each lone surrogate as an escape, for what takes valid UTF-8 alone: Arrow, SQLite, JSON."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")

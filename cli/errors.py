"""How a failure is told to a person: one sentence and an exit code. Anything else is a defect and shows its traceback."""

from __future__ import annotations

from hostsight.errors import HostsightError


def explainable() -> tuple[type[Exception], ...]:
    """Errors a person can act on; looked up only once something was raised."""
    import sqlite3

    return (HostsightError, OSError, sqlite3.Error, MemoryError)


def explain(error: Exception) -> tuple[str, int]:
    """(sentence, exit code) of an error that is `explainable`."""
    if isinstance(error, HostsightError):
        return str(error), error.exit_code
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}; check that the path exists and may be used", 1
    if isinstance(error, MemoryError):
        return "not enough memory; ask for less, or free some", 1
    return f"the state database could not be used ({error}); try again, and see `hostsight status`", 1

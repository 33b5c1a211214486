"""The state database: numbered, immutable SQL migrations and the one way to open it."""

from migrations.runner import SCHEMA_VERSION, open_state

__all__ = ["SCHEMA_VERSION", "open_state"]

"""The memory allocator of the pipeline's process.

Its work comes in bursts: a second's rows each second, a minute's or an hour's at each compaction. Arrow's own allocators keep
what a burst needed, from every thread that had one; the system's gives it back, so the process stays at its usual size.
"""

from __future__ import annotations

import os


def choose_allocator() -> None:
    """Call before Arrow is first imported, which is when it reads this; a choice of the environment's own stands."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def give_back() -> None:
    """Return what is free to the system, after a burst."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()

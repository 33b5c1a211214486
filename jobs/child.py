"""Child processes that end with their parent, however it ends.

`python -m jobs.child PARENT MODULE ARGS...` asks the kernel for SIGTERM at the death of its parent (prctl(2),
PR_SET_PDEATHSIG: the death of the parent's thread that started it), then runs MODULE as `python -m MODULE ARGS...` does.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO

_PR_SET_PDEATHSIG = 1


def start(
    module: str,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    output: IO[bytes] | int,
    errors: IO[bytes] | int,
) -> subprocess.Popen[bytes]:
    """Start MODULE from a thread that outlives it. It reads no input and keeps its own process group."""
    command = [sys.executable, "-P", "-m", "jobs.child", str(os.getpid()), module, *arguments]
    return subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        start_new_session=True,
    )


def end_with_parent(parent: int) -> None:
    """SIGTERM to this process when its parent dies; at once where it has died already."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(0)


def main() -> None:
    parent, module = int(sys.argv[1]), sys.argv[2]
    end_with_parent(parent)
    sys.argv = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

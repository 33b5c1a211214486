from __future__ import annotations

import os
import subprocess

from hostsight.process import process_exists


def test_a_process_exists_until_it_was_waited_for() -> None:
    with subprocess.Popen(["/bin/true"]) as child:
        pid = child.pid
    assert process_exists(os.getpid())
    assert process_exists(1)
    assert not process_exists(pid)

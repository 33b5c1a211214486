"""Collectors that do everything wrong, all at once, in a real agent: it stays on time and names each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hostsight.folders import DataFolder
from ingest.heartbeat import Heartbeat
from tests.integration.test_agent import stop, until

HEAD = """
import os, time
from ingest.collector import Metric, Slot, Tier

LEVEL = Metric("level", "1", "gauge", "level")

class Base:
    subsystem = "cpu"
    tier = Tier.FAST
    metrics = (LEVEL,)
    def open(self, host):
        return [Slot("cpu", self.name, LEVEL, 0.1, "test")]
    def read(self, out):
        out[:] = 1
        return True
    def absent(self):
        return ()
    def close(self):
        pass

class Broken(Base):
"""
BROKEN = {
    "hangs": "    name = 'hangs'\n    def read(self, out):\n        time.sleep(3600)\n",
    "hangs_open": "    name = 'hangs_open'\n    def open(self, host):\n        time.sleep(3600)\n",
    "raises": "    name = 'raises'\n    background = False\n    def read(self, out):\n        raise KeyError('cpu0')\n",
    "exits": "    name = 'exits'\n    def read(self, out):\n        raise MemoryError('no room')\n",
    "wrong_type": "    name = 'wrong_type'\n    background = False\n    def read(self, out):\n        return 'yes'\n",
    "wrong_list": "    name = 'wrong_list'\n    background = False\n    def open(self, host):\n        return ['cpu0']\n",
    "floods": "    name = 'floods'\n    def open(self, host):\n"
    "        return (Slot('cpu', str(n), LEVEL, 0.1, 'test') for n in range(10**9))\n",
    "restless": "    name = 'restless'\n    background = False\n    def read(self, out):\n        return False\n",
    "leaks": "    name = 'leaks'\n    background = False\n    kept = []\n    def read(self, out):\n"
    "        self.kept.append(open(os.devnull))\n        out[:] = 1\n        return True\n",
    "good": "    name = 'good'\n    pass\n",
}
ERRORS = {
    "raises": "KeyError: 'cpu0'",
    "exits": "MemoryError: no room",
    "wrong_type": "TypeError: read() gave str, not bool",
    "wrong_list": "TypeError: open() gave str in its list, not Slot",
    "floods": "ValueError: open() lists more than 20,000 channels",
    "restless": "RuntimeError: the hardware changes faster than it can be listed",
    "leaks": "LeakError: leaves open descriptors behind at each reading; it is off until the agent starts anew",
}
MAIN = """
import sys
from pathlib import Path
from hostsight.folders import DataFolder
from hostsight.settings import AgentSettings, Settings
from ingest import background
from ingest.agent import run_agent
background.HUNG_SECONDS = 2.0
agent = AgentSettings(host="node7", collectors=sys.argv[2])
run_agent(Settings(agent=agent), DataFolder(Path(sys.argv[1])))
"""


def _failed(beat: Heartbeat) -> set[str]:
    return {one.name for one in beat.collectors if one.state == "failed"}


def test_each_is_named_and_no_tick_waits_for_any(data: DataFolder, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir(mode=0o755)
    for name, body in BROKEN.items():
        (folder / f"{name}.py").write_text(f"{HEAD}{body}\nCOLLECTOR = Broken\n")
        (folder / f"{name}.py").chmod(0o644)
    named = {*ERRORS, "hangs", "hangs_open"}
    command = [sys.executable, "-c", MAIN, str(data.root), str(folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            beat = until(data, lambda beat: beat.ticks > 80 and named <= _failed(beat))
            code, narration = stop(process)
        finally:
            process.kill()
    found = {one.name: one for one in beat.collectors}
    assert {name: found[name].error for name in ERRORS} == ERRORS
    assert all(found[name].error.startswith("has not returned for") for name in ("hangs", "hangs_open"))
    assert (found["good"].state, found["cpu"].state) == ("ok", "ok")
    assert beat.late_ticks < 0.1 * beat.ticks
    assert (code, narration) == (0, "")

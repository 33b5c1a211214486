"""The agent's process stays small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = (
    "duckdb",
    "sklearn",
    "scipy",
    "pandas",
    "textual",
    "rich",
    "influxdb_client",
    "pydantic",
    "psutil",
    "_hashlib",
)

RUN = """
import sys
from pathlib import Path
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from ingest.agent import run_agent
run_agent(Settings(), DataFolder(Path(sys.argv[1])), seconds=0.3)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_a_running_agent_has_imported_nothing_heavy(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(ran.stdout.split())
    assert {"numpy", "pyarrow", "msgspec"} <= loaded
    assert loaded.isdisjoint(HEAVY)


def test_the_agent_that_watches_a_drain_knows_no_influxdb() -> None:
    code = "import sys, cli.commands.agent, jobs.beside, ingest.agent, ingest.recorder; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert {name.partition(".")[0] for name in ran.stdout.split()}.isdisjoint(HEAVY)

"""The sampling path runs no program: a fork a tick costs more than all of the reading."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "ingest"
MODULES = {"subprocess", "pty", "multiprocessing", "popen2", "commands", "sh"}
CALLS = {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "create_subprocess_exec"}

WATCHED = """
import sys
started = []
sys.addaudithook(
    lambda event, _: started.append(event)
    if event in {"subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"}
    else None
)
from pathlib import Path
from hostsight.folders import DataFolder
from hostsight.settings import AgentSettings, Duration, Settings
from ingest.agent import run_agent
agent = AgentSettings(medium=Duration(0.2), slow=Duration(0.5))
run_agent(Settings(agent=agent), DataFolder(Path(sys.argv[1])), seconds=3)
print(started)
"""


def test_no_module_of_the_collector_imports_or_calls_what_starts_a_program() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = (
                {alias.name.partition(".")[0] for alias in node.names}
                if isinstance(node, ast.Import)
                else set()
            )
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {node.module.partition(".")[0]}
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in CALLS
            ):
                found.append(f"{path.name}:{node.lineno} calls {node.func.attr}")
            found += [f"{path.name} imports {name}" for name in sorted(names & MODULES)]
    assert found == []


def test_an_agent_that_samples_every_tier_starts_no_program(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WATCHED, str(tmp_path / "data")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.strip() == "[]"

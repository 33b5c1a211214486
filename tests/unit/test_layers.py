"""Packages import only lower ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_import_contracts_of_pyproject_hold(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()",
         "--config", "pyproject.toml", "--no-cache", "--no-logo"],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["completion", "bash"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    code = f"import sys, cli.main; cli.main.main({words!r}); print(*sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    heavy = {"rich", "numpy", "pyarrow", "duckdb", "sklearn", "textual", "psutil", "asyncio"}
    assert heavy & set(done.stderr.split()) == set()

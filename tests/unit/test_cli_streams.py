"""Commands that are started without one of the standard streams, and numbers that are too large."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def start(redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run hostsight by a shell that closes a stream first."""
    script = f'exec "$@" {redirection}'
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
def test_the_console_asks_for_a_terminal_where_a_stream_is_closed(tmp_path: Path, closed: str) -> None:
    done = start(closed, "tui", "--data", str(tmp_path))
    assert done.returncode == 3
    assert done.stderr.startswith("hostsight: ")
    assert "Traceback" not in done.stderr


def test_what_is_printed_to_a_closed_stream_is_lost_without_a_word(tmp_path: Path) -> None:
    done = start(">&-", "status", "--data", str(tmp_path))
    assert "Traceback" not in done.stderr
    assert start("2>&-", "--version").stdout.startswith("hostsight ")


def test_up_without_stdin_watches_in_lines(tmp_path: Path) -> None:
    done = start("<&-", "up", "--for", "1s", "--data", str(tmp_path / "data"))
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)


def test_a_number_no_episode_can_have_is_a_wrong_argument(tmp_path: Path) -> None:
    done = start("", "explain", "99999999999999999999", "--data", str(tmp_path))
    assert done.returncode == 2
    assert "99999999999999999999 is not in the range" in done.stderr

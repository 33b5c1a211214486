from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import click
import pytest

from cli.context import data_folder
from cli.main import ENTRIES, cli, main
from cli.options import Command
from hostsight import __version__
from hostsight.errors import HostsightError, LockedError, UsageError


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A command `status` that notes its data folder, and raises what the list begins with."""
    noted: list[object] = []

    @click.command("status", cls=Command)
    def command() -> None:
        if noted:
            error = noted[0]
            assert isinstance(error, BaseException)
            raise error
        noted.append(data_folder().root)

    monkeypatch.setattr("cli.commands.status.command", command)
    return noted


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (HostsightError("it broke; mend it"), 1, "hostsight: it broke; mend it\n"),
        (UsageError("no \x1b[2J; \u202e"), 2, "hostsight: no \\x1b[2J; \\u202e\n"),
        (UsageError("wrong; write it so"), 2, "hostsight: wrong; write it so\n"),
        (LockedError("busy; stop it"), 3, "hostsight: busy; stop it\n"),
        (KeyboardInterrupt(), 130, ""),
        (click.UsageError("no such thing"), 2, "Error: no such thing\n"),
        (PermissionError(13, "Permission denied", "/x"), 1, "hostsight: /x: Permission denied; "),
        (sqlite3.OperationalError("database is locked"), 1, "(database is locked); try again"),
        (MemoryError(), 1, "hostsight: not enough memory; "),
    ],
)
def test_every_failure_has_its_exit_code_and_sentence(
    probe: list[object], error: BaseException, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    probe.append(error)
    assert main(["status"]) == code
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""


def test_a_defect_is_not_dressed_up_as_the_person_s_mistake(probe: list[object]) -> None:
    probe.append(TypeError("a defect"))
    with pytest.raises(TypeError, match="a defect"):
        main(["status"])


@pytest.mark.parametrize("words", [["--data", "{}", "status"], ["status", "--data", "{}"]])
def test_the_data_folder_is_named_before_or_after_the_command(
    probe: list[object], words: list[str], tmp_path: Path
) -> None:
    assert main([word.format(tmp_path) for word in words]) == 0
    assert probe == [tmp_path]


def test_of_two_data_folders_the_one_nearer_the_end_wins(probe: list[object], tmp_path: Path) -> None:
    assert main(["--data", "/elsewhere", "status", "--data", str(tmp_path)]) == 0
    assert probe == [tmp_path]


def test_the_environment_names_the_data_folder(
    probe: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTSIGHT_DATA", str(tmp_path))
    assert main(["status"]) == 0
    assert probe == [tmp_path]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["statsu"], "no such command 'statsu' (did you mean 'status'?)"),
        (["status", "--jsno"], "No such option '--jsno'"),
        (["--data", "/etc/passwd", "status"], "/etc/passwd is no folder; --data and HOSTSIGHT_DATA name"),
        (["up", "--for", "soon"], "'soon' is not a duration; write it as 90s"),
        (["up", "--for", "0s"], "'0s' is no time at all"),
        (["anomalies", "--since", "yesterday"], "'yesterday' is not a time; write now, now-6h"),
        (["anomalies", "--since", "now-1h..now-2h"], "before it starts"),
        (["explain", "three"], "'three' is not a valid number"),
        (["sql"], "Missing argument 'QUERY'"),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert expected in captured.err
    assert captured.out == ""


def test_help_lists_every_command_once_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, entry in ENTRIES.items():
        assert [line for line in lines if line.split()[:1] == [name]] == [f"  {name:<10}  {entry.summary}"]


@pytest.mark.parametrize("name", ENTRIES)
def test_every_listed_command_exists_and_explains_itself(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name
    assert main([name, "--help"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 5


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"hostsight {__version__}\n"


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    code = (
        "import sys, click, cli.main, cli.commands.status as status\n"
        "status.command = click.Command('status', callback=lambda: click.echo('x' * 10_000_000))\n"
        "sys.argv = ['hostsight', 'status']\n"
        "cli.main.run()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "_HOSTSIGHT_COMPLETE" in capsys.readouterr().out


def test_long_examples_have_their_meaning_below(capsys: pytest.CaptureFixture[str]) -> None:
    main(["analyze", "--help"])
    out = capsys.readouterr().out
    assert "--exclude rack --out b/\n    another time column\n" in out
    main(["up", "--help"])
    assert "  hostsight up --no-tui                the same as plain lines" in capsys.readouterr().out

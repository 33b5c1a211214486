"""Collectors of the site's own."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from hostsight.errors import SettingsError
from hostsight.settings import Settings
from ingest.collector import Host, in_background
from ingest.patience import within
from ingest.registry import collectors, enabled, subsystem_of
from ingest.site_collectors import site_collectors
from ingest.survey import sample_once, survey
from tests.unit.collectors.trees import read, write

DOCS = Path(__file__).resolve().parents[2] / "docs/site-collectors.md"
EXAMPLE = re.findall(r"^```python\n(.*?)^```", DOCS.read_text("utf-8"), re.MULTILINE | re.DOTALL)[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "collectors"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    return folder


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    path.chmod(0o644)
    return path


def settings(folder: Path, root: Path, *disabled: str) -> Settings:
    agent = msgspec.structs.replace(
        Settings().agent, root=str(root), collectors=str(folder), disabled=disabled
    )
    return Settings(agent=agent)


def failure(folder: Path) -> Exception:
    (collector,) = site_collectors(str(folder), ())
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever the file raised
        collector.open(Host(folder))
    return caught.value


def test_the_documented_example_collects(folder: Path, tmp_path: Path) -> None:
    put(folder, "queue.py", EXAMPLE)
    root = write(tmp_path / "tree", {f"var/spool/batch/{at}.job": "" for at in range(3)})
    write(root, {"var/spool/batch/started": "41\n", "proc/uptime": "1 1\n"})
    (collector,) = site_collectors(str(folder), ())
    assert read(collector, root) == {"cpu batch waiting_jobs": 3, "cpu batch started_jobs_per_s": 41}
    rows = [row for row in sample_once(settings(folder, root)) if row.device == "batch"]
    assert [(row.metric, row.value, row.kind) for row in rows] == [
        ("waiting_jobs", 3, "gauge"),
        ("started_jobs_per_s", 41, "counter"),
    ]


def test_it_is_read_in_the_background_unless_it_says_otherwise(folder: Path) -> None:
    put(folder, "a.py", EXAMPLE)
    put(
        folder,
        "b.py",
        EXAMPLE.replace('"queue"', '"quick"').replace("    tier =", "    background = False\n    tier ="),
    )
    assert [in_background(one) for one in site_collectors(str(folder), ())] == [True, False]


def test_it_stands_among_the_others_and_can_be_turned_off(folder: Path) -> None:
    put(folder, "queue.py", EXAMPLE)
    named = [one for one in enabled((), str(folder)) if one.name == "queue"]
    assert [subsystem_of(one) for one in named] == ["cpu"]
    assert len(enabled((), str(folder))) == len(collectors()) + 1
    assert len(enabled(("queue",), str(folder))) == len(collectors())


def test_what_it_lacks_is_told_with_the_way_out(folder: Path, tmp_path: Path) -> None:
    put(folder, "queue.py", EXAMPLE)
    found = survey(settings(folder, write(tmp_path / "tree", {"proc/uptime": "1"}))).findings
    assert ("cpu", "start the batch system") in {(one.subsystem, one.remedy) for one in found}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import nothing_of_that_name", "nothing_of_that_name"),
        ("def (", "invalid syntax"),
        ("raise SystemExit(3)", "ends the process"),
        ("x = 1", "must set COLLECTOR"),
        ("COLLECTOR = 5", "must set COLLECTOR"),
        (EXAMPLE.replace('"queue"', '"Queue 1"'), "must be a word"),
        (EXAMPLE.replace('subsystem = "cpu"', 'subsystem = "disk"'), "must be one of cpu, gpu"),
        (EXAMPLE.replace("tier = Tier.MEDIUM", 'tier = "medium"'), "must be a Tier"),
        (EXAMPLE.replace("def read(", "def reads("), "lacks read"),
    ],
)
def test_a_file_that_is_no_collector_fails_alone_with_its_reason(
    folder: Path, text: str, reason: str
) -> None:
    put(folder, "bad.py", text)
    assert reason in str(failure(folder))
    put(folder, "queue.py", EXAMPLE)
    assert [one.name for one in site_collectors(str(folder), ())] == ["site:bad", "queue"]


@pytest.mark.parametrize(
    "gaps", ["[('a fan', 'N/A', '', '')]", "[5]", "(('a fan', 'N/A', 7) for _ in iter(int, 1))"]
)
def test_what_it_lacks_in_a_wrong_form_is_told_and_hides_no_other_finding(
    folder: Path, tmp_path: Path, gaps: str
) -> None:
    put(folder, "queue.py", EXAMPLE.replace("return ()", f"return {gaps}"))
    root = write(tmp_path / "tree", {"var/spool/batch/started": "1\n", "proc/uptime": "1 1\n"})
    found = {one.what: one.reason for one in survey(settings(folder, root)).findings}
    assert "not three texts" in found["what collector queue lacks"]
    assert "/proc/meminfo" in found


def test_a_name_that_is_taken_is_refused(folder: Path) -> None:
    put(folder, "queue.py", EXAMPLE.replace('"queue"', '"cpu"'))
    (collector,) = site_collectors(str(folder), {"cpu"})
    assert collector.name == "site:queue"


def test_doctor_names_a_folder_that_is_not_there(tmp_path: Path) -> None:
    root = write(tmp_path / "tree", {"proc/uptime": "1"})
    found = survey(settings(tmp_path / "gone", root)).findings
    told = [one.reason for one in found if one.what == "collector site:gone"]
    assert len(told) == 1
    assert told[0].startswith(
        f"failed: SettingsError: [agent] collectors = {tmp_path}/gone cannot be read (No such file"
    )


def test_doctor_names_a_broken_file(folder: Path, tmp_path: Path) -> None:
    put(folder, "bad.py", "1 / 0")
    found = survey(settings(folder, write(tmp_path / "tree", {"proc/uptime": "1"}))).findings
    told = [one.reason for one in found if one.what == "collector site:bad"]
    assert told == ["failed: ZeroDivisionError: division by zero"]


def test_a_file_that_never_ends_loading_is_left_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, "stuck.py", "import threading\nthreading.Event().wait()\n")
    monkeypatch.setattr("ingest.site_collectors.PATIENCE_SECONDS", 0.05)
    assert str(failure(folder)) == "did not return within 0.05 s"


def test_doctor_waits_for_no_collector_that_never_says_what_it_lacks(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, "queue.py", EXAMPLE.replace("return ()", "import threading; threading.Event().wait()"))
    root = write(tmp_path / "tree", {"var/spool/batch/started": "1\n", "proc/uptime": "1 1\n"})
    monkeypatch.setattr("ingest.survey.within", lambda _, work: within(0.05, work))
    found = {one.what: one.reason for one in survey(settings(folder, root)).findings}
    assert found["what collector queue lacks"] == "failed: TimeoutError: did not return within 0.05 s"


def test_what_others_may_write_is_not_run(folder: Path) -> None:
    path = put(folder, "queue.py", EXAMPLE)
    path.chmod(0o664)
    assert "chmod go-w" in str(failure(folder))
    path.chmod(0o644)
    folder.chmod(0o777)
    assert "others may write" in str(failure(folder))


def test_a_folder_that_is_not_there_stops_nothing(tmp_path: Path) -> None:
    *others, named = enabled((), str(tmp_path / "none"))
    assert (named.name, len(others)) == ("site:none", len(collectors()))
    with pytest.raises(SettingsError, match="name a folder"):
        named.open(Host(tmp_path))


def test_no_folder_no_collector() -> None:
    assert site_collectors("", ()) == ()

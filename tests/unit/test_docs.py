"""The documentation says what the code does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from cli.docs import helps, pages
from cli.main import ENTRIES
from hostsight.settings import sections
from ingest.registry import collectors

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
MARKDOWN = [*sorted(REPOSITORY.glob("*.md")), *sorted(DOCS.glob("*.md"))]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))


def by_name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def test_generated_parts_are_what_the_code_gives() -> None:
    behind = [page.name for page, text in pages() if page.read_text("utf-8") != text]
    assert behind == [], "run `make docs`"


def test_every_setting_is_documented_with_its_variable() -> None:
    text = (DOCS / "configure.md").read_text("utf-8")
    for section, keys in sections().items():
        assert f"### [{section}]" in text
        for key in keys:
            assert f"| `{key}` |" in text
            assert f"`HOSTSIGHT_{section}_{key}`".upper() in text


def test_the_defaults_of_settings_can_be_pasted_into_a_file() -> None:
    text = (DOCS / "configure.md").read_text("utf-8")
    defaults = re.findall(r"^\| `(\w+)` \| `(.+?)` \|", text, re.MULTILINE)
    assert dict(defaults)["adaptive"] == "false"
    for key, default in defaults:
        assert key in tomllib.loads(f"{key} = {default}")


def test_every_command_is_documented() -> None:
    text = (DOCS / "commands.md").read_text("utf-8")
    assert "import recording" in dict(helps())
    for words, _ in helps():
        assert f"### hostsight {words}\n" in text


def test_every_metric_is_documented() -> None:
    text = (DOCS / "metrics.md").read_text("utf-8")
    for collector in collectors():
        for metric in collector.metrics:
            assert f"| `{metric.name}` | {metric.unit} |" in text


@pytest.mark.parametrize("view", ["samples", "channels", "features", "scores", "episodes", "attributions", "models", "job_runs"])  # fmt: skip
def test_every_view_is_documented(view: str) -> None:
    assert f"### {view}\n" in (DOCS / "views.md").read_text("utf-8")


def anchors(text: str) -> set[str]:
    """Of the headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", MARKDOWN, ids=by_name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", page.read_text("utf-8")):
        file = page.parent / target if target else page
        assert file.is_file(), target
        assert not anchor or anchor in anchors(file.read_text("utf-8")), f"{target}#{anchor}"


def test_the_readme_leads_to_every_page() -> None:
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    assert [page.name for page in DOCS.glob("*.md") if f"](docs/{page.name})" not in readme] == []


def command_lines(text: str) -> list[list[str]]:
    """Words of each `hostsight ...` in inline code and in blocks of shell commands."""
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    inline = re.findall(r"`hostsight ([a-z][^`|#]*)", text)
    return [line.split() for line in inline + re.findall(r"^hostsight ([a-z][^|#\n]*)", blocks, re.MULTILINE)]


@pytest.mark.parametrize("page", MARKDOWN, ids=by_name)
def test_commands_and_options_that_pages_name_exist(page: Path) -> None:
    lines = [words for words in command_lines(page.read_text("utf-8")) if words[0] != "migrations"]
    assert [words for words in lines if words[0] not in ENTRIES] == []
    for words in lines:
        text = "".join(shown for name, shown in helps() if name.split()[0] == words[0])
        assert [word for word in words if word.startswith("--") and word not in text] == [], words


@pytest.mark.parametrize("page", MARKDOWN, ids=by_name)
def test_settings_that_pages_name_exist(page: Path) -> None:
    known = sections()
    for section, key in re.findall(r"`\[(\w+)\] (\w+)", page.read_text("utf-8")):
        assert key in known[section], f"[{section}] {key}"


def test_messages_that_are_explained_exist() -> None:
    code = "".join(path.read_text("utf-8") for path in REPOSITORY.glob("[a-z]*/**/*.py"))
    for cell in re.findall(
        r"^\| (`\.\.\..*?|`\w+ .*?) \|", (DOCS / "troubleshooting.md").read_text("utf-8"), re.MULTILINE
    ):
        for message in re.findall(r"`([^`]*)`", cell):
            assert [part for part in message.split("...") if part.strip() not in code] == [], message


def test_make_targets_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^(\w[\w-]*):", (REPOSITORY / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in MARKDOWN:
        named = re.findall(r"(?:`|^)make (\w+)", page.read_text("utf-8"), re.MULTILINE)
        assert set(named) <= targets, page


def test_layers_are_named_in_the_order_they_are_kept() -> None:
    (contract,) = [each for each in PROJECT["tool"]["importlinter"]["contracts"] if each["type"] == "layers"]
    lowest_first = " ".join(reversed(contract["layers"]))
    for page in (REPOSITORY / "CONTRIBUTING.md", DOCS / "architecture.md"):
        assert f"`{lowest_first}`" in page.read_text("utf-8")


def test_every_dependency_says_why_and_is_pinned_to_a_tested_version() -> None:
    pins = dict(line.lower().split("==") for line in constraint_lines())
    text = (REPOSITORY / "pyproject.toml").read_text("utf-8")
    for requirement in PROJECT["project"]["dependencies"]:
        name = re.split(r"[<>=]", requirement)[0]
        assert name in pins
        assert re.search(rf'"{re.escape(requirement)}",\s+# \w+', text), (
            f"{requirement} has no reason beside it"
        )


def test_constraints_name_versions_and_no_address() -> None:
    for line in constraint_lines():
        assert re.fullmatch(r"[\w.-]+==[\w.]+", line), line


def constraint_lines() -> list[str]:
    lines = (REPOSITORY / "constraints.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]

"""Captured trees of many shapes: other architectures, offline and sparse CPUs and nodes, most files missing."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from cli.main import cli
from hostsight.settings import Settings
from ingest.survey import sample_once, survey
from tests.unit.collectors.trees import Trees

NAMES = (
    "20em64t-hybrid-1p6c2t+2ca4co1t",
    "40intel64-2g2n4c+pcilocality",
    "48amd64-4pa2n6c-sparse",
    "nvidia-dgx-gb10",
    "nvidiagpunumanodes",
    "offline-cpu0-node0",
)


@pytest.fixture(scope="session")
def topologies(trees: Trees) -> dict[str, Path]:
    """Name -> the folder that holds proc and sys."""
    return {name: trees.topology(name) for name in NAMES}


def run(words: Sequence[str], tmp_path: Path) -> str:
    result = CliRunner().invoke(cli, ["--data", str(tmp_path / "data"), *words])
    assert result.exception is None, result.output
    assert result.exit_code == 0
    return result.stdout


def at(root: Path) -> Settings:
    return Settings(agent=msgspec.structs.replace(Settings().agent, root=str(root)))


def values(root: Path) -> dict[str, float]:
    return {f"{row.subsystem} {row.device} {row.metric}": row.value for row in sample_once(at(root))}


@pytest.mark.parametrize("name", NAMES)
def test_sample_gives_finite_values(topologies: dict[str, Path], name: str, tmp_path: Path) -> None:
    rows = msgspec.json.decode(run(["sample", "--root", str(topologies[name]), "--json"], tmp_path))
    assert len(rows) > 200
    assert all(math.isfinite(row["value"]) for row in rows)


@pytest.mark.parametrize("name", NAMES)
def test_doctor_names_what_is_absent_and_nothing_has_failed(
    topologies: dict[str, Path], name: str, tmp_path: Path
) -> None:
    text = run(["doctor", "--root", str(topologies[name])], tmp_path)
    for what in (
        "/proc/pressure",
        "/proc/schedstat",
        "/sys/devices/system/edac",
        "/sys/class/nvme",
        "powercap",
        "hwmon",
    ):
        assert what in text
    told = survey(at(topologies[name]))
    assert [one for one, condition in told.collectors.items() if condition.state == "failed"] == []
    absent = {one for one, condition in told.collectors.items() if condition.state == "absent"}
    assert len(told.findings) >= len(absent) > 0


def test_hybrid_cores(topologies: dict[str, Path]) -> None:
    got = values(topologies[NAMES[0]])
    assert got["cpu cpu0 frequency_hertz"] == 1_170_889_000
    assert got["cpu cpu1 frequency_hertz"] == 1_674_064_000
    assert got["cpu cpu19 frequency_hertz"] == 400_000_000
    assert len([key for key in got if key.endswith(" frequency_hertz")]) == 20


def test_an_old_kernel_without_policies(topologies: dict[str, Path]) -> None:
    got = values(topologies[NAMES[2]])
    assert got["cpu cpu0 frequency_hertz"] == 1_700_000_000
    assert len([key for key in got if key.endswith(" frequency_hertz")]) == 48


def test_sparse_nodes_keep_their_numbers(topologies: dict[str, Path]) -> None:
    got = values(topologies[NAMES[2]])
    nodes = {key.split()[1] for key in got if key.endswith("numa_miss_pages_per_s")}
    assert nodes == {f"node{at}" for at in (0, 1, 2, 33, 34, 45, 72, 73)}


def test_a_node_that_is_offline_is_not_there(topologies: dict[str, Path]) -> None:
    got = values(topologies[NAMES[5]])
    assert "memory node0 total_bytes" not in got
    assert got["memory node1 total_bytes"] == 67_108_864 * 1024
    assert got["memory node1 free_bytes"] == 57_913_400 * 1024


def test_memory_of_gpus_is_a_node_of_its_own(topologies: dict[str, Path]) -> None:
    got = values(topologies[NAMES[4]])
    assert got["memory node0 total_bytes"] == 129_839_104 * 1024
    assert got["memory node8 total_bytes"] == 133_952_000 * 1024
    assert {got[f"memory node{at} total_bytes"] for at in range(250, 256)} == {15_728_640 * 1024}


def test_a_counter_that_is_full_counts_no_more(topologies: dict[str, Path]) -> None:
    assert "network qib0:1 tx_bytes_per_s" not in values(topologies[NAMES[1]])


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


SPOILT: dict[str, Callable[[Path], object]] = {
    "a folder in its place": _folder,
    "no text": lambda path: path.write_bytes(b"\xff\xfe\0\x9f" * 50),
    "nothing": lambda path: path.write_bytes(b""),
    "a link to itself": _loop,
    "one long word": lambda path: path.write_bytes(b"9" * 70_000),
    "gone": Path.unlink,
}


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_spoilt_files_are_no_reason_to_fail(
    topologies: dict[str, Path], tmp_path: Path, spoil: Callable[[Path], object], every: int
) -> None:
    root = tmp_path / "tree"
    for part in ("proc", "sys/devices/system", "sys/class/infiniband", "sys/devices/pci0000:40"):
        shutil.copytree(topologies[NAMES[1]] / part, root / part, symlinks=True)
    for path in sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())[::every]:
        spoil(path)
    told = survey(at(root))
    assert [(one, state.error) for one, state in told.collectors.items() if state.state == "failed"] == []
    assert all(math.isfinite(value) for value in values(root).values())

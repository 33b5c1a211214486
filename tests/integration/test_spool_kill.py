"""Writers that are killed: nothing that was flushed is lost, doubled or unreadable."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hostsight.folders import DataFolder
from hostsight.settings import Settings
from ingest.embedded import EmbeddedStore
from ingest.lake import Lake
from tests.unit.storage.makers import HOST, readers, samples, span, stamps

REPOSITORY = Path(__file__).resolve().parents[2]

_SPOOL = """
import sys
from pathlib import Path
from hostsight.folders import DataFolder
from hostsight.settings import Duration, SpoolSettings
from tests.unit.storage.makers import second, writer

spool = writer(DataFolder(Path(sys.argv[1])), SpoolSettings(segment=Duration(20)))
at = int(sys.argv[2])
while True:
    second(spool, at)
    print(at, flush=True)
    at += 1
"""

_COMPACT = """
import sys
from pathlib import Path
from hostsight.folders import DataFolder
from ingest.compaction import compact
from ingest.lake import Lake
from tests.unit.storage.makers import T0, age_files, write_seconds

lake = Lake(DataFolder(Path(sys.argv[1])))
at = int(sys.argv[2])
while True:
    write_seconds(lake, at, at + 60)
    print(at + 60, flush=True)
    now_ns = T0 + 7200 * 1_000_000_000
    age_files(lake, now_ns, 130)
    compact(lake, now_ns)
    at += 60
"""


def test_twenty_kills_lose_no_flushed_second(data: DataFolder) -> None:
    chance = random.Random(1)
    for _ in range(20):
        flushed = _run_and_kill(_SPOOL, data, _next_second(data), chance)
        assert _next_second(data) > flushed
    assert [reader.problem for reader in readers(data)] == [None] * len(readers(data))
    assert stamps(data) == pytest.approx([k / 10 + 0.05 for k in range(10 * _next_second(data))])


def test_the_store_gives_each_sample_of_killed_writers_once(data: DataFolder) -> None:
    chance = random.Random(2)
    for _ in range(5):
        _run_and_kill(_SPOOL, data, _next_second(data), chance)
    store = EmbeddedStore(data, Settings())
    stored = store.span(HOST)
    assert stored == span(0, _next_second(data))
    table = store.export(HOST, span(0, _next_second(data)))
    assert table.num_rows == 30 * _next_second(data)
    assert store.problems == ()


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_compaction_leaves_a_lake_that_reads_the_same(data: DataFolder, seed: int) -> None:
    chance = random.Random(seed)
    written = 0
    for _ in range(5):
        written = _run_and_kill(_COMPACT, data, written, chance)
        expected = np.concatenate([np.arange(10) / 10 + at for at in range(written)])
        assert Lake(data).read("samples", HOST, span(0, written)) == samples(expected)


def _next_second(data: DataFolder) -> int:
    """The second after the newest one in the spool."""
    return int(max(stamps(data), default=-1)) + 1


def _run_and_kill(program: str, data: DataFolder, start: int, chance: random.Random) -> int:
    """Run `program` from `start`, kill it after some of its lines and a little more, and give its last number."""
    command = [sys.executable, "-c", program, str(data.root), str(start)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(chance.randint(1, 6))]
        sum(range(chance.randint(0, 300_000)))  # a moment of any length, so that the kill meets any step
        child.kill()
        lines += child.stdout.read().splitlines(keepends=True)
    return int([line for line in lines if line.endswith("\n")][-1])

"""Where rejected batches lie; without pyarrow, since `status` looks there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hostsight.folders import DataFolder

SUFFIX = ".lp"
_HEAD_BYTES = 500


def rejected_folder(data: DataFolder) -> Path:
    return data.spool / "rejected"


def rejected_files(folder: Path) -> Iterator[tuple[Path, int]]:
    """(path, size) of each file, oldest first."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            yield path, path.stat().st_size
        except FileNotFoundError:
            continue


def newest_words(files: Sequence[tuple[Path, int]]) -> str:
    """Why the server refused the newest of `files`, as its first line says."""
    if not files:
        return ""
    try:
        with files[-1][0].open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return ""
    return head.split(b"\n", 1)[0].decode("utf-8", "replace").removeprefix("# ")

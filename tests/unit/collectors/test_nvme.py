"""NVMe controllers and their health."""

from __future__ import annotations

import ctypes
import errno
import struct
from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.nvme import (
    ADMIN_COMMAND,
    COMMAND,
    NvmeCollector,
    NvmeHealthCollector,
    ask_health,
    health,
)
from tests.unit.collectors.trees import Trees, read, write

CONTROLLER = "sys/class/nvme/nvme0"


def log(temperature: int = 310) -> bytes:
    """A health log as the specification lays it out: 37 degrees, 3 % worn, 7 media errors."""
    page = bytearray(512)
    struct.pack_into("<BHBBB", page, 0, 0b100, temperature, 98, 10, 3)
    for at, value in enumerate((1000, 2**70, 5, 6, 90, 11, 12, 13, 7, 21)):
        page[32 + 16 * at : 48 + 16 * at] = value.to_bytes(16, "little")
    struct.pack_into("<II", page, 192, 4, 2)
    return bytes(page)


class Device:
    """Stands in for the kernel and the disk: takes the command apart and fills the caller's buffer."""

    def __init__(self, page: bytes, status: int = 0) -> None:
        self.page, self.status = page, status
        self.commands: list[tuple[int, ...]] = []

    def __call__(self, fd: int, request: int, command: bytearray) -> int:
        assert request == ADMIN_COMMAND
        fields = COMMAND.unpack(command)
        self.commands.append(fields)
        address, size = fields[7], fields[9]
        ctypes.memmove(address, self.page, size)
        return self.status


def test_state_and_space(trees: Trees) -> None:
    assert read(NvmeCollector(), trees.prometheus) == {
        "storage nvme0 nvme_live": 1,
        "storage nvme0n0 nvme_used_bytes": 488_281_250 * 4096,
        "storage nvme0n0 nvme_size_bytes": 3_906_250_000 * 512,
    }


def test_a_dead_controller_is_not_live(tmp_path: Path) -> None:
    assert read(NvmeCollector(), write(tmp_path, {f"{CONTROLLER}/state": "dead\n"})) == {
        "storage nvme0 nvme_live": 0
    }


def test_the_command_asks_for_the_whole_log_of_all_namespaces() -> None:
    device = Device(log())
    assert ask_health(3, device) == log()
    fields = device.commands[0]
    assert COMMAND.size == 72
    assert fields[0] == 0x02  # get log page
    assert fields[3] == 0xFFFFFFFF
    assert fields[9] == 512
    assert fields[10] == 0x007F_0002  # 128 words, page 2


def test_health(tmp_path: Path) -> None:
    write(tmp_path, {f"{CONTROLLER}/state": "live\n", "dev/nvme0": ""})
    assert read(NvmeHealthCollector(Device(log())), tmp_path) == pytest.approx({
        "storage nvme0 nvme_critical_warnings": 4,
        "storage nvme0 nvme_temperature_celsius": 36.85,
        "storage nvme0 nvme_spare_percent": 98,
        "storage nvme0 nvme_worn_percent": 3,
        "storage nvme0 nvme_read_bytes_per_s": 512_000_000,
        "storage nvme0 nvme_write_bytes_per_s": 2**70 * 512_000,
        "storage nvme0 nvme_busy_percent": 540_000,  # 90 minutes, of one second
        "storage nvme0 nvme_unsafe_shutdowns_per_s": 13,
        "storage nvme0 nvme_media_errors_per_s": 7,
        "storage nvme0 nvme_error_log_entries_per_s": 21,
        "storage nvme0 nvme_hot_percent": 24_000,
        "storage nvme0 nvme_critically_hot_percent": 12_000,
    })  # fmt: skip


def test_a_device_without_a_thermometer_has_no_temperature() -> None:
    assert np.isnan(health(log(temperature=0))[1])


def test_a_command_that_the_device_refuses_is_a_failure(tmp_path: Path) -> None:
    write(tmp_path, {f"{CONTROLLER}/state": "live\n", "dev/nvme0": ""})
    with pytest.raises(NoDataError, match="health log of nvme0"):
        NvmeHealthCollector(Device(log(), status=0x4002)).open(Host(tmp_path))


def test_without_rights_the_way_out_is_named(tmp_path: Path) -> None:
    def refuse(fd: int, request: int, command: bytearray) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    write(tmp_path, {f"{CONTROLLER}/state": "live\n", "dev/nvme0": ""})
    with pytest.raises(NoDataError) as caught:
        NvmeHealthCollector(refuse).open(Host(tmp_path))
    assert (caught.value.reason, caught.value.remedy) == ("permission", "run the agent as root")


def test_a_file_in_the_device_s_place_gives_nothing(tmp_path: Path) -> None:
    write(tmp_path, {f"{CONTROLLER}/state": "live\n", "dev/nvme0": "not a device"})
    with pytest.raises(NoDataError):
        NvmeHealthCollector().open(Host(tmp_path))


def test_a_disk_that_is_pulled_changes_the_layout(tmp_path: Path) -> None:
    write(tmp_path, {f"{CONTROLLER}/state": "live\n", "dev/nvme0": ""})
    collector = NvmeHealthCollector(Device(log()))
    out = np.empty(len(collector.open(Host(tmp_path))))
    (tmp_path / CONTROLLER).rename(tmp_path / "pulled")
    assert not collector.read(out)

"""Sensors of the board."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.sensors import SensorsCollector
from tests.unit.collectors.trees import Trees, read, write

CHIP = "sys/class/hwmon/hwmon4"


def test_cores_and_packages_of_a_server(trees: Trees) -> None:
    values = read(SensorsCollector(), trees.dual_xeon)
    assert values["cpu coretemp.0-Package_id_0 temperature_celsius"] == 42
    assert values["cpu coretemp.1-Package_id_1 temperature_celsius"] == 48
    cores = {"0": 40, "1": 40, "2": 40, "3": 40, "4": 41, "8": 41, "9": 40, "10": 40, "11": 40, "12": 40}
    for core, degrees in cores.items():
        assert values[f"cpu coretemp.1-Core_{core} temperature_celsius"] == degrees
    assert values["cpu coretemp.0-Core_12 temperature_celsius"] == 33
    assert values["cpu thermal_zone0-x86_pkg_temp temperature_celsius"] == 44
    assert values["cpu thermal_zone1-x86_pkg_temp temperature_celsius"] == 49
    assert values["cpu coretemp.1-Core_4 sensor_alarm"] == 0
    assert len(values) == 22 + 22 + 2


def test_every_kind_of_sensor(trees: Trees) -> None:
    values = read(SensorsCollector(), trees.node_exporter)
    assert values["cpu nct6779-nct6775.656-fan2 fan_rpm"] == 1098
    assert values["cpu nct6779-nct6775.656-in0 voltage_volts"] == pytest.approx(0.792)
    assert values["cpu nct6779-nct6775.656-in1 voltage_volts"] == pytest.approx(1.024)
    assert values["cpu nct6779-nct6775.656-in1 sensor_alarm"] == 1
    assert values["cpu nct6779-nct6775.656-in0 sensor_alarm"] == 0
    assert values["cpu coretemp.0-Physical_id_0 temperature_celsius"] == 55
    assert values["cpu coretemp.1-Core_3 temperature_celsius"] == 50
    assert values["cpu thermal_zone0-cpu-thermal temperature_celsius"] == pytest.approx(12.376)


def test_an_old_driver_keeps_its_files_beside(trees: Trees) -> None:
    values = read(SensorsCollector(), trees.node_exporter)
    assert values["cpu applesmc.768-Left_side fan_rpm"] == 0
    assert values["cpu applesmc.768-Right_side fan_rpm"] == 1998


def test_sensors_that_share_a_label_stay_apart(trees: Trees) -> None:
    values = read(SensorsCollector(), trees.node_exporter)
    assert values["cpu hwmon4-foosensor-temp1 temperature_celsius"] == 55
    assert values["cpu hwmon4-foosensor-temp2 temperature_celsius"] == 54


def test_disks_have_sensors_too(trees: Trees) -> None:
    values = read(SensorsCollector(), trees.prometheus)
    assert values["storage nvme0-Composite temperature_celsius"] == pytest.approx(43.85)
    assert values["storage nvme0-Sensor_2 temperature_celsius"] == pytest.approx(45.85)
    assert values["cpu thermal_zone1-acpitz temperature_celsius"] == -44


def test_a_power_meter_gives_its_mean(tmp_path: Path) -> None:
    files = {
        "name": "power_meter\n",
        "power1_input": "900000000\n",
        "power1_average": "850000000\n",
        "curr1_input": "1500\n",
    }
    values = read(
        SensorsCollector(), write(tmp_path / "tree", {f"{CHIP}/{name}": text for name, text in files.items()})
    )
    assert values["cpu power_meter-hwmon4-power1 sensor_power_watts"] == 850
    assert values["cpu power_meter-hwmon4-curr1 current_amperes"] == pytest.approx(1.5)
    assert len(values) == 2


@pytest.mark.parametrize(
    ("name", "subsystem"),
    [("nvme", "storage"), ("spd5118", "memory"), ("amdgpu", "gpu"), ("mlx5", "network"), ("k10temp", "cpu")],
)
def test_a_chip_belongs_to_what_it_measures(tmp_path: Path, name: str, subsystem: str) -> None:
    write(tmp_path, {f"{CHIP}/name": name, f"{CHIP}/temp1_input": "30000"})
    assert [*read(SensorsCollector(), tmp_path)] == [f"{subsystem} {name}-hwmon4-temp1 temperature_celsius"]


def test_single_cores_are_the_first_to_be_left_out(trees: Trees) -> None:
    slots = SensorsCollector().open(Host(trees.dual_xeon, device_limit=4))
    assert {slot.device for slot in slots} == {
        "coretemp.0-Package_id_0",
        "coretemp.1-Package_id_1",
        "thermal_zone0-x86_pkg_temp",
        "thermal_zone1-x86_pkg_temp",
    }


def test_a_sensor_that_fails_leaves_the_others(tmp_path: Path) -> None:
    write(tmp_path, {f"{CHIP}/name": "jc42", f"{CHIP}/temp1_input": "30000", f"{CHIP}/temp2_input": "31000"})
    collector = SensorsCollector()
    out = np.full(len(collector.open(Host(tmp_path))), np.nan)
    (tmp_path / CHIP / "temp1_input").unlink()
    assert collector.read(out)
    assert np.isnan(out[0])
    assert out[1] == 31_000


def test_a_diode_that_is_not_connected_has_no_temperature(tmp_path: Path) -> None:
    files = {
        f"{CHIP}/name": "nct6775\n",
        f"{CHIP}/temp1_input": "-128000\n",
        f"{CHIP}/temp1_fault": "1\n",
        f"{CHIP}/temp2_input": "45000\n",
        f"{CHIP}/temp2_fault": "0\n",
        f"{CHIP}/fan1_input": "0\n",
        f"{CHIP}/fan1_fault": "1\n",
    }
    assert read(SensorsCollector(), write(tmp_path, files)) == {
        "cpu nct6775-hwmon4-temp2 temperature_celsius": 45,
        "cpu nct6775-hwmon4-fan1 fan_rpm": 0,
    }


def test_a_sensor_that_comes_and_goes_changes_the_layout_once(tmp_path: Path) -> None:
    write(tmp_path, {f"{CHIP}/name": "jc42", f"{CHIP}/temp1_input": "30000", f"{CHIP}/temp2_input": "asleep"})
    collector = SensorsCollector()
    assert len(collector.open(Host(tmp_path))) == 1
    assert collector.absent() == [("temperature_celsius of jc42-hwmon4-temp2", "N/A", "")]
    write(tmp_path, {f"{CHIP}/temp2_input": "31000"})
    assert not collector.read(np.empty(1))
    write(tmp_path, {f"{CHIP}/temp2_input": "asleep"})
    out = np.full(len(collector.open(Host(tmp_path))), np.nan)
    assert collector.read(out)
    np.testing.assert_array_equal(out, [30_000, np.nan])
    write(tmp_path, {f"{CHIP}/temp2_input": "32000"})
    assert collector.read(out)
    assert out[1] == 32_000


def test_labels_of_any_text_make_names_without_blanks(tmp_path: Path) -> None:
    write(
        tmp_path,
        {f"{CHIP}/name": b"\xff[red]\n", f"{CHIP}/temp1_input": b"1", f"{CHIP}/temp1_label": b"a\x1b b\n"},
    )
    (key,) = read(SensorsCollector(), tmp_path)
    assert key.split(" ")[1] == "\N{REPLACEMENT CHARACTER}[red]-hwmon4-a__b"


def test_no_sensor(tmp_path: Path) -> None:
    with pytest.raises(NoDataError):
        SensorsCollector().open(Host(tmp_path))

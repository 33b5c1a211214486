from __future__ import annotations

import os
from pathlib import Path

import pytest

from hostsight.configuration import data_folder, load_settings, parse_size
from hostsight.errors import SettingsError, UsageError
from hostsight.folders import DataFolder, default_data_folder
from hostsight.settings import Duration, InfluxSettings, Secret, Settings, Size, sections
from jobs.environment import settings_environment


def write(data: DataFolder, text: str) -> Path:
    path = data.root / "hostsight.toml"
    path.write_text(text)
    return path


def test_without_file_environment_or_flags_the_defaults_stand(data: DataFolder) -> None:
    assert load_settings(data, environment={}) == Settings()


def test_flags_beat_the_environment_which_beats_the_file(data: DataFolder) -> None:
    write(data, '[agent]\ntick = "1s"\nmedium = "2s"\nslow = "20s"\n')
    environment = {"HOSTSIGHT_AGENT_TICK": "500ms", "HOSTSIGHT_AGENT_MEDIUM": "3s"}
    agent = load_settings(data, {("agent", "tick"): "250ms"}, environment).agent
    assert [float(agent.tick), float(agent.medium), float(agent.slow)] == [0.25, 3, 20]


def test_a_flag_that_was_not_given_changes_nothing(data: DataFolder) -> None:
    assert load_settings(data, {("agent", "root"): None}, {}) == Settings()


def test_the_file_that_the_environment_names_is_the_only_one_read(data: DataFolder, tmp_path: Path) -> None:
    write(data, "[jobs]\nrefit_hour = 3\n")
    other = tmp_path / "other.toml"
    other.write_text("[jobs]\nrefit_hour = 5\n")
    assert load_settings(data, environment={"HOSTSIGHT_CONFIG": str(other)}).jobs.refit_hour == 5


def test_text_from_the_environment_becomes_the_setting_s_type(data: DataFolder) -> None:
    settings = load_settings(
        data,
        environment={
            "HOSTSIGHT_AGENT_DISABLED": "numa,softnet",
            "HOSTSIGHT_DETECT_PERCENTILE": "99.9",
            "HOSTSIGHT_SPOOL_MAX_BYTES": "512MiB",
            "HOSTSIGHT_SQL_ROWS": "7",
        },
    )
    assert settings.agent.disabled == ("numa", "softnet")
    assert settings.detect.percentile == 99.9
    assert settings.spool.max_bytes == 512 * 1024 * 1024
    assert settings.sql.rows == 7


@pytest.mark.parametrize("name", ["HOSTSIGHT_DATA", "HOSTSIGHT_SHARED", "_HOSTSIGHT_COMPLETE", "PATH"])
def test_variables_with_another_purpose_are_no_settings(data: DataFolder, name: str) -> None:
    assert load_settings(data, environment={name: "x"}) == Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[detct]\nwarmup = "5m"\n', ["hostsight.toml", "[detct]", "did you mean 'detect'?"]),
        ('[detect]\nwarmpu = "5m"\n', ["hostsight.toml", "'warmpu' in [detect]", "did you mean 'warmup'?"]),
        ('[detect]\nwarmup = "5 parsecs"\n', ["hostsight.toml", "[detect] warmup", "write it as 90s"]),
        ("[detect]\nwarmup = 5\n", ["hostsight.toml", "[detect] warmup", "90s"]),
        (
            "[detect]\npercentile = 100\n",
            ["hostsight.toml", "[detect] percentile = 100 must be a number, above 50 and below 100"],
        ),
        (
            "[jobs]\nrefit_hour = 2.5\n",
            ["[jobs] refit_hour = 2.5 must be a whole number, at least 0 and at most 23"],
        ),
        ('[agent]\nadaptive = "maybe"\n', ["[agent] adaptive = 'maybe' must be true or false"]),
        ('[agent]\ndisabled = "rdma"\n', ["[agent] disabled = 'rdma' must be a list such as"]),
        ("[agent]\nhost = 7\n", ["[agent] host = 7 must be text in quotes"]),
        ('[store]\nkind = "influxdb"\n', ["one of embedded, influx, telegraf (did you mean 'influx'?)"]),
        ('[window]\nlength = "2500ms"\n', ["hostsight.toml: [window] length = 2s500ms"]),
        ('tick = "1s"\n', ["hostsight.toml: 'tick' stands outside any section; move it below [agent]"]),
        ("[spool]\nmax_bytes = 5\n", ["hostsight.toml", "[spool] max_bytes", "500MB"]),
        ("detect = 3\n", ["hostsight.toml", "detect must be a table; write [detect]"]),
        ("[detect\n", ["hostsight.toml", "line 1"]),
    ],
)
def test_a_mistake_in_the_file_names_file_key_and_remedy(
    data: DataFolder, text: str, words: list[str]
) -> None:
    write(data, text)
    with pytest.raises(SettingsError) as error:
        load_settings(data, environment={})
    for word in words:
        assert word in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_utf8_is_named(data: DataFolder) -> None:
    (data.root / "hostsight.toml").write_bytes(b"[agent]\nhost = '\xff'\n")
    with pytest.raises(SettingsError, match=r"hostsight\.toml"):
        load_settings(data, environment={})


def test_a_mistake_in_the_environment_names_the_variable(data: DataFolder) -> None:
    with pytest.raises(SettingsError, match=r"HOSTSIGHT_AGENT_TIKC is no setting .*HOSTSIGHT_AGENT_TICK"):
        load_settings(data, environment={"HOSTSIGHT_AGENT_TIKC": "1s"})
    with pytest.raises(SettingsError, match=r"HOSTSIGHT_AGENT_TICK: .*'soon' is not a duration"):
        load_settings(data, environment={"HOSTSIGHT_AGENT_TICK": "soon"})

    with pytest.raises(SettingsError, match=r"did you mean 'HOSTSIGHT_AGENT_TICK'\?\); correct it"):
        load_settings(data, environment={"HOSTSIGHT_TICK": "1s"})
    with pytest.raises(SettingsError, match=r"INFLUXDB_V2_TIMEOUT = 'soon' is no number of milliseconds"):
        load_settings(data, environment={"INFLUXDB_V2_TIMEOUT": "soon"})


def test_a_variable_like_none_of_the_settings_is_not_said_to_be_like_one(data: DataFolder) -> None:
    with pytest.raises(SettingsError, match=r"HOSTSIGHT_FOO_BAR is no setting; correct it, or unset it"):
        load_settings(data, environment={"HOSTSIGHT_FOO_BAR": "1"})


def test_a_folder_in_the_place_of_the_settings_file_is_refused(data: DataFolder) -> None:
    (data.root / "hostsight.toml").mkdir()
    with pytest.raises(SettingsError, match=r"hostsight\.toml is a folder"):
        load_settings(data, environment={})


@pytest.mark.parametrize(("host", "fits"), [("h" * 190, True), ("h" * 191, False), ("é" * 40, False)])
def test_a_host_name_must_fit_into_the_names_of_files(data: DataFolder, host: str, fits: bool) -> None:
    flags = {("agent", "host"): host}
    if fits:
        assert load_settings(data, flags, {}).host == host
    else:
        with pytest.raises(SettingsError, match=r"\[agent\] host is too long to name files by: \d+ char"):
            load_settings(data, flags, {})


def test_a_mistake_in_a_flag_names_the_flag(data: DataFolder) -> None:
    with pytest.raises(SettingsError, match=r"--warmup: .*'soon' is not a duration"):
        load_settings(data, {("detect", "warmup"): "soon"}, {})


def test_a_named_file_that_is_missing_is_an_error(data: DataFolder) -> None:
    with pytest.raises(SettingsError, match="/no/such/file"):
        load_settings(data, environment={"HOSTSIGHT_CONFIG": "/no/such/file"})


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({("window", "length"): "2500ms"}, r"\[window\] length = 2s500ms .*multiple of \[window\] pane = 1s"),
        ({("window", "stride"): "0s"}, r"\[window\] stride"),
        ({("window", "pane"): "0s"}, r"\[window\]"),
        ({("agent", "tick"): "0s"}, r"\[agent\] tick = 0s must be at least 1ms"),
        ({("retention", "samples"): "0s"}, r"\[retention\] samples = 0s must be longer than nothing"),
        ({("detect", "open_hits"): "9"}, r"open_hits = 9 may not exceed \[detect\] open_of = 8; lower it"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    data: DataFolder, flags: dict[tuple[str, str], str], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        load_settings(data, flags, {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500MB", 500_000_000), ("2 GB", 2 * 10**9), ("512MiB", 2**29), ("1.5kb", 1500), ("7B", 7)],
)
def test_sizes(text: str, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize("text", ["", "12", "MB", "2 GBit", "infGB", "nanMB", "-1MB"])
def test_anything_else_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="write it as 500MB"):
        parse_size(text)


def test_durations_and_sizes_are_shown_as_they_are_written() -> None:
    assert (str(Duration(5400)), str(Duration(0.1)), str(Size(2 * 10**9)), str(Size(1500))) == (
        "1h30m",
        "100ms",
        "2GB",
        "1500B",
    )


def test_every_setting_says_what_it_means() -> None:
    for section, fields in sections().items():
        for key, field in fields.items():
            meta = getattr(field.type, "__metadata__", ())
            assert meta, f"[{section}] {key} has no description"
            assert meta[0].description, f"[{section}] {key} has no description"


def test_the_data_folder_is_the_flag_s_then_the_environment_s(tmp_path: Path) -> None:
    environment = {"HOSTSIGHT_DATA": str(tmp_path / "env")}
    assert data_folder(str(tmp_path / "flag"), environment).root == tmp_path / "flag"
    assert data_folder(None, environment).root == tmp_path / "env"
    assert data_folder(None, {}).root == default_data_folder()


def test_a_relative_data_folder_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert data_folder("here", {}).root == tmp_path / "here"


def test_root_keeps_telemetry_with_the_system_s_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_data_folder() == Path("/var/lib/hostsight")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_DATA_HOME", "/home/ada/share")
    assert default_data_folder() == Path("/home/ada/share/hostsight")


def test_the_variables_of_influxdbs_own_client_give_way_to_the_file_and_to_ours(data: DataFolder) -> None:
    write(data, '[influx]\norg = "file"\nbucket = "file"\n')
    theirs = {"INFLUXDB_V2_URL": "https://theirs", "INFLUXDB_V2_ORG": "theirs", "INFLUXDB_V2_TOKEN": "t", "INFLUXDB_V2_TIMEOUT": "2500", "INFLUXDB_V2_VERIFY_SSL": "false"}  # fmt: skip
    influx = load_settings(data, environment=theirs | {"HOSTSIGHT_INFLUX_BUCKET": "ours"}).influx
    assert (influx.url, influx.org, influx.bucket) == ("https://theirs", "file", "ours")
    assert (influx.token.reveal(), influx.timeout, influx.verify) == ("t", 2.5, False)


def test_a_token_is_never_shown(data: DataFolder) -> None:
    influx = load_settings(data, environment={"HOSTSIGHT_INFLUX_TOKEN": "geheim"}).influx
    assert "geheim" not in f"{influx!r} {influx.token} {influx.token!r} {influx.token:>20}"
    assert influx.token.reveal() == "geheim"


def test_a_token_in_the_settings_file_is_refused_with_the_right_place_for_it(data: DataFolder) -> None:
    write(data, '[influx]\ntoken = "geheim"\n')
    with pytest.raises(SettingsError, match="name that as token_file") as raised:
        load_settings(data, environment={})
    assert "geheim" not in str(raised.value)


def test_a_child_process_gets_the_token_by_environment() -> None:
    settings = Settings(influx=InfluxSettings(token=Secret("geheim")))
    assert settings_environment(settings, {})["HOSTSIGHT_INFLUX_TOKEN"] == "geheim"


def test_lists_in_the_environment_may_have_spaces_and_nothing_in_them(data: DataFolder) -> None:
    spaced = load_settings(data, environment={"HOSTSIGHT_DETECT_PEER_HOSTS": "gpu*, db* ,"})
    assert spaced.detect.peer_hosts == ("gpu*", "db*")
    empty = load_settings(data, environment={"HOSTSIGHT_DETECT_PEER_HOSTS": ""})
    assert empty.detect.peer_hosts == ()

from __future__ import annotations

from hostsight.configuration import load_settings
from hostsight.folders import DataFolder
from hostsight.settings import AgentSettings, DetectSettings, Duration, Settings, Size, SpoolSettings
from jobs.environment import settings_environment


def test_a_child_works_by_the_same_settings_whatever_the_file_says(data: DataFolder) -> None:
    (data.root / "hostsight.toml").write_text('[detect]\nwarmup = "9m"\n')
    settings = Settings(
        agent=AgentSettings(host="gpu01", tick=Duration(0.25), disabled=("cpu", "network")),
        spool=SpoolSettings(max_bytes=Size(123_456_789)),
        detect=DetectSettings(warmup=Duration(180), percentile=97.5),
    )

    assert load_settings(data, environment=settings_environment(settings, {})) == settings


def test_what_else_the_environment_holds_stays_and_what_is_unset_goes() -> None:
    child = settings_environment(Settings(), {"PATH": "/bin", "HOSTSIGHT_AGENT_HOST": "old"})

    assert child["PATH"] == "/bin"
    assert "HOSTSIGHT_AGENT_HOST" not in child

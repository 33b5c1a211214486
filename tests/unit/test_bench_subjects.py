"""What `bench collect` measures."""

from __future__ import annotations

from bench.subjects import decode, encode
from hostsight.settings import AgentSettings, Duration, Settings, Size, SpoolSettings


def test_what_collection_needs_of_the_settings_survives_a_command_line() -> None:
    agent = AgentSettings(tick=Duration(0.25), disabled=("numa",), root="/host")
    settings = Settings(agent=agent, spool=SpoolSettings(max_bytes=Size(10**8)))
    read = decode(encode(settings))
    assert (read.agent, read.spool) == (agent, settings.spool)
    assert read.agent.tick.ns == 250_000_000

"""What cannot be a token is refused before a request is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsight.errors import SettingsError
from hostsight.settings import InfluxSettings, Secret
from ingest.influx.client import InfluxClient, read_token

WRONG = ["s3cret\nand more", "s3cret\tand more", "s3cret\u20ac"]


@pytest.mark.parametrize("token", WRONG)
def test_a_token_that_no_request_can_carry_is_refused_and_not_shown(token: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(token, "utf-8")
    for settings, where in (
        (InfluxSettings(token=Secret(token)), "HOSTSIGHT_INFLUX_TOKEN holds more than a token"),
        (InfluxSettings(token_file=str(file)), f"token_file = '{file}' holds more than a token"),
    ):
        with pytest.raises(SettingsError) as raised:
            InfluxClient(settings)
        assert where in str(raised.value)
        assert "s3cret" not in str(raised.value)


def test_white_space_around_a_token_in_a_file_is_none_of_it(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("  user:a password\n\n")
    assert read_token(InfluxSettings(token_file=str(file))) == "user:a password"

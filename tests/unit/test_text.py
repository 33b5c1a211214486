from __future__ import annotations

from hostsight.text import encodable


def test_bytes_that_are_no_utf8_are_escaped_and_all_else_stays() -> None:
    assert encodable("eth\udcff \N{SNOWMAN}") == "eth\\udcff \N{SNOWMAN}"

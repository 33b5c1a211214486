from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hostsight.channel import KINDS, SUBSYSTEMS, WHOLE_HOST, Channel, channel_id

PARTS = st.tuples(*[st.text(st.characters(codec=None), max_size=8)] * 4)


def channel(device: str = "eth0") -> Channel:
    return Channel("gpu01", "network", device, "rx_bytes_per_s", "rate", "B/s", 1.0, "proc/net/dev")


def test_ids_are_the_same_on_every_host_and_in_every_version() -> None:
    assert channel_id("gpu01", "network", "eth0", "rx_bytes_per_s") == 3344910481546281340
    assert channel().id == channel_id("gpu01", "network", "eth0", "rx_bytes_per_s")


@given(PARTS)
def test_ids_fit_a_signed_64_bit_integer(parts: tuple[str, str, str, str]) -> None:
    assert 0 <= channel_id(*parts) < 2**63


def test_moving_a_letter_between_parts_is_another_channel() -> None:
    assert channel_id("a", "cpu", "b", "c") != channel_id("a", "cpu", "bc", "")
    assert channel_id("ab", "c", "d", "e") != channel_id("a", "bc", "d", "e")


def test_names_that_are_not_utf8_have_an_id() -> None:
    name = b"disk\xff".decode("utf-8", "surrogateescape")
    assert channel_id("h", "storage", name, "m") != channel_id("h", "storage", "disk", "m")


def test_a_label_leaves_out_the_device_of_the_whole_host() -> None:
    assert channel().label == "network eth0 rx_bytes_per_s"
    assert channel(WHOLE_HOST).label == "network rx_bytes_per_s"


def test_the_words_of_the_contract_are_all_there() -> None:
    assert KINDS == ("rate", "gauge", "state", "event")
    assert SUBSYSTEMS == ("cpu", "gpu", "memory", "interconnect", "network", "storage", "agent")

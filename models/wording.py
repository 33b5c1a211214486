"""Metrics and episodes in words."""

from __future__ import annotations

from hostsight.channel import WHOLE_HOST
from hostsight.clock import SECOND_NS
from hostsight.quantity import quantity
from hostsight.timerange import format_duration
from models.attribution import Attribution

_UNIT_ENDINGS = ("bytes", "percent", "seconds", "ratio", "hertz", "celsius", "watts", "volts")


def metric(name: str) -> str:
    """The metric in words, without what its value's unit says already: `rx_bytes_per_s` is `rx`."""
    words = name.removesuffix("_per_s").split("_")
    if len(words) > 1 and words[-1] in _UNIT_ENDINGS:
        words.pop()
    return " ".join(words)


def summary(main: Attribution) -> str:
    """One sentence on an episode's main channel, such as `cpu: busy is 97.2 %, usually 4 %`."""
    device = "" if main.device == WHOLE_HOST else f" {main.device}"
    name = metric(main.metric)
    subject = f"{main.subsystem}{device}: {name}"
    plural = name.endswith("s") and not name.endswith("ss")
    actual, expected = (_bare(quantity(number, main.unit), name) for number in (main.actual, main.expected))
    if main.direction == "changed":
        return f"{subject} {'behave' if plural else 'behaves'} unlike before, around {actual}"
    return f"{subject} {'are' if plural else 'is'} {actual}, usually {expected}"


def _bare(text: str, name: str) -> str:
    """`812k packets/s` of `rx packets` is `812k/s`."""
    return text.replace(f" {name.rsplit(maxsplit=1)[-1]}", "", 1)


def new_regime(words: str, lasted_ns: int) -> str:
    """An episode's sentence, where it is how the host behaves now."""
    return (
        f"new regime: {words}; steady after {format_duration(lasted_ns // SECOND_NS)}, and learnt as normal"
    )

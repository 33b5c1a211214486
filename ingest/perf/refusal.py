"""Why the kernel refuses to count, in words, and the command that changes it."""

from __future__ import annotations

import errno

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.perf.calls import kernel_setting
from ingest.perf.cpuid import virtual

ENOUGH_DESCRIPTORS = "ulimit -n 65536 before the agent starts, or LimitNOFILE=65536 in its unit"
_GIVE_COUNTERS = (
    "on the machine below: virsh edit GUEST, <features><pmu state='on'/></features>; or qemu -cpu host,pmu=on"
)
_IN_CONTAINER = (
    "docker run --cap-add PERFMON; if a seccomp profile of your own denies perf_event_open, allow it"
)

_NO_UNIT = {errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV}
_WITHOUT_UNIT = {
    True: ("this virtual machine has no performance monitoring unit", _GIVE_COUNTERS),
    False: ("the kernel found no performance monitoring unit", "dmesg | grep -i 'performance events'"),
}
_FIXED = {
    errno.EPERM: ("a seccomp profile or kernel lockdown denies perf_event_open", _IN_CONTAINER),
    errno.ENOSYS: ("perf_event_open is missing", "boot a kernel built with CONFIG_PERF_EVENTS"),
    errno.EMFILE: ("too many files are open", ENOUGH_DESCRIPTORS),
    errno.ENFILE: ("too many files are open", "sysctl -w fs.file-max=10000000"),
    errno.EBUSY: ("something else holds the counters", "sysctl -w kernel.nmi_watchdog=0"),
}

_REASONS = {
    errno.EACCES: "permission",
    errno.EPERM: "permission",
    errno.ENOSYS: "not supported",
    errno.ENOENT: "no such device",
    errno.EOPNOTSUPP: "no such device",
    errno.ENODEV: "no such device",
    errno.EINVAL: "not supported",
}


def reason_of(error: OSError) -> str:
    """In the words of `NoDataError`."""
    return _REASONS.get(error.errno or 0, "N/A")


def refusal(host: Host, what: str, error: OSError) -> NoDataError:
    """What to raise where perf_event_open gave `error` for all events; `what` names them."""
    detail, remedy = _explained(host, error)
    return NoDataError(f"{what} cannot be counted: {detail}", reason_of(error), remedy)


def _explained(host: Host, error: OSError) -> tuple[str, str]:
    if error.errno == errno.EACCES:
        level = kernel_setting("perf_event_paranoid")
        return f"kernel.perf_event_paranoid is {level}", "sysctl -w kernel.perf_event_paranoid=0"
    if error.errno in _NO_UNIT:
        return _WITHOUT_UNIT[virtual(host)]
    return _FIXED.get(error.errno or 0, (f"perf_event_open gave {error.strerror or error}", ""))

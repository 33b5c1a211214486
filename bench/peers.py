"""Other collectors of Debian's packages, each as it stands in its own package, in the foreground with a configuration of ours.

They listen on the loopback alone, write below a temporary folder, and end with the benchmark. None is started as a service.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import msgspec
import psutil

from bench.stopwatch import Stopwatch, Usage
from ingest.collector import Host
from ingest.collectors.tcp import TcpCollector
from ingest.collectors.vmstat import VmstatCollector

_STOP_SECONDS = 10.0
_PMCD = "/usr/lib/pcp/bin/pmcd"
_PCP = (_PMCD, "pmlogger", "pmlogsummary")
_PMDA = "/var/lib/pcp/pmdas/linux/pmda_linux.so"
_PLUGINS = [
    "contextswitch",
    "cpu",
    "csv",
    "disk",
    "interface",
    "irq",
    "load",
    "memory",
    "processes",
    "protocols",
    "swap",
    "tcpconns",
    "uptime",
    "vmem",
]
_WHOLE = ["mem.vmstat", "network.tcp", "network.ip", "network.udp"]
_COMMON = [
    "kernel.all.cpu",
    "kernel.percpu.cpu",
    "kernel.percpu.softirqs",
    "kernel.all.load",
    "kernel.all.pressure",
    "kernel.all.intr",
    "kernel.all.pswitch",
    "mem.util",
    "network.interface.in",
    "network.interface.out",
    "network.sockstat",
    "network.softnet.percpu",
    "disk.dev",
]
_SUMMARY = re.compile(r'^\S+ (?:\[".*"\])? *\S+ (\d+) ', re.M)


@dataclass(frozen=True, slots=True)
class Tally:
    """What a peer gave, a second. `stored_bytes_per_s` is None where it keeps no history itself."""

    values_per_s: float
    stored_bytes_per_s: float | None


@dataclass(frozen=True, slots=True)
class Run:
    """A peer at work: its processes, and how to count what it gave in the seconds since it was started."""

    processes: Sequence[subprocess.Popen[bytes]]
    tally: Callable[[float], Tally]


@dataclass(frozen=True, slots=True)
class Peer:
    """`period`: the shortest time between two samples that it can do, in seconds. `programs`: what it takes to run it."""

    name: str
    package: str
    period: float
    programs: tuple[str, ...]
    start: Callable[[Path, ExitStack], Run]

    @property
    def missing(self) -> bool:
        return not all(shutil.which(program) for program in self.programs)

    @property
    def install(self) -> str:
        return f"apt install --no-install-recommends {self.package}"


class Running:
    """A started peer, its clock and its stopwatches."""

    def __init__(self, peer: Peer, run: Run) -> None:
        self.peer = peer
        self._run = run
        self._started = time.monotonic()
        self._watches: list[Stopwatch] = []

    def watch(self) -> None:
        """Begin to measure, its plugins' processes included. Raises nothing where it has ended."""
        self._watches = [Stopwatch(pid) for one in self._run.processes for pid in _family(one.pid)]

    def result(self) -> dict[str, object]:
        """CPU and memory since `watch`, and what it gave since it was started."""
        usages = [usage for watch in self._watches if (usage := _stopped(watch)) is not None]
        if not usages or any(one.poll() is not None for one in self._run.processes):
            return {"error": f"{self.peer.name} ended by itself", "install": self.peer.install}
        tally = self._run.tally(time.monotonic() - self._started)
        return {"period_seconds": self.peer.period, **_figures(usages, tally)}


def _figures(usages: Sequence[Usage], tally: Tally) -> dict[str, object]:
    share = sum(usage.cpu_seconds / usage.wall_seconds for usage in usages)
    stored = tally.stored_bytes_per_s
    return {
        "values_per_s": tally.values_per_s,
        "cpu_percent": 100 * share,
        "cpu_us_per_value": 1e6 * share / tally.values_per_s if tally.values_per_s else None,
        "keeps_history": stored is not None,
        "stored_bytes_per_value": stored / tally.values_per_s if stored and tally.values_per_s else None,
        "rss_bytes": sum(usage.rss_bytes for usage in usages),
    }


def _family(pid: int) -> list[int]:
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.Error:
        return []


def _stopped(watch: Stopwatch) -> Usage | None:
    """None for a process that has ended meanwhile."""
    try:
        return watch.stop()
    except (OSError, psutil.Error):
        return None


@contextmanager
def running(folder: Path, peers: Sequence[Peer]) -> Iterator[list[Running]]:
    """Start all of `peers`, each with a folder of its own below `folder`; stop them at the end."""
    with ExitStack() as stack:
        started = []
        for peer in peers:
            own = folder / peer.name
            own.mkdir()
            started.append(Running(peer, peer.start(own, stack)))
        yield started


def _spawn(
    stack: ExitStack, folder: Path, command: Sequence[str], environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    with (folder / "output.log").open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={**os.environ, **(environment or {})},
        )
    stack.callback(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, then make it, with whatever it had started."""
    family = _family(process.pid)
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pid in family[1:]:
        if psutil.pid_exists(pid):
            psutil.Process(pid).kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _collectd(folder: Path, stack: ExitStack) -> Run:
    """Its own readers into its own CSV files: the history that needs no further package."""
    stored = folder / "csv"
    config = folder / "collectd.conf"
    lines = [
        "Interval 0.1",
        f'BaseDir "{folder}"',
        f'PIDFile "{folder}/pid"',
        'PluginDir "/usr/lib/collectd"',
        'TypesDB "/usr/share/collectd/types.db"',
        *(f"LoadPlugin {plugin}" for plugin in _PLUGINS),
        f'<Plugin csv>\n  DataDir "{stored}"\n</Plugin>',
    ]
    config.write_text("\n".join(lines) + "\n")
    process = _spawn(stack, folder, ["collectd", "-f", "-C", str(config)])

    def tally(seconds: float) -> Tally:
        texts = [path.read_bytes() for path in stored.rglob("*") if path.is_file()]
        values = sum((text.count(b"\n") - 1) * text.partition(b"\n")[0].count(b",") for text in texts)
        return Tally(values / seconds, sum(map(len, texts)) / seconds)

    return Run([process], tally)


class _Scraper(threading.Thread):
    """Asks an exporter for its values every `period` seconds over one connection, and counts them."""

    def __init__(self, port: int, period: float) -> None:
        super().__init__(daemon=True)
        self.values = 0
        self._port = port
        self._period = period
        self._end = threading.Event()

    def run(self) -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=5)
        while not self._end.wait(self._period):
            try:
                connection.request("GET", "/metrics")
                answer = connection.getresponse().read()
            except (OSError, HTTPException):
                connection.close()
            else:
                self.values += sum(not line.startswith(b"#") for line in answer.splitlines())
        connection.close()

    def stop(self) -> None:
        self._end.set()
        self.join()


def _node_exporter(folder: Path, stack: ExitStack) -> Run:
    """Scraped ten times a second; what a Prometheus would cost that keeps the history is not in the figure."""
    port = _free_port()
    command = ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    process = _spawn(stack, folder, command)
    scraper = _Scraper(port, 0.1)
    scraper.start()
    stack.callback(scraper.stop)
    return Run([process], lambda seconds: Tally(scraper.values / seconds, None))


def _same_facts() -> list[str]:
    """PCP's names of the fields that hostsight takes of /proc/vmstat, snmp, snmp6 and netstat. pmlogger skips what PCP lacks."""
    here = Host(Path("/"))
    words = [source.fields for table in (VmstatCollector(), TcpCollector()) for source in table.sources(here)]
    return sorted({name for fields in words for field in fields for name in _pcp_names(field.key.decode())})


def _pcp_names(key: str) -> list[str]:
    """Of the TCP extensions PCP names the older without the kernel's own TCP in front, and the newer with it."""
    table, _, word = key.rpartition(".")
    if six := re.match("(Ip6|Udp6)(.*)", word):
        table, word = six.groups()
    if not table:
        return [f"mem.vmstat.{word}"]
    group, word = table.removesuffix("Ext").lower(), word.lower()
    return sorted({f"network.{group}.{word.removeprefix('tcp')}", f"network.{group}.{word}"})


def _pmlogger(tables: Callable[[], Sequence[str]], folder: Path, stack: ExitStack) -> Run:
    """pmcd with the Linux agent loaded into it, and pmlogger into an archive. Derived metrics, which trip it, are off."""
    port = _free_port()
    (folder / "pmcd.conf").write_text(f"linux\t60\tdso\tlinux_init\t{_PMDA}\n")
    logged = "\n".join(f"  {name}" for name in (*_COMMON, *tables()))
    (folder / "pmlogger.conf").write_text(f"log mandatory on 100 msec {{\n{logged}\n}}\n")
    where = ["-i", "127.0.0.1", "-p", str(port), "-s", str(folder / "pmcd.sock")]
    options = ["-f", "-c", "pmcd.conf", "-l", "pmcd.log", "-U", _user()]
    pmcd = _spawn(stack, folder, [_PMCD, *options, *where])
    _await_port(port)
    environment = {"PCP_DERIVED_CONFIG": "", "PMLOGGER_LOCAL": "1", "PMLOGGER_PORT": str(_free_port())}
    command = ["pmlogger", "-h", f"localhost:{port}", "-c", "pmlogger.conf", "-l", "pmlogger.log", "archive"]
    pmlogger = _spawn(stack, folder, command, environment)

    def tally(seconds: float) -> Tally:
        pmlogger.terminate()
        pmlogger.wait(_STOP_SECONDS)
        summary = subprocess.run(
            ["pmlogsummary", "-y", str(folder / "archive")], capture_output=True, text=True, check=False
        )
        values = sum(map(int, _SUMMARY.findall(summary.stdout)))
        stored = sum(path.stat().st_size for path in folder.glob("archive.*"))
        return Tally(values / seconds, stored / seconds)

    return Run([pmcd, pmlogger], tally)


def _netdata(folder: Path, stack: ExitStack) -> Run:
    """Its daemon and its compiled plugins, once a second, which is as often as it can; the scripted plugins are off."""
    port = _free_port()
    for name in ("cache", "lib", "log"):
        (folder / name).mkdir()
    (folder / "lib" / ".opt-out-from-anonymous-statistics").touch()
    off = "\n".join(f"  {name} = no" for name in ("go.d", "python.d", "charts.d", "node.d"))
    (folder / "netdata.conf").write_text(
        f"[global]\n  run as user = {_user()}\n  hostname = bench\n"
        f"[directories]\n  cache = {folder}/cache\n  lib = {folder}/lib\n  log = {folder}/log\n"
        f"[db]\n  mode = dbengine\n  update every = 1\n[web]\n  bind to = 127.0.0.1:{port}\n"
        f"[plugins]\n{off}\n[registry]\n  enabled = no\n[ml]\n  enabled = no\n"
    )
    process = _spawn(stack, folder, ["netdata", "-D", "-c", str(folder / "netdata.conf")])

    def tally(seconds: float) -> Tally:
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/api/v1/allmetrics?format=json")
        charts = msgspec.json.decode(connection.getresponse().read(), type=dict[str, _Chart])
        connection.close()
        return Tally(
            sum(len(chart.dimensions) for chart in charts.values()), _size(folder / "cache") / seconds
        )

    return Run([process], tally)


class _Chart(msgspec.Struct):
    """What netdata shows of one chart."""

    dimensions: dict[str, object]


def _user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


def _await_port(port: int) -> None:
    """Wait until something listens there, or long enough."""
    deadline = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


PEERS = (
    Peer("collectd", "collectd-core", 0.1, ("collectd",), _collectd),
    Peer("node_exporter", "prometheus-node-exporter", 0.1, ("prometheus-node-exporter",), _node_exporter),
    Peer("pmlogger", "pcp", 0.1, _PCP, partial(_pmlogger, _same_facts)),
    Peer("pmlogger_whole_tables", "pcp", 0.1, _PCP, partial(_pmlogger, lambda: _WHOLE)),
    Peer("netdata", "netdata-core", 1.0, ("netdata",), _netdata),
)

"""Points as telegraf's own plugins write them in line protocol, for a host whose figures are known."""

from __future__ import annotations

import gzip
import urllib.request
from collections.abc import Callable, Iterator
from urllib.parse import urlencode

from tests.influx.server import TOKEN, Server

Level = Callable[[int], float]
"""How busy the host is, 0 to 1, at a number of intervals since the first point."""


def lines(
    host: str,
    start_s: int,
    count: int,
    *,
    interval_s: int = 10,
    busy: Level = lambda _: 0.2,
    boot_at: int = -1,
) -> Iterator[str]:
    """`count` intervals from `start_s` on. At number `boot_at` the host has just booted: its counters begin anew."""
    counted = 0.0
    for number in range(count):
        load = busy(number)
        counted = 0.0 if number == boot_at else counted + load * interval_s
        yield from _points(host, load, counted, (start_s + number * interval_s) * 10**9)


def _points(host: str, load: float, counted: float, ts: int) -> Iterator[str]:
    """`counted`: seconds of work since boot."""
    used, gb = round(2e9 + 20e9 * load), 10**9
    tag = f"host={host},site=the\\ lab"
    for cpu in ("cpu-total", "cpu0", "cpu1"):
        yield f"cpu,cpu={cpu},{tag} usage_user={70 * load},usage_system={30 * load},usage_idle={100 - 100 * load},usage_nice=0,usage_iowait=0,usage_irq=0,usage_softirq=0,usage_steal=0,usage_guest=0,usage_guest_nice=0 {ts}"
    yield f"mem,{tag} total={64 * gb}i,available={64 * gb - used}i,available_percent=50.5,used={used}i,free={gb}i,cached={8 * gb}i,buffered={gb}i,dirty=122880i,write_back=0i,slab=2081071104i,huge_pages_total=0i,used_percent=12.5 {ts}"
    yield f"swap,{tag} total={4 * gb}i,used=0i,free={4 * gb}i,used_percent=0 {ts}"
    yield f"swap,{tag} in={round(4096 * counted)}i,out=0i {ts}"
    yield f"disk,device=nvme0n1p2,fstype=ext4,label=root,mode=rw,path=/,{tag} total={500 * gb}i,free={400 * gb}i,used={100 * gb}i,used_percent=20,inodes_total=121847806i,inodes_free=97267461i,inodes_used=24580345i {ts}"
    for name in ("nvme0n1", "nvme0n1p2"):
        yield f"diskio,name={name},serial=S4,{tag} reads={round(100 * counted)}i,writes={round(10 * counted)}i,read_bytes={round(5e7 * counted)}i,write_bytes={round(1e6 * counted)}i,read_time={round(200 * counted)}i,write_time={round(5 * counted)}i,io_time={round(500 * counted)}i,weighted_io_time={round(205 * counted)}i,iops_in_progress=1i,merged_reads=0i,merged_writes=0i {ts}"
    yield f"net,interface=eth0,{tag} bytes_sent={round(1e6 * counted)}i,bytes_recv={round(3e6 * counted)}i,packets_sent={round(1000 * counted)}i,packets_recv={round(2000 * counted)}i,err_in=0i,err_out=0i,drop_in=4i,drop_out=0i,speed=-1i {ts}"
    yield f"net,interface=all,{tag} tcp_outsegs={round(900 * counted)}i,tcp_insegs={round(1800 * counted)}i,tcp_retranssegs={round(9 * counted)}i,tcp_currestab=59i,tcp_maxconn=-1i,udp_indatagrams=0i {ts}"
    yield f"netstat,{tag} tcp_established=59i,tcp_listen=1i,tcp_time_wait=2i,udp_socket=10i {ts}"
    yield f"system,{tag} load1={2 * load},load5={2 * load},load15={2 * load},n_users=3i,n_cpus=2i {ts}"
    yield f"system,{tag} uptime={round(counted)}i {ts}"
    yield f'system,{tag} uptime_format="14 days, 11:07" {ts}'
    yield f"kernel,{tag} boot_time=1690487872i,context_switches={round(5000 * counted)}i,interrupts={round(3000 * counted)}i,processes_forked={round(10 * counted)}i,entropy_avail=256i {ts}"
    yield f"processes,{tag} blocked=0i,running=1i,sleeping=265i,stopped=0i,total=274i,zombies=0i,dead=0i,paging=0i,total_threads=687i {ts}"
    for cpu in ("cpu0", "cpu1"):
        yield f"interrupts,cpu={cpu},device=65537-edge\\ virtio1-input.0,irq=30,type=PCI-MSI,{tag} count={round(700 * counted)}i {ts}"
    yield f'nvidia_smi,compute_mode=Default,index=0,name=NVIDIA\\ H100,pstate=P{0 if load > 0.5 else 8},uuid=GPU-f9ba66fc,{tag} fan_speed=0i,memory_total=81559i,memory_used=1024i,memory_free=80535i,power_draw={100 + 500 * load},temperature_gpu=53i,utilization_gpu={round(100 * load)}i,utilization_memory=9i,pcie_link_gen_current=5i,pcie_link_width_current=16i,clocks_current_sm=1980i,driver_version="550.54" {ts}'
    yield f"infiniband,device=mlx5_0,port=1,{tag} port_xmit_data={round(2.5e8 * counted)}i,port_rcv_data={round(1e8 * counted)}i,port_xmit_packets={round(1e5 * counted)}i,port_rcv_errors=0i,symbol_error=0i,VL15_dropped=0i {ts}"


def feed(server: Server, bucket: str, points: Iterator[str]) -> None:
    """Write them as telegraf's influxdb_v2 output does."""
    body = gzip.compress("\n".join(points).encode(), 1)
    request = urllib.request.Request(
        f"{server.url}/api/v2/write?{urlencode({'org': 'hostsight', 'bucket': bucket, 'precision': 'ns'})}",
        body,
        {"Authorization": f"Token {TOKEN}", "Content-Encoding": "gzip"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()

"""`hostsight doctor`"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from cli.context import collection_settings, data_folder
from cli.options import Command, json_option

if TYPE_CHECKING:
    from ingest.inventory import Inventory, Nic
    from ingest.survey import Survey


@click.command(
    "doctor",
    cls=Command,
    examples={
        "hostsight doctor": "",
        "sudo hostsight doctor": "what root could collect besides",
        "hostsight doctor --json": "for an inventory of many hosts",
    },
)
@click.option("--root", metavar="DIR", help="Prefix of /proc and /sys, instead of [agent] root.")
@json_option
def command(root: str | None, as_json: bool) -> None:
    """Say what can be collected on this machine, what can't, why, and the command that would enable it.

    It changes nothing.
    """
    from ingest.survey import survey

    found = survey(collection_settings(data_folder(), root))
    if as_json:
        from cli.output import print_json

        print_json(found)
    else:
        _show(found)


def _show(found: Survey) -> None:
    from cli.output import print_table, safe

    click.echo(f"{safe(found.host)}, read below {safe(found.root)}\n")
    if found.inventory:
        for name, line in _inventory(found.inventory):
            click.echo(f"{name:<9}{safe(line)}")
        click.echo()
    print_table(
        ("subsystem", "channels"),
        found.channels.items(),
        numbers=("channels",),
    )
    click.echo()
    for finding in found.findings:
        click.echo(f"missing: {finding.subsystem} {safe(finding.what)}: {safe(finding.reason)}")
        if finding.remedy:
            click.echo(f"  to enable it: {safe(finding.remedy)}")
    if not found.findings:
        click.echo("nothing is missing")


def _inventory(inventory: Inventory) -> Iterator[tuple[str, str]]:
    from cli.text import size

    cores = f" on {inventory.cores} cores" if inventory.cores else ""
    yield "kernel", inventory.kernel
    yield "cpu", f"{inventory.cpus} CPUs{cores}, {inventory.cpu_model}"
    yield "memory", f"{size(inventory.memory_bytes)}, swap {size(inventory.swap_bytes)}"
    yield "network", ", ".join(_nic(nic) for nic in inventory.nics)
    yield "disks", ", ".join(f"{disk.name} {size(disk.size_bytes)}" for disk in inventory.disks)
    for mount in inventory.mounts:
        room = (
            "unknown"
            if mount.free_bytes is None
            else f"{size(mount.free_bytes)} free of {size(mount.total_bytes)}"
        )
        yield "mount", f"{mount.path} ({mount.kind} on {mount.device}), {room}"


def _nic(nic: Nic) -> str:
    speed = f" {nic.speed_mbps / 1000:g} Gb/s" if nic.up and nic.speed_mbps else ""
    return f"{nic.name} {'up' if nic.up else 'down'}{speed}"

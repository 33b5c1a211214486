"""`hostsight doctor`"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

import click

from cli.context import collection_settings, data_folder
from cli.options import Command, json_option

if TYPE_CHECKING:
    from hostsight.folders import DataFolder
    from ingest.inventory import Inventory, Nic
    from ingest.survey import Finding, Survey
    from jobs.quality import Quality


@click.command(
    "doctor",
    cls=Command,
    examples={
        "hostsight doctor": "",
        "sudo hostsight doctor": "what root could collect besides",
        "hostsight doctor --json": "for an inventory of many hosts",
        "hostsight doctor --forget eth2": "a device that was taken out on purpose",
    },
)
@click.option("--root", metavar="DIR", help="Prefix of /proc and /sys, instead of [agent] root.")
@click.option("--forget", metavar="DEVICE", help="Expect this device no longer; nothing else is done.")
@json_option
def command(root: str | None, forget: str | None, as_json: bool) -> None:
    """Say how good the telemetry is, then by subsystem what is collected here, what isn't, why, and the command that would
    enable it.

    Devices that an agent of this data folder has seen are expected: one that is gone is named. It changes nothing.
    """
    from ingest.equipment import Memory
    from ingest.sampler import host_of
    from ingest.survey import survey

    data = data_folder()
    settings = collection_settings(data, root)
    memory = Memory(data.equipment, host_of(settings.agent))
    if forget is not None:
        memory.forget(forget)
        return
    quality = None if root else _quality(data)
    found = survey(settings, memory=memory)
    if as_json:
        from cli.output import print_json

        print_json({"quality": quality, **_fields(found)})
    else:
        _show(found, quality, of_tree=root is not None)


def _quality(data: DataFolder) -> Quality | None:
    """None where nothing was ever collected."""
    from jobs.quality import read_quality

    quality = read_quality(data, time.time_ns())
    return quality if quality.collected else None


def _fields(found: Survey) -> dict[str, object]:
    return {field.name: getattr(found, field.name) for field in fields(found)}


def _show(found: Survey, quality: Quality | None, *, of_tree: bool) -> None:
    from cli.output import safe

    click.echo(f"{safe(found.host)}, read below {safe(found.root)}\n")
    if not of_tree:
        _show_quality(quality)
    if found.inventory:
        for name, line in _inventory(found.inventory):
            click.echo(f"{name:<9}{safe(line)}")
        click.echo()
    for subsystem, channels in found.channels.items():
        click.echo(f"{subsystem:<13} {channels:>5} channels")
        _show_findings(one for one in found.findings if one.subsystem == subsystem)
    _show_findings(one for one in found.findings if one.subsystem not in found.channels)
    if not found.findings:
        click.echo("nothing is missing")


def _show_findings(findings: Iterable[Finding]) -> None:
    from cli.output import console, safe

    width = console().width

    for (reason, remedy, _), named in _alike(findings).items():
        click.echo(_folded(f"  missing: {safe(', '.join(named))}: {safe(reason)}", width))
        if remedy:
            click.echo(f"    to enable {'it' if len(named) == 1 else 'them'}: {safe(remedy)}")


def _folded(line: str, width: int) -> str:
    """The line, parted between words where it is too long; a remedy stays whole, as it may be a command to be copied."""
    import textwrap

    return textwrap.fill(
        line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )


def _alike(findings: Iterable[Finding]) -> dict[tuple[str, str, str], list[str]]:
    """What is missing for the same reason and has the same remedy, in the order of the first; each by itself without one."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for one in findings:
        alone = "" if one.remedy else one.what
        found.setdefault((one.reason, one.remedy, alone), []).append(one.what)
    return found


def _show_quality(quality: Quality | None) -> None:
    from cli.output import safe
    from cli.text import plural

    if quality is None:
        click.echo("telemetry: none in this data folder yet\n")
        return
    state = plural(len(quality.issues), "issue") if quality.issues else "good"
    click.echo(f"telemetry: {state}; {quality.ticks:,} ticks, {quality.late_ticks:,} skipped as late")
    for issue in quality.issues:
        click.echo(f"  issue: {safe(issue.what)}")
        if issue.remedy:
            click.echo(f"    see: {safe(issue.remedy)}")
    click.echo()


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

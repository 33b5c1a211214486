"""`hostsight refit`"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli.context import data_folder, load_settings
from cli.options import Command
from cli.output import narrate
from cli.state import check_host, complete_host, known_hosts, state
from hostsight.errors import LockedError, ModelError, UnavailableError
from hostsight.files import locked

if TYPE_CHECKING:
    from hostsight.folders import DataFolder
    from hostsight.settings import Settings

LOOK_SECONDS = 0.5


@click.command(
    "refit",
    cls=Command,
    examples={
        "hostsight refit": "every host of the data folder",
        "hostsight refit --host gpu01 --no-wait": "ask the running jobs, and go on",
    },
)
@click.option("--host", metavar="H", shell_complete=complete_host, help="Only this host.")
@click.option("--no-wait", is_flag=True, help="Only ask the running jobs; `status` tells what came of it.")
def command(host: str | None, no_wait: bool) -> None:
    """Learn the baseline again from the telemetry of the last day ([detect] train_span), leaving out what was anomalous.

    The new model goes live if it is no worse than the present one on telemetry that neither has seen; otherwise it is kept,
    and `models list` shows it as rejected. Running jobs do it beside their work; without them it is done here.
    """
    data = data_folder()
    settings = load_settings(data)
    with state(data, writing=True) as connection:
        if host is not None:
            check_host(connection, host)
        hosts = [host] if host else known_hosts(connection)
        if not hosts:
            raise UnavailableError(f"{data.root} has no host to learn from yet; let `hostsight up` run first")
        try:
            with locked(data.serve_lock, "a pipeline (`hostsight serve`)"):
                _refit_here(settings, data, connection, hosts)
        except LockedError:
            _ask(data, connection, hosts, no_wait=no_wait)


def _refit_here(
    settings: Settings, data: DataFolder, connection: sqlite3.Connection, hosts: Sequence[str]
) -> None:
    from hostsight.clock import SystemClock
    from jobs.refit import run_refit
    from jobs.runs import recorded
    from jobs.schedule import REFIT

    for host in hosts:
        narrate(f"{host}: learning from the last {settings.detect.train_span}")
        with recorded(connection, REFIT, SystemClock()) as run:
            result = run_refit(settings, data, host, "refit")
            run.items = result.windows
        outcome = "is live" if result.promoted else "is kept but not live"
        narrate(f"{host}: model {result.model} {outcome}: {result.reason}")


def _ask(data: DataFolder, connection: sqlite3.Connection, hosts: Sequence[str], *, no_wait: bool) -> None:
    from jobs.requests import ask

    since = _newest_run(connection)
    for host in hosts:
        ask(connection, "refit", host, time.time_ns())
    narrate(f"asked the running jobs to refit {', '.join(hosts)}")
    if not no_wait:
        _wait(data, connection, hosts)
        _report(connection, hosts, since)


def _newest_run(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM job_runs").fetchone()[0])


def _wait(data: DataFolder, connection: sqlite3.Connection, hosts: Sequence[str]) -> None:
    """Raises UnavailableError where the jobs stop before they have done it."""
    from jobs.progress import read_progress

    while any(_waits(connection, host) for host in hosts):
        progress = read_progress(data)
        if progress is None or not progress.running(time.time_ns()):
            raise UnavailableError(
                "the jobs have stopped; they refit as soon as `hostsight serve` runs again"
            )
        time.sleep(LOOK_SECONDS)


def _waits(connection: sqlite3.Connection, host: str) -> bool:
    query = "SELECT 1 FROM requests WHERE job = 'refit' AND host = ?"
    return connection.execute(query, (host,)).fetchone() is not None


def _report(connection: sqlite3.Connection, hosts: Sequence[str], since: int) -> None:
    """Say which model is live; raises ModelError with what failed since the run `since`."""
    failed = connection.execute(
        "SELECT error FROM job_runs WHERE job = 'refit' AND id > ? AND state = 'failed' ORDER BY id DESC",
        (since,),
    ).fetchone()
    if failed:
        raise ModelError(failed["error"])
    for host in hosts:
        row = connection.execute(
            "SELECT model, state, reason FROM models WHERE host = ? ORDER BY created_ns DESC LIMIT 1", (host,)
        ).fetchone()
        if row:
            narrate(f"{host}: model {row['model']} is {row['state']} ({row['reason']})")

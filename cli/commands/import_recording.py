"""`hostsight import`"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from cli.context import data_folder, load_settings
from cli.options import Command, json_option
from cli.output import narrate, print_json
from cli.recordings import Choice, recording_options


@click.command(
    "import",
    cls=Command,
    short_help="A recording: a table in CSV or Parquet.",
    examples={
        "hostsight import db07.parquet --host db07": "a wide table: a time column, and one a metric",
        "hostsight import plant.csv --map plant.toml": "with what its columns are",
    },
)
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--host", metavar="H", help="The host it is of; otherwise the map's, or `recorded`.")
@recording_options
@json_option
def command(path: Path, host: str | None, choice: Choice, as_json: bool) -> None:
    """Bring a recording into the lake: CSV or Parquet, wide or long (time, channel, value), with any sampling period.

    It is there for `sql` and `refit`; `hostsight analyze` judges one. The lake keeps it as long as live telemetry ([retention]).
    """
    from hostsight.clock import iso
    from jobs.importing import import_recording
    from migrations import open_state

    data = data_folder()
    settings = load_settings(data)
    (recording,) = choice.read(path)
    known = choice.naming(recording)
    if host is not None:
        known = known.of(host)
    data.create()
    with closing(open_state(data.state_db)) as connection:
        found = import_recording(recording, known, settings, data, connection)
    started, ended = iso(found.span.start_ns), iso(found.span.end_ns)
    narrate(f"{found.host}: {found.samples} samples of {found.channels} channels from {started} to {ended}")
    if as_json:
        counts = {name: getattr(found, name) for name in ("host", "channels", "samples", "windows")}
        print_json(counts | {"from": started, "to": ended})

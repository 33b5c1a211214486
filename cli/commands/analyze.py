"""`hostsight analyze`"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from cli.context import data_folder, load_settings
from cli.options import Command, json_option
from cli.output import narrate, print_json
from cli.recordings import Choice, recording_options


@click.command(
    "analyze",
    cls=Command,
    examples={
        "hostsight analyze --train may.parquet --test june.parquet --out june/": "what was unusual in June",
        "hostsight analyze --train a.csv --test b.csv --time date --exclude rack --out b/": "another time column",
    },
)
@click.option(
    "--train",
    "train_path",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What is usual: a table of healthy telemetry, CSV or Parquet.",
)
@click.option(
    "--test",
    "test_path",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What is to be judged, sampled at the same rate.",
)
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for scores.parquet, contributions.parquet and episodes.json.",
)
@recording_options
@json_option
def command(
    train_path: Path,
    test_path: Path,
    out: Path,
    choice: Choice,
    as_json: bool,
) -> None:
    """Learn a baseline from one recording, and judge another by it, as live telemetry is judged.

    A recording is wide (a time column, and one a metric) or long (time, channel, value), with any sampling period. Rows are
    scored from the past alone. A column that only one of the two has is left out.
    """
    from jobs.analysis import Analyst
    from jobs.analysis_files import make_out, summarise, write_analysis

    settings = load_settings(data_folder())
    train, test = choice.read(train_path, test_path)
    make_out(out)  # before what may take minutes
    narrate(f"learning from {len(train.ts)} rows of {len(train.names)} columns, then judging {len(test.ts)}")
    naming = choice.naming(train, test)
    analysis = Analyst(settings.detect, settings.window, naming).analyse(train, test)
    write_analysis(analysis, out)
    found = summarise(analysis)
    if as_json:
        print_json(found)
    else:
        _show(found, out)


def _show(found: Mapping[str, object], out: Path) -> None:
    from cli.output import print_table, severity
    from cli.text import plural

    episodes = found["episodes"]
    assert isinstance(episodes, list)  # noqa: S101  # it is what `summarise` gives
    if episodes:
        print_table(
            ("start", "end", "severity", "summary"),
            [(each["start"], each["end"], severity(each["severity"]), each["summary"]) for each in episodes],
            prose=("summary",),
        )
    narrate(f"{plural(len(episodes), 'episode')}; scores, contributions and episodes are in {out}")

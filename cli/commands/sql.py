"""`hostsight sql`"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cli.context import load_settings, telemetry_folder
from cli.options import Command
from hostsight.errors import UsageError

if TYPE_CHECKING:
    from sql.adhoc import QueryResult


class QueryCommand(Command):
    """A query may begin with a comment, which is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(
            ctx, [f"\n{arg}" if arg.startswith(("-- ", "--\n")) else arg for arg in args]
        )


@click.command(
    "sql",
    cls=QueryCommand,
    examples={
        'hostsight sql "SHOW TABLES"': "",
        'hostsight sql "SELECT subsystem, count(*) FROM channels GROUP BY ALL"': "",
        'hostsight sql "FROM samples" --format parquet > samples.parquet': "",
        "hostsight sql - --format csv < report.sql": "a longer query from a file",
    },
)
@click.argument("query")
@click.option(
    "--format", "form", type=click.Choice(["table", "json", "csv", "parquet"]), default="table", show_default=True,
    help="What stdout gets; only a table is cut after [sql] rows.",
)  # fmt: skip
@click.option("--rows", type=click.IntRange(min=1), metavar="N", help="At most so many rows.")
def command(query: str, form: str, rows: int | None) -> None:
    """Run QUERY, one read-only statement in DuckDB's SQL, over everything collected. `-` reads it from stdin.

    \b
    The views are samples, channels, features, scores, episodes, attributions,
    models and job_runs; `DESCRIBE samples` lists the columns of one.

    The query runs in a process of its own with limits on time and memory ([sql] timeout, [sql] memory). It can neither
    write nor read other files.
    """
    if form == "parquet" and sys.stdout.isatty():
        raise UsageError(
            "parquet is not for a terminal; send it to a file: --format parquet > result.parquet"
        )
    data = telemetry_folder()
    settings = load_settings(data).sql
    text = sys.stdin.read() if query == "-" else query
    from sql.adhoc import run_query

    limit = rows or (settings.rows if form == "table" else None)
    result = run_query(data, settings, text, rows=limit)
    _write(result, form)
    if result.truncated:
        from cli.output import narrate

        narrate(
            f"there is more than these {result.table.num_rows:,} rows; --rows N shows more, or add a LIMIT"
        )


def _write(result: QueryResult, form: str) -> None:
    from cli import results

    if form == "parquet":
        results.write_parquet(result.table, sys.stdout.buffer)
    elif form == "csv":
        results.write_csv(result.table, sys.stdout)
    elif form == "json":
        results.write_json(result.table)
    else:
        results.write_table(result.table)

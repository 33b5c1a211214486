"""The entry point: the list of commands, and how every failure becomes a sentence and an exit code.

Exit codes: 0 ok, 1 failed, 2 usage, 3 unavailable, 130 interrupted. stdout is data, stderr is narration.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from cli.errors import explain, explainable
from cli.lazy import Entry, LazyGroup
from cli.options import data_option
from cli.output import safe
from cli.streams import prepare_streams

INTERRUPTED = 130

_WATCH = "Watch this machine"
_LOOK = "See what was found"
_MODELS = "Models"
_MORE = "More"

ENTRIES = {
    "up": Entry(_WATCH, "Agent, jobs and console together; stops them at the end."),
    "agent": Entry(_WATCH, "The collector alone, as a service runs it."),
    "serve": Entry(_WATCH, "The scheduled jobs alone: features, scores, episodes."),
    "drain": Entry(_WATCH, "Send the spool to InfluxDB, beside an agent."),
    "tui": Entry(_WATCH, "The console on what is running already."),
    "doctor": Entry(_WATCH, "What can be collected here, what can't, and how to enable it."),
    "sample": Entry(_WATCH, "One reading of every channel, with unit and source."),
    "status": Entry(_LOOK, "Whether agent and jobs run, and how far they are."),
    "anomalies": Entry(_LOOK, "Episodes, newest first."),
    "explain": Entry(_LOOK, "One episode in full: what explains it, by how much."),
    "feedback": Entry(_LOOK, "Say what you know about an episode."),
    "suppress": Entry(_LOOK, "Keep episodes quiet, by host, channel and time."),
    "sql": Entry(_LOOK, "One read-only SQL statement over everything collected."),
    "refit": Entry(_MODELS, "Learn the baseline again from recent telemetry."),
    "models": Entry(_MODELS, "List models, show one, return to an earlier one."),
    "import": Entry(_MORE, "Bring in telemetry from elsewhere.", "cli.commands.importing"),
    "store": Entry(_MORE, "Make InfluxDB ready, and say what is wrong with it."),
    "analyze": Entry(_MORE, "Judge one recording by what another teaches."),
    "bench": Entry(_MORE, "Measure hostsight itself on this machine, as JSON.", "bench.command"),
    "completion": Entry(_MORE, "Print the shell completion script."),
}

_EPILOG = """\b
Examples:
  hostsight up                          watch this machine in a console
  hostsight up --for 10m --no-tui       the same for ten minutes, as plain lines
  hostsight anomalies --since 1h        what was unusual in the last hour
  hostsight sql "SELECT * FROM channels LIMIT 5"

`hostsight COMMAND --help` shows each command's options with examples."""


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from hostsight import __version__

        click.echo(f"hostsight {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    entries=ENTRIES,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
    help="Show the version and exit.",
)  # fmt: skip
def cli() -> None:
    """Find silent inefficiencies of ML and HPC servers from the host's own telemetry.

    hostsight samples this machine's kernel counters ten times a second, learns what is normal for it, and shows what
    departs from that as episodes: which subsystem, which device, which metric, expected against actual.
    """


cli.params.insert(0, data_option())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code; messages go to stderr."""
    try:
        code = cli.main(
            None if arguments is None else list(arguments), prog_name="hostsight", standalone_mode=False
        )
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        return 1
    except explainable() as error:
        sentence, code = explain(error)
        click.echo(f"hostsight: {safe(sentence)}", err=True)
    return code if isinstance(code, int) else 0


def run() -> None:
    os.umask(0o077)  # telemetry tells what a machine does: files are 0600, folders 0700
    prepare_streams()
    code = main()
    try:
        sys.stdout.flush()
    except OSError:
        # The reader of a pipe has gone: leave nothing for the interpreter's own flush at exit to complain about.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = code or 1
    sys.exit(code)


if __name__ == "__main__":
    run()

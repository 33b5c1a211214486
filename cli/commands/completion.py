"""`hostsight completion`"""

from __future__ import annotations

import click

from cli.options import Command


@click.command(
    "completion",
    cls=Command,
    examples={
        'eval "$(hostsight completion bash)"': "in ~/.bashrc",
        'eval "$(hostsight completion zsh)"': "in ~/.zshrc",
        "hostsight completion fish > ~/.config/fish/completions/hostsight.fish": "",
    },
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that completes commands, options, episodes and models in SHELL."""
    from click.shell_completion import get_completion_class

    from cli.main import cli

    completion = get_completion_class(shell)
    if completion is None:
        raise click.BadParameter(f"no completion for {shell}")
    # The template itself: `source()` would refuse to print where the shell is absent or old.
    made = completion(cli, {}, "hostsight", "_HOSTSIGHT_COMPLETE")
    click.echo(made.source_template % made.source_vars())

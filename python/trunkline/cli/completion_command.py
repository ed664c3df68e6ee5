"""``trunkline completion``: scripts that complete commands in a shell."""

import click

_INSTALL_LINES = {
    "bash": 'eval "$(trunkline completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(trunkline completion zsh)"   # in ~/.zshrc',
    "fish": "trunkline completion fish | source   # in ~/.config/fish/config.fish",
}


@click.command(
    "completion",
    short_help="Print a shell completion script.",
    epilog="For example: " + _INSTALL_LINES["bash"],
)
@click.argument("shell", type=click.Choice(list(_INSTALL_LINES)))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the script that makes SHELL complete commands, options and values."""
    from click.shell_completion import get_completion_class

    completion_class = get_completion_class(shell)
    assert completion_class is not None
    completion = completion_class(
        context.find_root().command, {}, "trunkline", "_TRUNKLINE_COMPLETE"
    )
    # click's own call for bash looks for the shell's version; the script does not need the shell.
    click.echo(completion.source_template % completion.source_vars())
    click.echo(f"to install: {_INSTALL_LINES[shell]}", err=True)

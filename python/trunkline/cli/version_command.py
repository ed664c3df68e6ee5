"""``trunkline version``."""

import click

from trunkline.cli.common import echo_json


@click.command("version")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def command(as_json: bool) -> None:
    """Print the version of engine and package."""
    from trunkline import _core

    if as_json:
        echo_json({"schema": 1, "version": _core.version()})
    else:
        click.echo(f"trunkline {_core.version()}")

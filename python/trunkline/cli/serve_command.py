"""``trunkline serve``: a folder of results in the browser."""

from __future__ import annotations

import click

from trunkline.cli.common import echo_json
from trunkline.cli.status import Status


@click.command("serve", short_help="Show a folder of results in the browser, with live progress.")
@click.argument("directory", type=click.Path(exists=True, file_okay=False), default=".")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Port of 127.0.0.1; the next free one from 8470 if not given.",
)
@click.option("--open", "opened", is_flag=True, help="Show it in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as one JSON object.")
def command(directory: str, port: int | None, opened: bool, as_json: bool) -> int:
    """Show the results below DIRECTORY (default: here) until interrupted.

    Only this machine is answered, and only with the token in the address that is printed. Running
    studies show how far they are.
    """
    import sys
    from pathlib import Path

    from trunkline.report.serve import Server

    try:
        server = Server(Path(directory), port)
    except OSError as error:
        where = "any port" if port is None else f"port {port}"
        raise click.UsageError(
            f"cannot listen on {where} of 127.0.0.1: {error.strerror}."
        ) from None
    try:
        if as_json:
            echo_json({"schema": 1, "address": server.address})
        else:
            click.echo(server.address)
            click.echo("anyone on this machine with this address can read the folder", err=True)
        sys.stdout.flush()
        if opened:
            import webbrowser

            if not webbrowser.open(server.address):
                click.echo("no browser was found; open the address yourself", err=True)
        server.run()
    except KeyboardInterrupt:
        click.echo("ended", err=True)
    return Status.DONE

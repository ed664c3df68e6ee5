"""``trunkline serve``: a folder of results in the browser."""

import click

from trunkline.cli.local_page import port_option, serve_until_interrupted
from trunkline.cli.status import Status


@click.command("serve", short_help="Show a folder of results in the browser, with live progress.")
@click.argument("directory", type=click.Path(exists=True, file_okay=False), default=".")
@port_option
@click.option("--open", "opened", is_flag=True, help="Show it in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as one JSON object.")
def command(directory: str, port: int | None, opened: bool, as_json: bool) -> int:
    """Show the results below DIRECTORY (default: here) until interrupted.

    The server answers only this machine, and only with the token in the printed address. The page
    shows the progress of running studies.
    """
    from pathlib import Path

    from trunkline.report.results_server import ResultsServer

    serve_until_interrupted(
        lambda: ResultsServer(Path(directory), port),
        port,
        "anyone on this machine with this address can read the folder",
        open_browser=opened,
        as_json=as_json,
    )
    return Status.DONE

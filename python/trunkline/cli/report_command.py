"""``trunkline report``: results as one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli.common import convert_engine_errors, echo_json, open_in_browser

if TYPE_CHECKING:
    from pathlib import Path


report_option = click.option(
    "--report/--no-report",
    default=True,
    help="Write report.html, a page that shows the results, into --out.  [default: report]",
)


def write_report(folder: str | Path) -> None:
    """Write the page of results that a command has just written, and print its path."""
    from trunkline.report import write_report

    with convert_engine_errors():
        page = write_report(folder)
    click.echo(f"report written to {page} ({page.stat().st_size / 1e6:.1f} MB)", err=True)


@click.command("report", short_help="Write results as one HTML page.")
@click.argument("results", type=click.Path(exists=True, file_okay=False))
@click.option(
    "-o",
    "--out",
    "output",
    type=click.Path(dir_okay=False),
    help="File to write, also over an earlier one. Default: report.html in the folder.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Let the page run the scenario again, with other values of its parameters.",
)
@click.option("--open", "opened", is_flag=True, help="Show it in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Print path and size as one JSON object.")
def command(results: str, output: str | None, live: bool, opened: bool, as_json: bool) -> None:
    """Write the results in the folder RESULTS as one HTML file.

    RESULTS is a folder that `run --out`, `reproduce --out` or `study run` wrote. The page needs no
    network and no other file: it can be mailed, read offline and printed.
    """
    from trunkline.cli.study_command import convert_study_errors
    from trunkline.report import write_report

    try:
        with convert_engine_errors(), convert_study_errors():
            if live:
                from trunkline.share import write_live_report

                page = write_live_report(results, output)
            else:
                page = write_report(results, output)
    except FileNotFoundError as error:
        raise click.UsageError(str(error)) from None
    size = page.stat().st_size
    if as_json:
        echo_json({"schema": 1, "report": str(page), "bytes": size})
    else:
        click.echo(f"report written to {page} ({size / 1e6:.1f} MB)", err=True)
    if opened:
        open_in_browser(page)

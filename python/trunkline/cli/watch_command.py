"""``trunkline watch``: a live page of a scenario that you edit."""

from pathlib import Path

import click

from trunkline.cli.common import SEED_TYPE
from trunkline.cli.local_page import port_option, serve_until_interrupted
from trunkline.cli.status import Status

STARTING_EXAMPLE = "hello.yaml"  # Example that is written if no file is given.


@click.command("watch", short_help="Show a scenario as a live page while you edit it.")
@click.argument("file", metavar="[FILE]", type=click.Path(dir_okay=False), required=False)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="PATH=VALUE",
    help="Set a parameter or any value at the start; the page can change it. Repeatable.",
)
@click.option(
    "--seed", type=SEED_TYPE, help="Seed of the first run. Default: the seed of the scenario."
)
@click.option(
    "--runs",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Replications, with seeds SEED, SEED + 1, ...; the page can change it.",
)
@click.option(
    "--limit-time",
    metavar="SECONDS",
    type=click.FloatRange(0, min_open=True),
    default=20.0,
    show_default=True,
    help="Maximum time of one run.",
)
@port_option
@click.option(
    "--open/--no-open",
    "opened",
    default=None,
    help="Show it in the browser.  [default: on a terminal]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the address as one JSON object.")
def command(
    file: str | None,
    overrides: tuple[str, ...],
    seed: int | None,
    runs: int,
    limit_time: float,
    port: int | None,
    opened: bool | None,
    as_json: bool,
) -> int:
    """Check and run the scenario in FILE on each save, and show it until interrupted.

    The page shows errors with their lines, a slider for each parameter, and the changes since the
    last run. Without FILE it shows hello.yaml in the current folder, and writes this example first
    if it is missing. The server answers only this machine, and only with the token in the address.
    """
    import sys

    from trunkline.cli.common import parse_overrides
    from trunkline.live import LiveServer, ScenarioWatcher

    values = parse_overrides(overrides)
    watcher = ScenarioWatcher(
        Path(file) if file is not None else _make_starting_file(),
        values,
        seed=seed,
        runs=runs,
        limit_s=limit_time,
    )
    serve_until_interrupted(
        lambda: LiveServer(watcher, port),
        port,
        "save the file to see it run; Ctrl-C ends",
        open_browser=sys.stdout.isatty() if opened is None else opened,
        as_json=as_json,
    )
    return Status.DONE


def _make_starting_file() -> Path:
    """Return hello.yaml in this folder; copy the example first if it is missing."""
    from trunkline.cli.examples_command import find_example

    file = Path(STARTING_EXAMPLE)
    try:
        with file.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(find_example(STARTING_EXAMPLE).read_text("utf-8"))
        click.echo(f"{file} written, the first example; edit it", err=True)
    except FileExistsError:
        click.echo(f"{file} exists and was not replaced", err=True)
    return file

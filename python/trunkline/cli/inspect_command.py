"""``trunkline inspect``: the compiled network and the events of a run, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.common import SEED_TYPE, echo_json, load_scenario, override_options

if TYPE_CHECKING:
    from trunkline.cli import inspect_tables as tables

SECTION_NAMES = (
    "run",
    "links",
    "ports",
    "conditioners",
    "flows",
    "routes",
    "labels",
    "failures",
    "protections",
    "probes",
)


@click.command("inspect", short_help="Show a compiled network, or the events of a packet.")
@click.argument("file", metavar="FILE|RESULTS", type=click.Path(allow_dash=True))
@override_options
@click.option(
    "--section",
    "sections",
    type=click.Choice(SECTION_NAMES),
    multiple=True,
    help="Show only this section; repeatable.",
)
@click.option("--packet", type=click.IntRange(0), help="Of RESULTS: the events of this packet.")
@click.option("--flow", metavar="NAME", help="Of RESULTS: the events of this flow.")
@click.option("--path", metavar="NAME", help="Of RESULTS: the events of this path.")
@click.option(
    "--seed", type=SEED_TYPE, help="Of RESULTS: the run with this seed. Default: the first."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: network and routes, or lines.")
def command(
    file: str,
    overrides: tuple[str, ...],
    strict: bool,
    sections: tuple[str, ...],
    packet: int | None,
    flow: str | None,
    path: str | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Show the compiled network of FILE, or the events in RESULTS.

    For a scenario: every default, shortest-path routes, label tables. For a folder that run --out
    wrote: the same, or the events of a packet, a flow or a path.
    """
    from pathlib import Path

    stories = {"packet": packet, "flow": flow, "path": path}
    asked_stories = {kind: value for kind, value in stories.items() if value is not None}
    if len(asked_stories) > 1:
        raise click.UsageError("--packet, --flow and --path exclude each other: give one.")
    if file != "-" and Path(file).is_dir():
        if overrides or strict:
            raise click.UsageError("--set and --strict are for scenarios, not for results.")
        if asked_stories:
            print_story(file, seed, *asked_stories.popitem(), as_json=as_json)
            return
        network_json = read_stored_network(file)
    else:
        if asked_stories or seed is not None:
            raise click.UsageError(
                "--packet, --flow, --path and --seed need a folder of results: run --out makes one."
            )
        from trunkline.network import compile

        network_json = compile(load_scenario(file, overrides, strict)).to_json()
    print_network(network_json, sections, as_json=as_json)


def read_stored_network(folder: str) -> str:
    """Read the compiled network from a folder that ``run --out`` wrote.

    Raises click.UsageError: The folder has none.
    """
    from pathlib import Path

    from trunkline.results import store

    place = Path(folder) / store.NETWORK_FILE
    if not place.is_file():
        raise click.UsageError(
            f"{folder} holds no results of a run ({store.NETWORK_FILE} is missing)."
        )
    return place.read_text(encoding="utf-8").strip()


def print_story(folder: str, seed: int | None, kind: str, value: Any, *, as_json: bool) -> None:
    """Print the events of a packet, a flow or a path from stored results.

    folder: Folder that ``run --out`` wrote.
    seed: Seed of the run; None for the first.
    kind: one of "packet", "flow", "path"; kind of `value`, which is a number or a name.
    Raises click.UsageError: The results have no run, packet, flow or path of this name, or no
        trace.
    """
    import json

    from trunkline import trace
    from trunkline.results import store
    from trunkline.results.terminal_tables import escape_unprintable

    network = json.loads(read_stored_network(folder))
    runs = store.read_results(folder)
    chosen_runs = [run for run in runs if seed is None or run.seed == seed]
    if not chosen_runs:
        seeds = ", ".join(str(run.seed) for run in runs)
        raise click.UsageError(f"no run has seed {seed}; there are {seeds}.")
    try:
        lines = getattr(trace, f"{kind}_story")(chosen_runs[0], network, value)
    except (LookupError, trace.UntracedRunError) as error:
        raise click.UsageError(f"{error.args[0]}.") from error
    if as_json:
        echo_json({"schema": 1, "seed": chosen_runs[0].seed, kind: value, "lines": lines})
    else:
        click.echo("\n".join(escape_unprintable(line) for line in lines))


def print_network(network_json: str, sections: tuple[str, ...], *, as_json: bool) -> None:
    """Print a compiled network.

    sections: Tables to print; empty for all.
    as_json: Whether to print the network and its routes as JSON.
    """
    import json

    from trunkline.cli import inspect_tables as tables

    network = json.loads(network_json)
    if as_json:
        echo_json({"schema": 1, "network": network, "routes": tables.list_named_routes(network)})
        return
    section_tables = [
        getattr(tables, name)(network)
        for name in SECTION_NAMES
        if name in (sections or SECTION_NAMES)
    ]
    click.echo("\n\n".join(format_table(*table) for table in section_tables if table[2]))


def format_table(title: str, heads: list[str], rows: tables.TableRows) -> str:
    """Format a table as aligned text for ``grep``: no lines, two spaces between columns."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in [heads, *rows]]
    return "\n".join([f"# {title}", *lines])

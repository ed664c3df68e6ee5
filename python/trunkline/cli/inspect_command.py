"""``trunkline inspect``: the compiled network, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli import inspect_tables as tables
from trunkline.cli.common import echo_json, load_scenario, scenario_options

if TYPE_CHECKING:
    from collections.abc import Callable

SECTIONS = (
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


@click.command("inspect", short_help="Show the compiled network: routes, labels.")
@scenario_options
@click.option(
    "--section",
    "sections",
    type=click.Choice(SECTIONS),
    multiple=True,
    help="Show only this; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the network and its routes as JSON.")
def command(
    file: str, overrides: tuple[str, ...], strict: bool, sections: tuple[str, ...], as_json: bool
) -> None:
    """Show what FILE compiles to: every default, shortest-path routes, label tables."""
    import json

    from trunkline import _core
    from trunkline.network import compile

    written = compile(load_scenario(file, overrides, strict)).to_json()
    network = json.loads(written)
    wanted = sections or SECTIONS
    routes = _core.routes(written) if as_json or "routes" in wanted else []
    if as_json:
        echo_json({"schema": 1, "network": network, "routes": tables.named_routes(network, routes)})
        return
    made: dict[str, Callable[[], tables.Table]] = {
        "run": lambda: tables.run(network),
        "links": lambda: tables.links(network),
        "ports": lambda: tables.ports(network),
        "conditioners": lambda: tables.conditioners(network),
        "flows": lambda: tables.flows(network),
        "routes": lambda: tables.routes(network, routes),
        "labels": lambda: tables.labels(network),
        "failures": lambda: tables.failures(network),
        "protections": lambda: tables.protections(network),
        "probes": lambda: tables.probes(network),
    }
    shown = [made[section]() for section in SECTIONS if section in wanted]
    click.echo("\n\n".join(drawn(*table) for table in shown if table[2]))


def drawn(title: str, heads: list[str], rows: tables.Rows) -> str:
    """A table as aligned text that greps well: no lines, two spaces between columns.

    Parameters
    ----------
    title : str
        Its first line.
    heads : list of str
        Heads of the columns.
    rows : list of list of str
        Cells.

    Returns
    -------
    str
    """
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in [heads, *rows]]
    return "\n".join([f"# {title}", *lines])

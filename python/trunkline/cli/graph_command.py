"""``trunkline graph``: the topology of a scenario, without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli.common import Source, scenario_options

if TYPE_CHECKING:
    from trunkline.plot.layout import Place
    from trunkline.scenario import Scenario

KINDS = ("svg", "html", "dot", "mermaid")
ENDINGS = {"svg": "svg", "html": "html", "htm": "html", "dot": "dot", "gv": "dot", "mmd": "mermaid"}


@click.command("graph", short_help="Draw the topology without running it.")
@scenario_options
@click.option(
    "--to", "kind", type=click.Choice(KINDS), help="Format; default: by the ending of -o, else svg."
)
@click.option(
    "-o",
    "--out",
    "output",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="File to write; default: standard output.",
)
def command(source: Source, kind: str | None, output: str | None) -> None:
    """Draw nodes, links with capacity and delay, and paths of the scenario in FILE.

    Backups are dashed. Nodes stand where the scenario's `position` puts them, or where a layout
    finds room.
    """
    import json
    from pathlib import Path

    from trunkline.network import compile
    from trunkline.plot import graph, graph_text
    from trunkline.plot.sketch import Sketch

    scenario = source.load()
    network = json.loads(compile(scenario).to_json())
    chosen = kind or chosen_by(output)
    sketch = Sketch.of(network)
    if chosen in ("svg", "html"):
        draw = graph.svg if chosen == "svg" else graph.html
        text = draw(sketch, positions(scenario))
    else:
        write = graph_text.dot if chosen == "dot" else graph_text.mermaid
        text = write(sketch)
    if output is None or output == "-":
        click.echo(text, nl=False)
        return
    Path(output).write_text(text, encoding="utf-8", newline="\n")
    click.echo(f"{chosen} written to {output}", err=True)


def chosen_by(output: str | None) -> str:
    """The format that a file's ending asks for.

    Raises
    ------
    click.UsageError
        It asks for none.
    """
    if output is None or output == "-":
        return "svg"
    ending = output.rpartition(".")[2].lower()
    if "." not in output or ending not in ENDINGS:
        known = ", ".join(f".{each}" for each in ENDINGS)
        raise click.UsageError(f"-o {output}: a graph ends in {known}; or name one with --to.")
    return ENDINGS[ending]


def positions(scenario: Scenario) -> dict[str, Place]:
    """Places that the scenario gives to nodes."""
    return {
        name: node.position for name, node in scenario.nodes.items() if node.position is not None
    }

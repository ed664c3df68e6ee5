"""``trunkline graph``: the topology of a scenario, without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli.common import ScenarioSource, scenario_options

if TYPE_CHECKING:
    from trunkline.plot.layout import NodePosition
    from trunkline.scenario import Scenario

GRAPH_FORMATS = ("svg", "html", "dot", "mermaid")
FORMAT_BY_ENDING = {
    "svg": "svg",
    "html": "html",
    "htm": "html",
    "dot": "dot",
    "gv": "dot",
    "mmd": "mermaid",
}


@click.command("graph", short_help="Draw the topology without running it.")
@scenario_options
@click.option(
    "--to",
    "kind",
    type=click.Choice(GRAPH_FORMATS),
    help="Format. Default: by the ending of -o, else svg.",
)
@click.option(
    "-o",
    "--out",
    "output",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="File to write; default: standard output.",
)
def command(source: ScenarioSource, kind: str | None, output: str | None) -> None:
    """Draw nodes, links with capacity and delay, and paths of the scenario in FILE.

    Backups are dashed. Nodes are at the `position` that the scenario gives, else at a place that
    a layout computes.
    """
    import json
    from pathlib import Path

    from trunkline.network import compile
    from trunkline.plot import graph_languages, network_graph
    from trunkline.plot.network_sketch import NetworkSketch

    scenario = source.load()
    network = json.loads(compile(scenario).to_json())
    graph_format = kind or choose_format(output)
    sketch = NetworkSketch.from_network(network)
    if graph_format in ("svg", "html"):
        draw = network_graph.render_svg if graph_format == "svg" else network_graph.render_html
        text = draw(sketch, get_positions(scenario))
    else:
        write = (
            graph_languages.render_dot if graph_format == "dot" else graph_languages.render_mermaid
        )
        text = write(sketch)
    if output is None or output == "-":
        click.echo(text, nl=False)
        return
    Path(output).write_text(text, encoding="utf-8", newline="\n")
    click.echo(f"{graph_format} written to {output}", err=True)


def choose_format(output: str | None) -> str:
    """Choose the format by the ending of the file.

    Raises click.UsageError: The ending is unknown.
    """
    if output is None or output == "-":
        return "svg"
    ending = output.rpartition(".")[2].lower()
    if "." not in output or ending not in FORMAT_BY_ENDING:
        known = ", ".join(f".{each}" for each in FORMAT_BY_ENDING)
        raise click.UsageError(f"-o {output}: a graph ends in {known}; or name one with --to.")
    return FORMAT_BY_ENDING[ending]


def get_positions(scenario: Scenario) -> dict[str, NodePosition]:
    """Return the positions that the scenario gives to nodes."""
    return {
        name: node.position for name, node in scenario.nodes.items() if node.position is not None
    }

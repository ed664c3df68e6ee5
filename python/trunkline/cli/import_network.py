"""``trunkline import network``: published networks and their demands as a scenario."""

import click

from trunkline.cli.common import echo_json, free


@click.command("network", short_help="Read a published network and its demands.")
@click.argument("source", metavar="FILE|topohub:NAME")
@click.option(
    "--capacity",
    metavar="RULE",
    help="Of links without one: a rate such as '10 Gbit/s', or module, the smallest that an "
    "SNDlib file offers.",
)
@click.option("--unit", metavar="RATE", help="Of the demands, where the file does not say: Mbit/s.")
@click.option("--delay", metavar="TIME", help="Of links without delay, length and coordinates.")
@click.option(
    "--matrix",
    metavar="FILE",
    help="The demands: CSV with the columns from, to, rate, or .demands of REPETITA.",
)
@click.option("--both-ways", is_flag=True, help="Offer each demand in both directions.")
@click.option("--internal", is_flag=True, help="Leave out nodes that belong to other networks.")
@click.option("--largest-part", is_flag=True, help="Keep the largest connected part only.")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False),
    help="New file; more than 20 demands go to a table beside it. Standard output if not given.",
)
@click.option("--overwrite", is_flag=True, help="Replace earlier files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def network(
    source: str,
    capacity: str | None,
    unit: str | None,
    delay: str | None,
    matrix: str | None,
    both_ways: bool,
    internal: bool,
    largest_part: bool,
    out: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write a published network as a scenario, with the rules that filled its gaps.

    Read are SNDlib (XML and native), Topology Zoo (GML and GraphML), REPETITA, containerlab and
    netlab; topohub:sndlib/pdh is a network of the package topohub. What stands for a delay is the
    length of the link, or the great circle between its ends, at two thirds of the speed of light.
    """
    from pathlib import Path

    from trunkline.cli.import_command import Refused
    from trunkline.importers import ImportFault
    from trunkline.importers.network import Rules, read_network
    from trunkline.importers.network.topohub import Absent
    from trunkline.scenario.units import parse_time

    rules = Rules(
        capacity if capacity == "module" else _quantity("--capacity", capacity),
        _quantity("--unit", f"1 {unit}" if unit and not unit[0].isdigit() else unit),
        _quantity("--delay", delay, parse_time),
        both_ways,
        internal,
        largest_part,
    )
    target = None if out is None else Path(out)
    table = None if target is None else target.with_suffix(".demands.csv")
    free((target, table), overwrite)
    try:
        made = read_network(
            source, rules, demands=matrix, matrix_file="" if table is None else table.name
        )
    except ImportFault as fault:
        raise Refused(fault.render(fault.file or source)) from None
    except Absent as absent:
        raise Refused(f"{source}: {absent}") from None
    except OSError as error:
        raise click.UsageError(f"{error.filename or source}: {error.strerror}.") from None
    if target is not None and table is not None:
        target.write_text(made.text, encoding="utf-8", newline="\n")
        if made.matrix:
            table.write_text(made.matrix, encoding="utf-8", newline="\n")
        sizes = f"{made.nodes} nodes, {made.links} links, {made.demands} demands"
        beside = f" and {table}" if made.matrix else ""
        click.echo(f"{sizes} written to {target}{beside}", err=True)
    if as_json:
        notes = [{"line": n.line, "text": n.text, "why": n.why} for n in made.notes]
        said = {"schema": 1, "nodes": made.nodes, "links": made.links, "demands": made.demands}
        echo_json(said | {"scenario": made.text, "matrix": made.matrix or None, "notes": notes})
    elif target is None:
        click.echo(made.text, nl=False)


def _quantity(option: str, text: str | None, parse: object = None) -> int | None:
    """The value of an option that is a quantity."""
    from trunkline.scenario.units import UnitError, parse_rate

    if text is None:
        return None
    try:
        return int((parse or parse_rate)(text))  # type: ignore[operator]
    except UnitError as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise click.UsageError(f"{option}: {error}{hint}") from None

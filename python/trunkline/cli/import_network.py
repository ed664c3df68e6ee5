"""``trunkline import network``: published networks and their demands as a scenario."""

import click

from trunkline.cli.common import echo_json, refuse_existing_files
from trunkline.cli.import_account import (
    ImportRefused,
    account_options,
    echo_account,
    echo_left_out_count,
    refuse_left_out,
)

JSON_SCHEMA = 2  # Version of the object that ``--json`` prints.


@click.command("network", short_help="Read a published network and its demands.")
@click.argument("source", metavar="FILE|topohub:NAME")
@click.option(
    "--capacity",
    metavar="RULE",
    help="Capacity of links without one: a rate such as '10 Gbit/s', or module, the smallest that "
    "an SNDlib file offers.",
)
@click.option(
    "--unit",
    metavar="RATE",
    help="Unit of demands and capacities whose file names none, e.g. Mbit/s.",
)
@click.option(
    "--delay", metavar="TIME", help="Delay of links without delay, length and coordinates."
)
@click.option(
    "--matrix",
    metavar="FILE",
    help="The demands: CSV or .xlsx with columns from, to, rate, or a square matrix; SNDlib; "
    ".demands of REPETITA; or a folder of such files, one for each interval of time. Default: "
    "those of FILE, in an .xlsx of its other sheets.",
)
@click.option(
    "--interval",
    metavar="RULE",
    help="Of demands in several intervals: peak, mean or '95 %' of each, busiest (the interval of "
    "the largest sum), or the name of an interval.",
)
@account_options
@click.option("--both-ways", is_flag=True, help="Offer each demand in both directions.")
@click.option("--internal", is_flag=True, help="Leave out nodes that belong to other networks.")
@click.option("--largest-part", is_flag=True, help="Keep the largest connected part only.")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False),
    help="New file; more than 20 demands are written to a second file. Default: standard output.",
)
@click.option("--overwrite", is_flag=True, help="Replace earlier files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def import_network(
    source: str,
    capacity: str | None,
    unit: str | None,
    delay: str | None,
    matrix: str | None,
    interval: str | None,
    both_ways: bool,
    internal: bool,
    largest_part: bool,
    out: str | None,
    overwrite: bool,
    as_json: bool,
    explain: bool,
    strict: bool,
) -> None:
    """Write a published network as a scenario, with the rules that filled its gaps.

    It reads SNDlib (XML and native), GML, GraphML, JSON of networkx, lists of links (CSV, .xlsx)
    and of edges, REPETITA, pyNTM, BRITE, Rocketfuel, containerlab and netlab, and folders that
    export wrote (containerlab, openconfig); topohub:sndlib/pdh is a network by its name. A delay
    that the file lacks is computed from the length of the link, or from the great circle between
    its ends, at two thirds of the speed of light.
    """
    from pathlib import Path

    from trunkline.importers import ImportFault
    from trunkline.importers.network import ImportRules, read_network
    from trunkline.importers.network.topohub import TopohubNotInstalled
    from trunkline.scenario.units import parse_time

    rules = ImportRules(
        capacity if capacity == "module" else _parse_quantity("--capacity", capacity),
        parse_unit(unit),
        _parse_quantity("--delay", delay, parse_time),
        both_ways,
        internal,
        largest_part,
    )
    target = None if out is None else Path(out)
    table = None if target is None else target.with_suffix(".demands.csv")
    refuse_existing_files((target, table), overwrite)
    try:
        imported = read_network(
            source,
            rules,
            demands=matrix,
            interval=interval,
            matrix_file="" if table is None else table.name,
        )
    except ImportFault as fault:
        raise ImportRefused(fault.render(fault.file or source)) from None
    except TopohubNotInstalled as absent:
        raise ImportRefused(f"{source}: {absent}") from None
    except OSError as error:
        raise click.UsageError(f"{error.filename or source}: {error.strerror}.") from None
    if strict:
        refuse_left_out(imported.account, source)
    if target is not None and table is not None:
        target.write_text(imported.text, encoding="utf-8", newline="\n")
        if imported.matrix:
            table.write_text(imported.matrix, encoding="utf-8", newline="\n")
        sizes = f"{imported.nodes} nodes, {imported.links} links, {imported.demands} demands"
        matrix_text = f" and {table}" if imported.matrix else ""
        click.echo(f"{sizes} written to {target}{matrix_text}", err=True)
    if as_json:
        echo_json(
            {
                "schema": JSON_SCHEMA,
                "nodes": imported.nodes,
                "links": imported.links,
                "demands": imported.demands,
                "scenario": imported.text,
                "matrix": imported.matrix or None,
                "account": imported.account.to_dict(),
            }
        )
    elif explain:
        echo_account(imported.account)
    else:
        echo_left_out_count(imported.account)
        if target is None:
            click.echo(imported.text, nl=False)


def parse_unit(unit: str | None) -> int | None:
    """Read the value of ``--unit``, a rate or the unit of one [bit/s]."""
    return _parse_quantity("--unit", f"1 {unit}" if unit and not unit[0].isdigit() else unit)


def _parse_quantity(option: str, text: str | None, parse: object = None) -> int | None:
    """Read the value of an option that is a quantity; None if it was not given."""
    from trunkline.scenario.units import UnitError, parse_rate

    if text is None:
        return None
    try:
        return int((parse or parse_rate)(text))  # type: ignore[operator]
    except UnitError as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise click.UsageError(f"{option}: {error}{hint}") from None

"""``trunkline import``: convert files of other programs to scenarios or parts of them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import click

from trunkline.cli.command_group import CommandGroup
from trunkline.cli.common import read_text
from trunkline.cli.import_account import ImportRefused, account_options, refuse_left_out
from trunkline.cli.import_network import import_network
from trunkline.cli.import_traffic import import_records, import_traffic, parse_nodes
from trunkline.cli.option_groups import combine_options

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from trunkline.importers import Imported


JSON_SCHEMA = 2  # Version of the object that ``--json`` prints.


@click.group("import", cls=CommandGroup, short_help="Read networks and configurations of routers.")
def command() -> None:
    """Read published networks as scenarios, router configurations as ports, captures as flows."""


command.add_command(import_network)
command.add_command(import_records)
command.add_command(import_traffic)


_options = combine_options(
    click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True)),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    account_options,
    click.option(
        "--node",
        "nodes",
        multiple=True,
        metavar="ADDRESS=NODE",
        help="Node of an address in a filter; repeatable.",
    ),
    click.option(
        "--port",
        "ports",
        multiple=True,
        metavar="NUMBER=FLOW",
        help="Flow of a port number in a filter; repeatable.",
    ),
    click.option(
        "--age",
        type=click.Choice(["plog", "max-p"]),
        help="RED of which kernel: plog rounds the probability to a power of two (until 2011), "
        "max-p is exact. Default: plog for cbq, dsmark and tcng.",
    ),
)


@command.command("tc", short_help="Read a script of tc commands.")
@_options
@click.option(
    "--partial", is_flag=True, help="Leave out and list commands that cannot be translated."
)
def tc(partial: bool, **options: Any) -> None:
    """Print `ports` and `conditioners` with the effect of the tc commands in FILE.

    It reads cbq, htb, hfsc, drr, prio, dsmark, gred, red, tbf, cake, codel, fq_codel, pie, fq_pie,
    sfq, fq, pfifo, bfifo and pfifo_fast, the filters u32, fw, tcindex, flower and matchall,
    policers, and marks of iptables and nft: from a script, a trace, a batch or a listing of tc. Any
    other command is an error with its line.
    """
    from trunkline.importers import read_tc

    _print_imported(functools.partial(read_tc, partial=partial), **options)


@command.command("tcng", short_help="Read a tcng configuration.")
@_options
def tcng(**options: Any) -> None:
    """Print `ports` and `conditioners` with the effect of the tcng configuration in FILE.

    It reads cbq, htb, prio, dsmark, gred, red, tbf and fifo, classes with `if` or chosen through
    variables, buckets and meters. Anything else is an error with its line.
    """
    from trunkline.importers import read_tcng

    _print_imported(read_tcng, **options)


def _print_imported(
    read: Callable[..., Imported],
    *,
    file: str,
    explain: bool,
    strict: bool,
    as_json: bool,
    nodes: tuple[str, ...],
    ports: tuple[str, ...],
    age: str | None,
) -> None:
    from trunkline.importers import Addresses, ImportFault

    addresses = Addresses(parse_nodes(nodes), _parse_flows(ports))
    text = read_text(file)
    try:
        imported = read(text, addresses=addresses, age=age)
    except ImportFault as fault:
        raise ImportRefused(fault.render("<stdin>" if file == "-" else file)) from None
    if strict:
        refuse_left_out(imported.account, file)
    if not imported.to_dict():
        click.echo(f"import: {file} has no queue and no policer", err=True)
    if as_json:
        from trunkline.cli.common import echo_json

        echo_json(
            {
                "schema": JSON_SCHEMA,
                "ports": imported.ports,
                "conditioners": imported.conditioners,
                "words": imported.sentences,
                "account": imported.account.to_dict(),
            }
        )
        return
    from trunkline.scenario.diagnostic import escape_unprintable

    account_lines = (
        imported.account.render_lines() if explain else imported.account.render_comment()
    )
    line_prefix = "" if explain else "# "
    sentences = [line_prefix + escape_unprintable(line) for line in imported.sentences]
    for line in (*sentences, *account_lines):
        click.echo(line)
    if imported.to_dict() and not explain:
        from trunkline.scenario.yaml_text import block

        click.echo(block(imported.to_dict()), nl=False)


def _parse_flows(assignments: tuple[str, ...]) -> dict[int, str]:
    from trunkline.scenario.units import parse_integer

    flows: dict[int, str] = {}
    for item in assignments:
        written, sign, flow = item.partition("=")
        number = parse_integer(written.strip()) if written.strip().isdecimal() else None
        if not sign or not flow.strip() or number is None:
            raise click.UsageError(f"--port takes NUMBER=FLOW, not {item!r}.")
        flows[number] = flow.strip()
    return flows

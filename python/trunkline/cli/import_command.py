"""``trunkline import``: what other programs wrote, as a scenario or parts of one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import click

from trunkline.cli.import_network import network
from trunkline.cli.import_traffic import records, traffic
from trunkline.cli.options import together
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from trunkline.importers import Imported


JSON_SCHEMA = 1


@click.group("import", short_help="Read networks and configurations of routers.")
def command() -> None:
    """Read published networks as scenarios, router configurations as ports, captures as flows."""


command.add_command(network)
command.add_command(records)
command.add_command(traffic)


_options = together(
    click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True)),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    click.option(
        "--explain", is_flag=True, help="Say in words what it does and what is left out; no YAML."
    ),
    click.option(
        "--node",
        "nodes",
        multiple=True,
        metavar="ADDRESS=NODE",
        help="Node of an IPv4 address that filters ask for; repeatable.",
    ),
    click.option(
        "--port",
        "ports",
        multiple=True,
        metavar="NUMBER=FLOW",
        help="Flow of a port number that filters ask for; repeatable.",
    ),
    click.option(
        "--age",
        type=click.Choice(["plog", "max-p"]),
        help="Kernel whose RED it is: plog rounds the probability to a power of two (until 2011), "
        "max-p is exact. Left out: plog for cbq, dsmark and tcng.",
    ),
)


@command.command("tc", short_help="Read a script of tc commands.")
@_options
@click.option(
    "--partial", is_flag=True, help="Leave out commands that cannot be translated, and say which."
)
def tc(partial: bool, **asked: Any) -> None:
    """Print the `ports` and `conditioners` that do what the tc commands in FILE do.

    Read are cbq, htb, drr, prio, dsmark, gred, red, tbf, cake, codel, fq_codel, pie, fq_pie, sfq,
    fq, pfifo, bfifo and pfifo_fast, the filters u32, fw, tcindex, flower and matchall, policers,
    and marks of iptables. What cannot be translated is an error with its line.
    """
    from trunkline.importers import read_tc

    _print(functools.partial(read_tc, partial=partial), **asked)


@command.command("tcng", short_help="Read a tcng configuration.")
@_options
def tcng(**asked: Any) -> None:
    """Print the `ports` and `conditioners` that do what the tcng configuration in FILE does.

    Read are cbq, htb, prio, dsmark, gred, red, tbf and fifo, classes with `if` or chosen through
    variables, buckets and meters. What cannot be translated is an error with its line.
    """
    from trunkline.importers import read_tcng

    _print(read_tcng, **asked)


def _print(
    read: Callable[..., Imported],
    *,
    file: str,
    explain: bool,
    as_json: bool,
    nodes: tuple[str, ...],
    ports: tuple[str, ...],
    age: str | None,
) -> None:
    from trunkline.importers import Addresses, ImportFault

    addresses = Addresses(_nodes(nodes), _flows(ports))
    text = _text(file)
    try:
        made = read(text, addresses=addresses, age=age)
    except ImportFault as fault:
        raise Refused(fault.render("<stdin>" if file == "-" else file)) from None
    if not made.to_dict():
        click.echo(f"import: nothing in {file} queues or polices packets", err=True)
    if as_json:
        from trunkline.cli.common import echo_json

        notes = [{"line": n.line, "text": n.text, "why": n.why} for n in made.notes]
        said = {"schema": JSON_SCHEMA, "ports": made.ports, "conditioners": made.conditioners}
        echo_json(said | {"words": made.words, "left_out": notes})
        return
    notes_said = [f"left out, line {n.line}: {n.text}: {n.why}" for n in made.notes]
    from trunkline.scenario.diagnostic import printable

    front = "" if explain else "# "
    for line in [*made.words, *notes_said]:
        click.echo(front + printable(line))
    if made.to_dict() and not explain:
        from trunkline.scenario.text import block

        click.echo(block(made.to_dict()), nl=False)


class Refused(click.ClickException):
    """A configuration that is not translated."""

    exit_code = Status.USAGE

    def show(self, file: Any = None) -> None:
        """Print it as the errors of scenarios are."""
        from trunkline.scenario.diagnostic import printable

        for line in self.message.splitlines():
            place, _, message = line.partition(": ")
            click.echo(printable(f"{place}: error[import]: {message}"), file=file, err=True)


def _text(file: str) -> str:
    from pathlib import Path

    from trunkline.cli.common import LARGEST_INPUT_BYTES, standard_input

    if file == "-":
        return standard_input()
    path = Path(file)
    if path.stat().st_size > LARGEST_INPUT_BYTES:
        raise click.UsageError(f"{file} is larger than {LARGEST_INPUT_BYTES} bytes.")
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file} is not UTF-8: {error.reason}.") from None


def _nodes(given: tuple[str, ...]) -> dict[str, str]:
    import ipaddress

    nodes: dict[str, str] = {}
    for item in given:
        address, sign, node = item.partition("=")
        try:
            nodes[str(ipaddress.IPv4Address(address.strip()))] = node.strip()
        except ValueError:
            sign = ""
        if not sign or not node.strip():
            raise click.UsageError(f"--node takes ADDRESS=NODE, not {item!r}.")
    return nodes


def _flows(given: tuple[str, ...]) -> dict[int, str]:
    from trunkline.scenario.units import parse_whole

    flows: dict[int, str] = {}
    for item in given:
        written, sign, flow = item.partition("=")
        number = parse_whole(written.strip()) if written.strip().isdecimal() else None
        if not sign or not flow.strip() or number is None:
            raise click.UsageError(f"--port takes NUMBER=FLOW, not {item!r}.")
        flows[number] = flow.strip()
    return flows

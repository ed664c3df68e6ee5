"""``trunkline import traffic`` and ``import records``: traffic that was measured elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli.common import free

if TYPE_CHECKING:
    from pathlib import Path

NODES = click.option(
    "--node",
    "nodes",
    multiple=True,
    metavar="ADDRESS=NODE",
    help="Node of an IPv4 address; repeatable. Given once, other addresses are left out.",
)


@click.command("traffic", short_help="Read a packet capture as flows.")
@click.argument("capture", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
@NODES
@click.option(
    "--think",
    default="200 ms",
    show_default=True,
    metavar="TIME",
    help="A longer pause of a TCP sender ends a transfer.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False),
    required=True,
    help="Folder for a schedule a flow and flows.yaml.",
)
@click.option("--overwrite", is_flag=True, help="Replace earlier files there.")
def traffic(capture: str, nodes: tuple[str, ...], think: str, out: str, overwrite: bool) -> None:
    """Write the UDP and TCP flows of a capture (pcap, pcapng) as schedules for a scenario.

    Each 5-tuple is a flow. UDP is replayed datagram by datagram; of TCP, what one side wrote until
    it paused or the other answered is a transfer, which the run's own TCP carries.
    """
    from pathlib import Path

    from trunkline.cli.import_command import Refused, _nodes
    from trunkline.importers import ImportFault
    from trunkline.importers.traffic import CaptureError, packets, prove_flows, replay
    from trunkline.scenario.text import block
    from trunkline.scenario.units import UnitError, parse_time

    try:
        pause = parse_time(think, lowest=1)
    except UnitError as error:
        raise click.UsageError(f"--think: {error}") from None
    try:
        made = replay(
            packets(Path(capture).read_bytes()), nodes=_nodes(nodes) or None, think_ns=pause
        )
    except CaptureError as error:
        raise Refused(f"{capture}: {error}") from None
    if not made:
        raise Refused(f"{capture}: no UDP or TCP over IPv4 between two nodes")
    folder = Path(out)
    files = {f"{its.name}.csv": its.to_csv() for its in made}
    try:
        prove_flows(made)
    except ImportFault as fault:
        raise Refused(fault.render(capture)) from None
    flows = block({"flows": {its.name: its.to_dict() for its in made}})
    about = [f"# {its.name}: {_about(its.key)}, {len(its.rows)} rows\n" for its in made]
    _write(folder, files | {"flows.yaml": "".join(about) + flows}, overwrite=overwrite)
    click.echo(f"{len(made)} flows written to {folder / 'flows.yaml'}", err=True)


@click.command("records", short_help="Read records of flows as demands.")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True))
@NODES
@click.option("--over", required=True, metavar="TIME", help="Time that the records cover: 5 min.")
@click.option("-o", "--out", type=click.Path(dir_okay=False), help="New file; else the output.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier file.")
def records(file: str, nodes: tuple[str, ...], over: str, out: str | None, overwrite: bool) -> None:
    """Write records of flows (CSV of NetFlow, IPFIX or sFlow) as a table of demands.

    Columns: from, to, bytes, and class if wanted; those of nfdump (sa, da, ibyt) do as well.
    """
    from pathlib import Path

    from trunkline.cli.import_command import Refused, _nodes, _text
    from trunkline.importers.traffic import RecordError, demands

    try:
        table, left_out = demands(_text(file), over=over, nodes=_nodes(nodes) or None)
    except RecordError as error:
        raise Refused(f"{file}: {error}") from None
    if left_out:
        click.echo(f"{left_out} records between no two nodes left out", err=True)
    if out is None:
        click.echo(table, nl=False)
        return
    target = Path(out)
    _write(target.parent, {target.name: table}, overwrite=overwrite)
    click.echo(f"{table.count(chr(10)) - 1} demands written to {out}", err=True)


def _about(key: tuple[str, str, int, int, int]) -> str:
    source, target, protocol, from_port, to_port = key
    name = "TCP" if protocol == 6 else "UDP"
    return f"{name} {source}:{from_port} to {target}:{to_port}"


def _write(folder: Path, files: dict[str, str], *, overwrite: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    free((folder / name for name in files), overwrite)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")

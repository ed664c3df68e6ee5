"""``trunkline import traffic`` and ``import records``: measured traffic as flows and demands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli.common import read_text, refuse_existing_files
from trunkline.cli.import_account import (
    ImportRefused,
    account_options,
    echo_account,
    echo_left_out_count,
    refuse_left_out,
)

if TYPE_CHECKING:
    from pathlib import Path

node_option = click.option(
    "--node",
    "nodes",
    multiple=True,
    metavar="ADDRESS=NODE",
    help="Node of an IP address; repeatable. If given, other addresses are left out.",
)


def parse_nodes(assignments: tuple[str, ...]) -> dict[str, str]:
    """Parse ADDRESS=NODE, several times. Raises click.UsageError: One is something else."""
    import ipaddress

    nodes: dict[str, str] = {}
    for item in assignments:
        address, sign, node = item.partition("=")
        try:
            nodes[str(ipaddress.ip_address(address.strip()))] = node.strip()
        except ValueError:
            sign = ""
        if not sign or not node.strip():
            raise click.UsageError(f"--node takes ADDRESS=NODE, not {item!r}.")
    return nodes


@click.command("traffic", short_help="Read a packet capture as flows.")
@click.argument("capture", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
@node_option
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
    help="Folder for flows.yaml and a schedule for each flow; --explain needs none.",
)
@click.option("--overwrite", is_flag=True, help="Replace earlier files there.")
@account_options
def import_traffic(
    capture: str,
    nodes: tuple[str, ...],
    think: str,
    out: str | None,
    overwrite: bool,
    explain: bool,
    strict: bool,
) -> None:
    """Write the UDP and TCP flows of a capture (pcap, pcapng) as schedules for a scenario.

    Each 5-tuple is a flow. UDP flows send the same datagrams at the same times. The bytes of TCP,
    each once, become transfers, which end when the sender pauses or the other side answers; the TCP
    of the run carries them. Each frame is read, or counted with the reason why it is not.
    """
    from pathlib import Path

    from trunkline.importers import ImportFault
    from trunkline.importers.common.account import ImportAccount
    from trunkline.importers.traffic import CaptureError, collect_flows, prove_flows, read_packets
    from trunkline.scenario.units import UnitError, parse_time
    from trunkline.scenario.yaml_text import block

    if out is None and not explain:
        raise click.UsageError("--out names the folder for the flows; only --explain needs none.")
    try:
        pause = parse_time(think, lowest=1)
    except UnitError as error:
        raise click.UsageError(f"--think: {error}") from None
    account = ImportAccount()
    try:
        collected = collect_flows(
            read_packets(Path(capture).read_bytes(), account),
            nodes=parse_nodes(nodes) or None,
            think_ns=pause,
            account=account,
        )
    except CaptureError as error:
        raise ImportRefused(f"{capture}: {error}") from None
    if explain or out is None:
        echo_account(account)
        return
    if strict:
        refuse_left_out(account, capture)
    if not collected:
        reasons = "".join(f"; {each.render()}" for each in account.left_out)
        raise ImportRefused(f"{capture}: no UDP or TCP between two nodes{reasons}")
    folder = Path(out)
    files = {f"{flow.name}.csv": flow.to_csv() for flow in collected}
    try:
        prove_flows(collected)
    except ImportFault as fault:
        raise ImportRefused(fault.render(capture)) from None
    flows = block({"flows": {flow.name: flow.to_dict() for flow in collected}})
    comments = [
        f"# {flow.name}: {_describe_flow(flow.key)}, {len(flow.rows)} rows\n" for flow in collected
    ]
    head = "".join(f"{line}\n" for line in account.render_comment())
    text = head + "".join(comments) + flows
    _write_files(folder, files | {"flows.yaml": text}, overwrite=overwrite)
    echo_left_out_count(account)
    flow_count = f"{len(collected)} flow{'s' * (len(collected) > 1)}"
    click.echo(f"{flow_count} written to {folder / 'flows.yaml'}", err=True)


@click.command("records", short_help="Read records of flows as demands.")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True))
@node_option
@click.option(
    "--over", required=True, metavar="TIME", help="Time that the records cover, e.g. '5 min'."
)
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False), help="New file. Default: standard output."
)
@click.option("--overwrite", is_flag=True, help="Replace an earlier file.")
@click.option(
    "--sampling",
    type=click.IntRange(1, 10**9),
    metavar="N",
    help="One packet in N was counted. Default: the column of the file, else all packets.",
)
@click.option(
    "--by-dscp", is_flag=True, help="The DSCP of a record (dscp, tos, stos) is its class."
)
@account_options
def import_records(
    file: str,
    nodes: tuple[str, ...],
    over: str,
    out: str | None,
    overwrite: bool,
    sampling: int | None,
    by_dscp: bool,
    explain: bool,
    strict: bool,
) -> None:
    """Write records of flows (NetFlow, IPFIX, sFlow, Zeek) as a table of demands.

    Columns: from, to, bytes and, optionally, class; or those of nfdump, flow-tools, SiLK, pmacct,
    Argus, IPFIX, Zeek's conn.log (TSV, JSON). Commas, semicolons, tabs, | and spaces part them.
    """
    from pathlib import Path

    from trunkline.importers.common.account import ImportAccount
    from trunkline.importers.traffic import RecordError, build_demand_table

    account = ImportAccount()
    try:
        table = build_demand_table(
            read_text(file),
            covered_time=over,
            nodes=parse_nodes(nodes) or None,
            sampling=sampling,
            by_dscp=by_dscp,
            account=account,
        )
    except RecordError as error:
        raise ImportRefused(f"{file}: {error}") from None
    if explain:
        echo_account(account)
        return
    if strict:
        refuse_left_out(account, file)
    echo_left_out_count(account)
    if out is None:
        click.echo(table, nl=False)
        return
    target = Path(out)
    _write_files(target.parent, {target.name: table}, overwrite=overwrite)
    click.echo(f"{table.count(chr(10)) - 1} demands written to {out}", err=True)


def _describe_flow(key: tuple[str, str, int, int, int]) -> str:
    source, target, protocol, from_port, to_port = key
    name = "TCP" if protocol == 6 else "UDP"
    return f"{name} {source}:{from_port} to {target}:{to_port}"


def _write_files(folder: Path, files: dict[str, str], *, overwrite: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    refuse_existing_files((folder / name for name in files), overwrite)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")

"""Records of flows (NetFlow, IPFIX, sFlow, Zeek) as demands between nodes."""

import csv
import io
from collections.abc import Mapping
from fractions import Fraction

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.traffic.flow_record_files import (
    FlowRecord,
    RecordError,
    read_flow_records,
)
from trunkline.importers.traffic.replayed_flows import name_node
from trunkline.scenario import units
from trunkline.scenario.dscp import get_dscp_name
from trunkline.scenario.units import UnitError

_COLUMNS = ("from", "to", "rate")


def build_demand_table(
    content: str,
    *,
    covered_time: str,
    nodes: Mapping[str, str] | None = None,
    sampling: int | None = None,
    by_dscp: bool = False,
    account: ImportAccount | None = None,
) -> str:
    """Build the table of demands that records of flows amount to.

    content: A table with columns for source, destination and bytes, and class if wanted.
    covered_time: Time that the records cover: ``5 min``.
    nodes: Node of each address; records of other addresses are left out. None: nodes are called by
        their addresses.
    sampling: One packet of how many was counted; by default the value of the file, else all.
    by_dscp: Whether the DSCP of a record is its class.
    account: Gets each row and column once: read, or left out with the reason.
    Returns: CSV with the columns from, to, rate and, if there are any, class, as `demands: {file:
        ...}` reads it.
    Raises RecordError: A column is missing or a value is no number, with its line.
    """
    account = ImportAccount() if account is None else account
    try:
        covered_ns = units.parse_time(covered_time, lowest=1)
    except UnitError as error:
        raise RecordError(f"--over: {error}") from None
    sums: dict[tuple[str, ...], int] = {}
    for record in read_flow_records(content, account, sampling=sampling, by_dscp=by_dscp):
        reason = _add_record(record, nodes, sums, by_dscp=by_dscp)
        if reason:
            account.add_left_out("rows", reason, line=record.line)
        else:
            account.add_read("rows", "bytes of demands", line=record.line)
    if not sums:
        reasons = "".join(f"; {each.render()}" for each in account.left_out)
        raise RecordError(f"no record between two nodes{reasons}")
    table = io.StringIO()
    write = csv.writer(table, lineterminator="\n").writerow
    has_class = any(len(key) > 2 for key in sums)
    write([*_COLUMNS, *["class"] * has_class])
    for key, size in sums.items():
        rate = max(1, round(Fraction(size * 8 * 10**9, covered_ns)))
        if rate > units.MAX_RATE_BIT_S:
            most = units.format_rate(units.MAX_RATE_BIT_S)
            raise RecordError(
                f"{size} bytes from {key[0]} to {key[1]} over {covered_time} are more than {most}"
            )
        write([*key[:2], f"{rate} bit/s", *key[2:]])
    return table.getvalue()


def _add_record(
    record: FlowRecord,
    nodes: Mapping[str, str] | None,
    sums: dict[tuple[str, ...], int],
    *,
    by_dscp: bool,
) -> str:
    """Add a record to the sums; why it is left out, empty if it is not."""
    ends = [
        name_node(each) if nodes is None else nodes.get(each, "")
        for each in (record.source, record.target)
    ]
    if "" in ends:
        return "their addresses are not two nodes"
    if ends[0] == ends[1]:
        return "between addresses of one node"
    if record.sent + record.sent_back == 0:
        return "no bytes"
    class_names: list[str] = []
    if by_dscp:
        if record.dscp is None:
            raise RecordError(f"line {record.line}: no column for the DSCP: dscp, tos, stos")
        class_names = [str(get_dscp_name(record.dscp))]
    elif record.class_name is not None:
        class_names = [record.class_name]
    for key, size in (
        ((*ends, *class_names), record.sent),
        ((*reversed(ends), *class_names), record.sent_back),
    ):
        if size:
            sums[key] = sums.get(key, 0) + size
    return ""

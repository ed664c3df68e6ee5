"""The plan as the text that the agent reads: one order a line.

The agent is written to need no parser of JSON. No order holds a name that a user wrote, and a word
with a space or a line feed in the wrong place is refused here.
"""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trunkline.linux.plan.guest_plan import GuestPlan

ORDERS_FORMAT: Final = 1  # Version of the text; the agent refuses any other.


def write_orders(plan: GuestPlan) -> bytes:
    """A plan as orders.

    Returns: ASCII, a line feed after each order.
    Raises ValueError: A name has a space in it or anything a line feed.
    """
    lines = []
    for line in _list_orders(plan):
        if not line.isascii() or not line.isprintable():
            raise ValueError(f"an order of other than printable ASCII: {line!r}")
        lines.append(line + "\n")
    return "".join(lines).encode("ascii")


def _list_orders(plan: GuestPlan) -> Iterator[str]:
    yield _format_order("trunkline", ORDERS_FORMAT)
    yield _format_order("seed", plan.seed)
    yield _format_order("duration", plan.duration_ns)
    for node in plan.nodes:
        yield _format_order("node", node.name)
        yield from (f"{_format_order('sysctl', key)} {value}" for key, value in node.sysctls)
        yield from (f"ip {line}" for line in node.ip)
        yield from (f"mpls {line}" for line in node.mpls)
        yield from (f"tc {line}" for line in node.tc)
    yield from (_format_order("link", *astuple(wire.a), *astuple(wire.b)) for wire in plan.links)
    yield from (_format_order("udp", *astuple(each)) for each in plan.udp)
    yield from (_format_order("tcp", *astuple(each)) for each in plan.tcp)
    yield from (
        _format_order("transfers", transfer_flow.schedule, *astuple(transfer_flow.tcp))
        for transfer_flow in plan.transfers
    )
    yield from (_format_order("writes", *astuple(each)) for each in plan.writes)
    yield from (_format_order("exchange", *astuple(each)) for each in plan.exchanges)
    yield from (_format_order("sample", *astuple(each)) for each in plan.samples)
    yield from (_format_order("count", *astuple(each)) for each in plan.counts)
    for change in plan.changes:
        yield f"{_format_order('change', change.at_ns, change.node, change.program)} {change.line}"
    yield from (_format_order("snapshot", time) for time in plan.snapshots_ns)
    if plan.settle_ns:
        yield _format_order("settle", plan.settle_ns)
    yield from (
        _format_order("daemon", transfer_flow.node, transfer_flow.log, *transfer_flow.command)
        for transfer_flow in plan.daemons
    )


def _format_order(*values: str | int | None) -> str:
    """Words of an order: what the plan holds, in the order of its fields; ``-`` stands for None."""
    return " ".join(map(_format_word, values))


def _format_word(value: str | int | None) -> str:
    if value is None:
        return "-"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if not text or " " in text:
        raise ValueError(f"not one word: {text!r}")
    return text

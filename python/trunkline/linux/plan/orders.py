"""The plan as the text that the agent reads: one order a line.

The agent is written to need no parser of JSON. No order holds a name that a user wrote, and a word
with a space or a line feed in the wrong place is refused here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trunkline.linux.plan.plan import End, Plan, TcpFlow, UdpFlow

FORMAT: Final = 1
"""Version of the text; the agent refuses any other."""


def write_orders(plan: Plan) -> bytes:
    """A plan as orders.

    Returns
    -------
    bytes
        ASCII, a line feed after each order.

    Raises
    ------
    ValueError
        A name has a space in it or anything a line feed.
    """
    lines = []
    for line in _orders(plan):
        if not line.isascii() or not line.isprintable():
            msg = f"an order of other than printable ASCII: {line!r}"
            raise ValueError(msg)
        lines.append(line + "\n")
    return "".join(lines).encode("ascii")


def _orders(plan: Plan) -> Iterator[str]:
    yield f"trunkline {FORMAT}"
    yield f"seed {plan.seed}"
    yield f"duration {plan.duration_ns}"
    for node in plan.nodes:
        yield f"node {_word(node.name)}"
        yield from (f"sysctl {_word(key)} {value}" for key, value in node.sysctls)
        yield from (f"ip {line}" for line in node.ip)
        yield from (f"mpls {line}" for line in node.mpls)
        yield from (f"tc {line}" for line in node.tc)
    for wire in plan.links:
        yield f"link {_end(wire.a)} {_end(wire.b)}"
    for udp in plan.udp:
        yield f"udp {_path(udp)} {_word(udp.schedule)}"
    yield from (f"tcp {_tcp(tcp)}" for tcp in plan.tcp)
    yield from (f"transfers {_word(each.schedule)} {_tcp(each.tcp)}" for each in plan.transfers)
    for sample in plan.samples:
        yield f"sample {_word(sample.node)} {_word(sample.device)} {sample.step_ns}"
    for count in plan.counts:
        yield f"count {count.at_ns} {_word(count.node)} {_word(count.device)}"
    for each in plan.changes:
        yield f"change {each.at_ns} {_word(each.node)} {_word(each.program)} {each.line}"
    yield from (f"snapshot {time}" for time in plan.snapshots_ns)
    if plan.settle_ns:
        yield f"settle {plan.settle_ns}"
    for daemon in plan.daemons:
        command = " ".join(map(_word, daemon.command))
        yield f"daemon {_word(daemon.node)} {_word(daemon.log)} {command}"


def _end(end: End) -> str:
    return f"{_word(end.node)} {_word(end.device)} {_word(end.mac)}"


def _path(flow: UdpFlow | TcpFlow) -> str:
    return (
        f"{flow.id} {_word(flow.source)} {_word(flow.destination)} {_word(flow.source_address)} "
        f"{_word(flow.destination_address)} {flow.port} {flow.tos} {flow.ttl}"
    )


def _tcp(tcp: TcpFlow) -> str:
    return (
        f"{_path(tcp)} {tcp.start_ns} {_option(tcp.stop_ns)} {_option(tcp.bytes)} "
        f"{_word(tcp.congestion_control)} {tcp.mss} {_option(tcp.send_buffer_bytes)} "
        f"{_option(tcp.receive_buffer_bytes)} {str(tcp.nodelay).lower()} {tcp.sample_ns}"
    )


def _word(text: str) -> str:
    if not text or " " in text:
        msg = f"not one word: {text!r}"
        raise ValueError(msg)
    return text


def _option(number: int | None) -> str:
    return "-" if number is None else str(number)

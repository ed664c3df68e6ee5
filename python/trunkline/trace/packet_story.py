"""The story of one packet: its path, its treatment, its waits and its end."""

from collections.abc import Mapping
from typing import Any

from trunkline.network.types import NetworkData
from trunkline.results import Results
from trunkline.results.number_format import format_duration
from trunkline.trace.capture import UntracedRunError
from trunkline.trace.phrases import DROP_CAUSE_PHRASES, describe_label_change, format_seconds

PacketRow = Mapping[str, Any]

UNTRACED_MESSAGE = (
    "the run has no packet trace; record one with  run: {trace: on}  in the scenario, or "
    "--set run.trace=on"
)


def packet_story(results: Results, network: NetworkData, number: int) -> list[str]:
    """Tell the story of a packet.

    Parameters
    ----------
    number : int
        The packet's number, as in the column ``packet``.

    Raises
    ------
    UntracedRunError
        The run recorded no packets.
    LookupError
        No packet has this number.
    """
    rows = list_packet_events(results, number)
    links = {link["name"]: link for link in network["links"]}
    lines = [_describe_packet(rows[0], network), ""]
    lines += [
        f"  {format_seconds(row['time_ns'])}  {text}"
        for row, text in _describe_events(rows, links, network)
    ]
    return [*lines, "", _describe_end(rows, links)]


def list_packet_events(results: Results, number: int) -> list[PacketRow]:
    """The rows of a packet. Raises UntracedRunError, LookupError: As for :func:`packet_story`."""
    table = results.packets
    if len(table) == 0:
        raise UntracedRunError(UNTRACED_MESSAGE)
    numbers = table.column("packet").get_numbers()
    row_indices = [index for index, value in enumerate(numbers) if value == number]
    if not row_indices:
        msg = f"no packet has number {number}; they are numbered from 0 to {max(numbers)}"
        raise LookupError(msg)
    names = table.columns
    return [{name: table.column(name).get_item(index) for name in names} for index in row_indices]


def _describe_packet(row: PacketRow, network: NetworkData) -> str:
    flow = next(flow for flow in network["flows"] if flow["name"] == row["flow"])
    nodes = network["nodes"]
    source, sink = nodes[flow["src"]]["name"], nodes[flow["dst"]]["name"]
    if "SYN" in (row["tcp_flags"] or ""):
        ends = (sink, source) if row["direction"] == "reverse" else (source, sink)
        kind = "answer to the SYN" if row["direction"] == "reverse" else "SYN"
        description = f"the {kind} of flow {row['flow']} ({' to '.join(ends)})"
        description += ", sent again" if row["retransmission"] else ""
    elif row["direction"] == "reverse":
        description = f"acknowledgement {row['seq']} of flow {row['flow']} ({sink} to {source})"
        description += f", which expects byte {row['ack_bytes']} (segment {row['ack']}) next"
        if row["sack"]:
            description += f" and selectively acknowledges segments {row['sack']}"
    elif row["seq_bytes"] is not None and row["ip_bytes"] <= flow["agent"]["header_bytes"]:
        description = f"an ACK without data of flow {row['flow']} ({source} to {sink})"
    elif row["seq_bytes"] is not None:
        description = f"segment {row['seq']} of flow {row['flow']} ({source} to {sink})"
        description += f", from byte {row['seq_bytes']}"
        description += ", sent again" if row["retransmission"] else ""
    else:
        description = f"datagram {row['seq']} of flow {row['flow']} ({source} to {sink})"
    copied = "a copy of " if row["event"] == "copied" else ""
    header = f"{row['ip_bytes']} B of IP, DSCP {row['dscp']}, {row['ecn']}"
    return f"Packet {row['packet']} is {copied}{description}; {header}."


def _describe_events(
    rows: list[PacketRow], links: Mapping[str, Any], network: NetworkData
) -> list[tuple[PacketRow, str]]:
    """Describe each row with its sentence."""
    descriptions = []
    before = rows[0]
    nodes = [node["name"] for node in network["nodes"]]
    for row in rows:
        link = links.get(row["link"])
        if row["event"] == "sent":
            text = f"sent by {row['node']}"
        elif row["event"] == "copied":
            text = f"copied at {row['node']}, the head of a 1+1 path"
        elif row["event"] == "queued":
            text = _describe_queueing(row, nodes[links[row["link"]]["from"]])
        elif row["event"] == "arrived" and link is not None:
            text = f"arrived at {nodes[link['to']]} over {row['link']}"
        elif row["event"] == "delivered":
            text = f"delivered at {row['node']}"
        else:
            place = f"at the port of {row['link']}" if row["link"] else f"at {row['node']}"
            text = (
                f"dropped {place}: {DROP_CAUSE_PHRASES.get(row['cause'], row['cause'])} ("
                f"{row['cause']})"
            )
        descriptions.append((row, "; ".join([text, *_describe_header_changes(before, row)])))
        before = row
    return descriptions


def _describe_queueing(row: PacketRow, node: str) -> str:
    text = f"{node} queued it for {row['link']}, class {row['class']}"
    if row["precedence"]:
        text += f", drop precedence {row['precedence']}"
    if row["wait_ns"] is None:
        return f"{text}: its first bit was not sent"
    return f"{text}; " + (
        "sent at once" if row["wait_ns"] == 0 else f"waited {format_duration(row['wait_ns'])}"
    )


def _describe_header_changes(before: PacketRow, row: PacketRow) -> list[str]:
    """Describe the changes of the headers."""
    changes = [describe_label_change(before["stack"], row["stack"])]
    if row["dscp"] != before["dscp"]:
        changes.append(f"re-marked from {before['dscp']} to {row['dscp']}")
    if row["ecn"] != before["ecn"]:
        changes.append(f"marked {row['ecn']}")
    if row["colour"] != before["colour"]:
        changes.append(f"coloured {row['colour']}")
    return [change for change in changes if change]


def _describe_end(rows: list[PacketRow], links: Mapping[str, Any]) -> str:
    """Describe the end of the packet, and the parts of its delay."""
    last = rows[-1]
    duration_ns = last["time_ns"] - rows[0]["time_ns"]
    waiting_ns = sum(row["wait_ns"] or 0 for row in rows)
    crossed_links = [links[row["link"]] for row in rows if row["event"] == "arrived"]
    propagation_ns = sum(link["delay_ns"] for link in crossed_links)
    hops = f"{len(crossed_links)} link{'s' if len(crossed_links) != 1 else ''}"
    if last["event"] == "delivered":
        transmission_ns = duration_ns - waiting_ns - propagation_ns
        return (
            f"It took {format_duration(duration_ns)} over {hops}: "
            f"{format_duration(waiting_ns)} waiting in queues, {format_duration(transmission_ns)} "
            f"being transmitted, {format_duration(propagation_ns)} under way."
        )
    if last["event"] == "dropped":
        return (
            f"It was lost {format_duration(duration_ns)} after it was made, having crossed {hops}."
        )
    return f"At the end of the run it was still in the network, having crossed {hops}."

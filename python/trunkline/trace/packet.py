"""The story of one packet: where it went, what was done to it, how long it waited, how it ended."""

from collections.abc import Mapping
from typing import Any

from trunkline.network.types import Network
from trunkline.results import Results
from trunkline.results.numbers import span
from trunkline.trace.capture import Untraced
from trunkline.trace.words import FATES, relabelled, seconds

Row = Mapping[str, Any]

UNTRACED = (
    "the run has no packet trace; record one with  run: {trace: on}  in the scenario, or "
    "--set run.trace=on"
)


def packet_story(results: Results, network: Network, number: int) -> list[str]:
    """Tell the story of a packet.

    Parameters
    ----------
    number : int
        The packet's number, as in the column ``packet``.

    Raises
    ------
    Untraced
        The run recorded no packets.
    LookupError
        No packet has this number.
    """
    rows = events(results, number)
    links = {link["name"]: link for link in network["links"]}
    lines = [_opening(rows[0], network), ""]
    lines += [f"  {seconds(row['time_ns'])}  {text}" for row, text in _told(rows, links, network)]
    return [*lines, "", _closing(rows, links)]


def events(results: Results, number: int) -> list[Row]:
    """The rows of a packet.

    Raises
    ------
    Untraced, LookupError
        As for :func:`packet_story`.
    """
    table = results.packets
    if len(table) == 0:
        raise Untraced(UNTRACED)
    numbers = table.column("packet").numbers()
    at = [index for index, value in enumerate(numbers) if value == number]
    if not at:
        msg = f"no packet has number {number}; they are numbered from 0 to {max(numbers)}"
        raise LookupError(msg)
    names = table.columns
    return [{name: table.column(name).item(index) for name in names} for index in at]


def _opening(row: Row, network: Network) -> str:
    flow = next(flow for flow in network["flows"] if flow["name"] == row["flow"])
    nodes = network["nodes"]
    source, sink = nodes[flow["src"]]["name"], nodes[flow["dst"]]["name"]
    if "SYN" in (row["tcp_flags"] or ""):
        ends = (sink, source) if row["direction"] == "reverse" else (source, sink)
        kind = "answer to the SYN" if row["direction"] == "reverse" else "SYN"
        what = f"the {kind} of flow {row['flow']} ({' to '.join(ends)})"
        what += ", sent again" if row["retransmission"] else ""
    elif row["direction"] == "reverse":
        what = f"acknowledgement {row['seq']} of flow {row['flow']} ({sink} to {source})"
        what += f", which expects byte {row['ack_bytes']} (segment {row['ack']}) next"
        if row["sack"]:
            what += f" and selectively acknowledges segments {row['sack']}"
    elif row["seq_bytes"] is not None and row["ip_bytes"] <= flow["agent"]["header_bytes"]:
        what = f"an ACK without data of flow {row['flow']} ({source} to {sink})"
    elif row["seq_bytes"] is not None:
        what = f"segment {row['seq']} of flow {row['flow']} ({source} to {sink})"
        what += f", from byte {row['seq_bytes']}"
        what += ", sent again" if row["retransmission"] else ""
    else:
        what = f"datagram {row['seq']} of flow {row['flow']} ({source} to {sink})"
    copied = "a copy of " if row["event"] == "copied" else ""
    header = f"{row['ip_bytes']} B of IP, DSCP {row['dscp']}, {row['ecn']}"
    return f"Packet {row['packet']} is {copied}{what}; {header}."


def _told(rows: list[Row], links: Mapping[str, Any], network: Network) -> list[tuple[Row, str]]:
    """Each row with its sentence."""
    told = []
    before = rows[0]
    nodes = [node["name"] for node in network["nodes"]]
    for row in rows:
        link = links.get(row["link"])
        if row["event"] == "sent":
            text = f"sent by {row['node']}"
        elif row["event"] == "copied":
            text = f"copied at {row['node']}, the head of a 1+1 path"
        elif row["event"] == "queued":
            text = _joined(row, nodes[links[row["link"]]["from"]])
        elif row["event"] == "arrived" and link is not None:
            text = f"arrived at {nodes[link['to']]} over {row['link']}"
        elif row["event"] == "delivered":
            text = f"delivered at {row['node']}"
        else:
            place = f"at the port of {row['link']}" if row["link"] else f"at {row['node']}"
            text = f"dropped {place}: {FATES.get(row['cause'], row['cause'])} ({row['cause']})"
        told.append((row, "; ".join([text, *_changes(before, row)])))
        before = row
    return told


def _joined(row: Row, node: str) -> str:
    text = f"{node} queued it for {row['link']}, class {row['class']}"
    if row["precedence"]:
        text += f", drop precedence {row['precedence']}"
    if row["wait_ns"] is None:
        return f"{text}: its first bit was not sent"
    return f"{text}; " + (
        "sent at once" if row["wait_ns"] == 0 else f"waited {span(row['wait_ns'])}"
    )


def _changes(before: Row, row: Row) -> list[str]:
    """What the headers say that they did not say before."""
    changes = [relabelled(before["stack"], row["stack"])]
    if row["dscp"] != before["dscp"]:
        changes.append(f"re-marked from {before['dscp']} to {row['dscp']}")
    if row["ecn"] != before["ecn"]:
        changes.append(f"marked {row['ecn']}")
    if row["colour"] != before["colour"]:
        changes.append(f"coloured {row['colour']}")
    return [change for change in changes if change]


def _closing(rows: list[Row], links: Mapping[str, Any]) -> str:
    """How it ended, and what its time went into."""
    last = rows[-1]
    took = last["time_ns"] - rows[0]["time_ns"]
    waited = sum(row["wait_ns"] or 0 for row in rows)
    crossed = [links[row["link"]] for row in rows if row["event"] == "arrived"]
    under_way = sum(link["delay_ns"] for link in crossed)
    hops = f"{len(crossed)} link{'s' if len(crossed) != 1 else ''}"
    if last["event"] == "delivered":
        rest = took - waited - under_way
        return (
            f"It took {span(took)} over {hops}: {span(waited)} waiting in queues, {span(rest)} "
            f"being transmitted, {span(under_way)} under way."
        )
    if last["event"] == "dropped":
        return f"It was lost {span(took)} after it was made, having crossed {hops}."
    return f"At the end of the run it was still in the network, having crossed {hops}."

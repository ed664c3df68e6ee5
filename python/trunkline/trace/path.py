"""The story of a label-switched path: its labels, what it carried, and what befell it."""

from typing import Any

from trunkline.network.types import Network
from trunkline.results import Results
from trunkline.results.numbers import rate, span
from trunkline.trace.flow import unknown
from trunkline.trace.words import count, seconds

MOST = 40
"""Moments told one by one."""


def path_story(results: Results, network: Network, name: str) -> list[str]:
    """Tell the story of a path.

    Raises
    ------
    LookupError
        No path has this name.
    """
    names = [path["name"] for path in network["paths"]]
    if name not in names:
        raise LookupError(unknown("path", name, names))
    number = names.index(name)
    links = [network["links"][link] for link in network["paths"][number]["links"]]
    nodes = [node["name"] for node in network["nodes"]]
    way = [nodes[links[0]["from"]], *(nodes[link["to"]] for link in links)] if links else []
    delay = sum(link["delay_ns"] for link in links)
    slowest = min((link["rate_bit_s"] for link in links), default=0)
    lines = [
        f"Path {name} runs over {count(len(links), 'link')}: {', '.join(way)}; "
        f"{span(delay)} of propagation, {rate(slowest)} at the narrowest.",
        "",
        "Label tables:",
        *(f"  {line}" for line in _entries(network, number, nodes)),
        "",
        *_carried(results, network, name),
    ]
    moments = [row for row in results.timeline.rows() if _concerns(row, name, links)]
    protections = [
        each["name"]
        for each in network.get("recovery", {}).get("protections", [])
        if each["path"] == number
    ]
    if protections:
        lines.append(f"It is protected by {', '.join(protections)}.")
    if moments:
        lines += ["", "What happened:", *(f"  {_moment(row)}" for row in moments[:MOST])]
        if len(moments) > MOST:
            lines.append(f"  and {len(moments) - MOST:,} more")
    elif protections:
        lines.append("Nothing happened to it.")
    return lines


def _entries(network: Network, number: int, nodes: list[str]) -> list[str]:
    """What each LSR does for the path, in the words of RFC 3031 section 3.10."""
    told = []
    entries = [(each["node"], "a packet of its flows", each["nhlfe"]) for each in network["ftn"]]
    entries += [(each["node"], f"label {each['label']}", each["nhlfe"]) for each in network["ilm"]]
    for node, came, nhlfe in entries:
        does = network["nhlfe"][nhlfe]
        if does["path"] == number:
            done = ["pop"] if does["pop"] and not does["push"] else []
            pushed = list(does["push"])
            if does["pop"] and pushed:
                done.append(f"swap to {pushed.pop(0)}")
            done += [f"push {label}" for label in pushed]
            link = does["link"]
            to = "look again" if link is None else f"send on {network['links'][link]['name']}"
            told.append(f"{nodes[node]}, {came}: {', '.join([*done, to])}")
    return told


def _carried(results: Results, network: Network, name: str) -> list[str]:
    lines = []
    for row in results.paths.rows():
        if row["path"] == name:
            packets, bits = int(row["packets"] or 0), float(row["throughput_bit_s"] or 0)
            if packets:
                own = f"{count(packets, 'packet')} of its own"
                lines.append(f"It carried {own}, {rate(bits)} with their labels.")
            else:
                lines.append(
                    "No packet entered it at its head; those of paths through it are theirs."
                )
    return lines


def _concerns(row: dict[str, Any], name: str, links: list[Any]) -> bool:
    return row["path"] == name or row["link"] in {link["name"] for link in links}


def _moment(row: dict[str, Any]) -> str:
    words = [str(row["event"])]
    for key, before in (("link", "link"), ("protection", "protection"), ("node", "at")):
        if row[key]:
            words.append(f"{before} {row[key]}")
    return f"{seconds(row['time_ns'])}  {', '.join(words)}"

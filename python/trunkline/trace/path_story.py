"""The story of a label-switched path: its labels, its load and its events."""

from typing import Any

from trunkline.network.types import NetworkData
from trunkline.results import Results
from trunkline.results.number_format import format_duration, format_rate
from trunkline.trace.flow_story import describe_unknown_name
from trunkline.trace.phrases import format_count, format_seconds

MAX_EVENTS_LISTED = 40


def path_story(results: Results, network: NetworkData, name: str) -> list[str]:
    """Tell the story of a path. Raises LookupError: No path has this name."""
    names = [path["name"] for path in network["paths"]]
    if name not in names:
        raise LookupError(describe_unknown_name("path", name, names))
    number = names.index(name)
    links = [network["links"][link] for link in network["paths"][number]["links"]]
    nodes = [node["name"] for node in network["nodes"]]
    route = [nodes[links[0]["from"]], *(nodes[link["to"]] for link in links)] if links else []
    delay = sum(link["delay_ns"] for link in links)
    slowest = min((link["rate_bit_s"] for link in links), default=0)
    lines = [
        f"Path {name} runs over {format_count(len(links), 'link')}: {', '.join(route)}; "
        f"{format_duration(delay)} of propagation, {format_rate(slowest)} at the narrowest.",
        "",
        "Label tables:",
        *(f"  {line}" for line in _describe_label_entries(network, number, nodes)),
        "",
        *_describe_traffic(results, network, name),
    ]
    events = [row for row in results.timeline.rows() if _is_about_path(row, name, links)]
    protections = [
        each["name"]
        for each in network.get("recovery", {}).get("protections", [])
        if each["path"] == number
    ]
    if protections:
        lines.append(f"It is protected by {', '.join(protections)}.")
    if events:
        lines += [
            "",
            "What happened:",
            *(f"  {_describe_event(row)}" for row in events[:MAX_EVENTS_LISTED]),
        ]
        if len(events) > MAX_EVENTS_LISTED:
            lines.append(f"  and {len(events) - MAX_EVENTS_LISTED:,} more")
    elif protections:
        lines.append("Nothing happened to it.")
    return lines


def _describe_label_entries(network: NetworkData, number: int, nodes: list[str]) -> list[str]:
    """Describe each LSR's entry for the path, in the words of RFC 3031 section 3.10."""
    lines = []
    entries = [(each["node"], "a packet of its flows", each["nhlfe"]) for each in network["ftn"]]
    entries += [(each["node"], f"label {each['label']}", each["nhlfe"]) for each in network["ilm"]]
    for node, match_text, nhlfe in entries:
        nhlfe_data = network["nhlfe"][nhlfe]
        if nhlfe_data["path"] == number:
            actions = ["pop"] if nhlfe_data["pop"] and not nhlfe_data["push"] else []
            pushed = list(nhlfe_data["push"])
            if nhlfe_data["pop"] and pushed:
                actions.append(f"swap to {pushed.pop(0)}")
            actions += [f"push {label}" for label in pushed]
            link = nhlfe_data["link"]
            destination = (
                "look again" if link is None else f"send on {network['links'][link]['name']}"
            )
            lines.append(f"{nodes[node]}, {match_text}: {', '.join([*actions, destination])}")
    return lines


def _describe_traffic(results: Results, network: NetworkData, name: str) -> list[str]:
    lines = []
    for row in results.paths.rows():
        if row["path"] == name:
            packets, bits = int(row["packets"] or 0), float(row["throughput_bit_s"] or 0)
            if packets:
                own_packets = f"{format_count(packets, 'packet')} of its own"
                lines.append(f"It carried {own_packets}, {format_rate(bits)} with their labels.")
            else:
                lines.append(
                    "No packet entered it at its head; those of paths through it are theirs."
                )
    return lines


def _is_about_path(row: dict[str, Any], name: str, links: list[Any]) -> bool:
    return row["path"] == name or row["link"] in {link["name"] for link in links}


def _describe_event(row: dict[str, Any]) -> str:
    words = [str(row["event"])]
    for key, before in (("link", "link"), ("protection", "protection"), ("node", "at")):
        if row[key]:
            words.append(f"{before} {row[key]}")
    return f"{format_seconds(row['time_ns'])}  {', '.join(words)}"

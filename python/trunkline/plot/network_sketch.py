"""A compiled network as a drawing: lines between nodes, and paths along them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData


@dataclass(frozen=True, slots=True)
class SketchLink:
    """The links between two nodes that belong together: one, or one each way."""

    ends: tuple[str, str]
    links: tuple[int, ...]  # Indices of the one-way links.
    about: str
    is_bidirectional: bool  # There is a link in each direction.


@dataclass(frozen=True, slots=True)
class SketchPath:
    """A label-switched path."""

    name: str
    hops: tuple[tuple[str, str], ...]  # Nodes of each link, in order.
    backup_of: tuple[str, ...]  # Paths that switch to it; empty for a working path.


@dataclass(frozen=True, slots=True)
class NetworkSketch:
    """Lines and texts of a drawing."""

    name: str  # Name of the scenario.
    nodes: tuple[str, ...]  # Nodes in the order of the scenario.
    hosts: frozenset[str]  # Those where flows begin or end.
    links: tuple[SketchLink, ...]
    paths: tuple[SketchPath, ...]

    @classmethod
    def from_network(cls, network: NetworkData) -> NetworkSketch:
        """Sketch a compiled network."""
        nodes = tuple(str(node["name"]) for node in network["nodes"])
        ends = [(nodes[link["from"]], nodes[link["to"]]) for link in network["links"]]
        hosts = {nodes[flow[end]] for flow in network["flows"] for end in ("src", "dst")}
        backups = find_backup_paths(network)
        paths = tuple(
            SketchPath(
                path["name"],
                tuple(ends[link] for link in path["links"]),
                tuple(backups.get(path["name"], ())),
            )
            for path in network["paths"]
        )
        name = network["name"] or "network"
        return cls(name, nodes, frozenset(hosts), tuple(_pair_links(network, ends)), paths)


def _pair_links(network: NetworkData, ends: list[tuple[str, str]]) -> list[SketchLink]:
    """Pair each link with the first one back that has no partner yet."""
    links = network["links"]
    waiting: dict[tuple[str, str], list[int]] = {}
    pairs: list[list[int]] = []
    for index, (source, target) in enumerate(ends):
        back = waiting.get((target, source), [])
        if back:
            pairs[back.pop(0)].append(index)
        else:
            waiting.setdefault((source, target), []).append(len(pairs))
            pairs.append([index])
    lines = []
    for pair in pairs:
        rates = dict.fromkeys(format_capacity(links[index]["rate_bit_s"]) for index in pair)
        delays = dict.fromkeys(format_delay(links[index]["delay_ns"]) for index in pair)
        about = f"{' / '.join(rates)}, {' / '.join(delays)}"
        lines.append(SketchLink(ends[pair[0]], tuple(pair), about, len(pair) == 2))
    return lines


def find_backup_paths(network: NetworkData) -> dict[str, list[str]]:
    """Find the paths that protections switch to, with the paths that they protect."""
    paths = [str(path["name"]) for path in network["paths"]]
    found: dict[str, list[str]] = {}
    for protection in (network.get("recovery") or {}).get("protections", []):
        working = paths[protection["path"]]
        for switch in protection["switches"]:
            target = network["nhlfe"][switch["alternative"]]["path"]
            if target != protection["path"] and working not in found.get(paths[target], []):
                found.setdefault(paths[target], []).append(working)
    return found


def format_capacity(bit_s: int) -> str:
    """Format a capacity in its unit. bit_s: The capacity [bit/s]."""
    for size, unit in ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")):
        if bit_s >= size:
            return f"{bit_s / size:.6g} {unit}"
    return f"{bit_s} bit/s"


def format_delay(ns: int) -> str:
    """Format a delay in its unit. ns: The delay [ns]."""
    for size, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "µs")):
        if ns >= size:
            return f"{ns / size:.6g} {unit}"
    return f"{ns} ns"

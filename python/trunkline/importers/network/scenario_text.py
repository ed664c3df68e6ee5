"""A topology as a scenario: readable text, and the matrix as a table next to it when large."""

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.network.static_routes import has_backup_routes
from trunkline.importers.network.topology import ImportedDemand, ImportedLink, ImportedTopology
from trunkline.scenario.diagnostic import escape_unprintable
from trunkline.scenario.dscp import DSCP_NAMES
from trunkline.scenario.units import format_rate, format_ratio, format_time
from trunkline.scenario.yaml_text import format_one_line

MAX_INLINE_DEMANDS = 20  # Demands that are written into the scenario itself.
MAX_UNSCALED_OFFERED_BIT_S = 5 * 10**9
"""Offered load above which the scenario is scaled down, so that a run takes seconds [bit/s]."""
DEFAULT_CLASS = "data"
_NAMED_KEYS = ("port", "ingress", "mtu", "header")
"""Keys of a direction of a link that one may have and the other not."""
TRAFFIC_CLASS_KEYS = {"agent": "udp", "arrivals": "poisson", "size": "1000 B"}


@dataclass(frozen=True)
class ImportedNetwork:
    """A network after its import: scenario, account and warnings."""

    text: str
    matrix: str  # The table of demands that the scenario names, as CSV; empty: none.
    account: ImportAccount  # Lines that were read, left out and assumed.
    nodes: int
    links: int
    demands: int


def format_scenario(
    topology: ImportedTopology,
    by_key: dict[str, str],
    source: str,
    matrix_file: str = "",
    *,
    overloaded: bool = False,
) -> ImportedNetwork:
    """Write a topology whose gaps are filled.

    by_key: Names of nodes, from `rules.names`.
    matrix_file: Name of the file for the demands where they are many; empty: they are all in the
        text.
    overloaded: Whether there are demands that no path has room for.
    """
    has_matrix_file = bool(matrix_file) and len(topology.demands) > MAX_INLINE_DEMANDS
    lines = [f"# {escape_unprintable(topology.title)}, imported from {escape_unprintable(source)}."]
    lines += topology.account.render_comment()
    lines += ["trunkline: 1", ""]
    if topology.demands:
        lines += _format_scale(topology)
    link_names = _name_links(topology, by_key)
    lines += ["nodes:", *_format_nodes(topology, by_key, link_names), ""]
    most_common = Counter(link.capacity for link in topology.links).most_common(1)
    rate = most_common[0][0] if most_common else None
    if rate is not None:
        lines += ["defaults:", f"  link: {{rate: {format_rate(round(rate))}}}", ""]
    lines += ["links:", *_format_links(topology, by_key, link_names, rate), ""]
    for section, elements in (("ports", topology.ports), ("conditioners", topology.conditioners)):
        lines += [f"{section}:", *_format_elements(elements), ""] if elements else []
    lines += _format_paths(topology, by_key, link_names)
    matrix = ""
    if topology.demands:
        lines += ["# A class turns a demand into packets; a trunk with `path: auto` gives each of",
                  "# its demands its own label-switched path.",
                  "traffic:", *_format_classes(topology), "demands:"]  # fmt: skip
        if has_matrix_file:
            class_name = _get_class_name(topology.demands[0])
            lines.append(f"  matrix: {format_one_line({'file': matrix_file, 'class': class_name})}")
            matrix = _format_matrix(topology, by_key)
        else:
            lines += _format_demands(topology, by_key)
        lines += ["trunks:", "  mesh: {demands: all, path: auto}", ""]
        if overloaded:
            lines += ["# Some demands find no path with room for them: they follow IP routing.",
                      "te: {unplaced: igp}", ""]  # fmt: skip
    lines += ["run: {duration: 1 s, warm_up: 100 ms}", ""]
    sizes = (len(topology.nodes), len(topology.links), len(topology.demands))
    return ImportedNetwork("\n".join(lines), matrix, topology.account, *sizes)


def _format_scale(topology: ImportedTopology) -> list[str]:
    offered = sum(each.value for each in topology.demands)
    if offered <= MAX_UNSCALED_OFFERED_BIT_S:
        return []
    scale = 10.0 ** -math.ceil(math.log10(offered / MAX_UNSCALED_OFFERED_BIT_S))
    return [
        f"# {format_rate(round(offered))} are offered: rates and demands are scaled so that a run "
        "takes seconds.",
        "# Queueing times grow by the inverse of the scale; propagation does not.",
        f"scale: {format_ratio(scale)}",
        "",
    ]


def _format_nodes(
    topology: ImportedTopology, by_key: dict[str, str], link_names: list[str]
) -> list[str]:
    """Format the nodes with their static routes and their places in a picture.

    Degrees of longitude are drawn as long as they are at the middle latitude.
    """
    places = [node.place for node in topology.nodes.values() if node.place is not None]
    shrink = 1.0
    if topology.geographic and places:
        low, high = min(y for _, y in places), max(y for _, y in places)
        shrink = max(0.2, math.cos(math.radians((low + high) / 2)))
    lines = []
    for key, node in topology.nodes.items():
        node_keys: dict[str, Any] = {}
        if node.place is not None:
            node_keys["position"] = [round(node.place[0] * shrink, 3), round(node.place[1], 3)]
        if key in topology.routes:
            node_keys["routes"] = [
                each | {"to": by_key.get(each["to"], each["to"]), "via": link_names[each["via"]]}
                for each in topology.routes[key]
            ]
        lines.append(f"  {format_one_line(by_key[key])}: {format_one_line(node_keys)}")
    return lines


def _name_links(topology: ImportedTopology, by_key: dict[str, str]) -> list[str]:
    name_by_ends: dict[frozenset[str], str] = {}
    taken_names: set[str] = set()
    names = []
    for link in topology.links:
        ends = by_key[link.source], by_key[link.target]
        name = link.name or name_by_ends.setdefault(frozenset(ends), "-".join(ends))
        names.append(_free(name, taken_names))
    return names


def _format_links(
    topology: ImportedTopology,
    by_key: dict[str, str],
    link_names: list[str],
    default_capacity: float | None,
) -> list[str]:
    node_names = set(by_key.values())
    lines = []
    for link, name in zip(topology.links, link_names, strict=True):
        ends = by_key[link.source], by_key[link.target]
        link_keys: dict[str, Any] = {}
        if name != "-".join(ends) or _count_name_splits(name, node_names) != 1:
            link_keys["between"] = list(ends)
        lines.append(
            f"  {format_one_line(name)}: "
            f"{format_one_line(link_keys | _collect_link_keys(link, default_capacity))}"
        )
    return lines


def _format_elements(elements: dict[str, dict[str, Any]]) -> list[str]:
    return [
        f"  {format_one_line(name)}: {format_one_line(keys)}" for name, keys in elements.items()
    ]


def _format_paths(
    topology: ImportedTopology, by_key: dict[str, str], link_names: list[str]
) -> list[str]:
    """Format the paths, the backups that heads switch to, and bypasses."""
    lines: list[str] = ["paths:"] if topology.paths else []
    for path in topology.paths:
        nodes = [by_key[each] for each in path.route]
        segments = [
            by_key[each] if isinstance(each, str) else link_names[each] for each in path.segments
        ]
        route: dict[str, Any] = {"route": nodes}
        if segments:
            route = {"from": nodes[0], "segments": segments}
        elif path.colours:
            route = {"route": "auto", "from": nodes[0], "to": nodes[-1]} | path.colours
        lines.append(f"  {format_one_line(path.name)}: {format_one_line(route | path.keys)}")
    protections: list[tuple[str, dict[str, Any]]] = [
        (name, {"path": path.name, "kind": "backup", "backup": backup})
        for path in topology.paths
        for name, backup in path.backups
    ]
    for each in topology.bypasses:
        links = [link_names[index] for index in each.links]
        keys = {"path": list(each.paths), "kind": "facility-bypass", "backup": each.backup}
        protections.append((each.protection, keys | {"link": links}))
    lines += ["protections:"] if protections else []
    taken: set[str] = set()
    for name, protection in protections:
        lines.append(f"  {format_one_line(_free(name, taken))}: {format_one_line(protection)}")
    lines += ["signalling: {kind: rsvp-te}"] if topology.is_signalled else []
    routing: dict[str, Any] = {"ldp": {}} if topology.has_ldp else {}
    routing |= {} if topology.runs_igp else {"igp": "off"}
    lines += [f"routing: {format_one_line(routing)}"] if routing else []
    lines += ["rerouting: {}"] if has_backup_routes(topology) else []
    return [*lines, ""] if lines else []


def _free(plain: str, taken: set[str]) -> str:
    """A name that is not taken yet, which it is then."""
    name, number = plain, 1
    while name in taken:
        number += 1
        name = f"{plain}.{number}"
    taken.add(name)
    return name


def _count_name_splits(name: str, node_names: set[str]) -> int:
    hyphen_positions = (position for position, character in enumerate(name) if character == "-")
    return sum(
        name[:position] in node_names and name[position + 1 :] in node_names
        for position in hyphen_positions
    )


def _collect_link_keys(link: ImportedLink, default_capacity: float | None) -> dict[str, Any]:
    back = replace(
        link,
        capacity=link.capacity if link.capacity_back is None else link.capacity_back,
        delay=link.delay if link.delay_back is None else link.delay_back,
        metric=link.metric if link.metric_back is None else link.metric_back,
        loss=link.loss if link.loss_back is None else link.loss_back,
        **{key: getattr(link, f"{key}_back") for key in _NAMED_KEYS},
    )
    there_keys = _collect_direction_keys(link)
    back_keys = _collect_direction_keys(back)
    backward_keys = {key: value for key, value in back_keys.items() if value != there_keys[key]}
    # A direction has no key that takes a port away: so a key of one alone is written there.
    forward_keys = {
        key: there_keys.pop(key) for key in _NAMED_KEYS if there_keys[key] and not back_keys[key]
    }
    backward_keys = {key: value for key, value in backward_keys.items() if value != ""}
    absent = {
        "rate": format_rate(round(default_capacity or 0)),
        "delay": "0 s",
        "metric": 1,
        "loss": "0 %",
        **dict.fromkeys(_NAMED_KEYS, ""),
    }
    link_keys = {key: value for key, value in there_keys.items() if value != absent[key]}
    te_keys: dict[str, Any] = {"colours": list(link.colours), "risks": list(link.risks)}
    te_keys = {key: value for key, value in te_keys.items() if value}
    te_keys |= {"reservable": format_ratio(link.reservable)} if link.reservable != 1 else {}
    return (
        link_keys
        | ({"te": te_keys} if te_keys else {})
        | ({"forward": forward_keys} if forward_keys else {})
        | ({"backward": backward_keys} if backward_keys else {})
    )


def _collect_direction_keys(link: ImportedLink) -> dict[str, Any]:
    return {
        "rate": format_rate(round(link.capacity or 0)),
        "delay": format_time(link.delay or 0),
        "metric": 1 if link.metric is None else int(link.metric),
        "loss": format_ratio(link.loss),
        **{key: getattr(link, key) for key in _NAMED_KEYS},
    }


def _get_class_name(demand: ImportedDemand) -> str:
    """Name of the template of a demand: that of its class, as the language can hold it."""
    return re.sub(r"[^\w.+-]+", "_", demand.class_name).strip("_.+-")[:29] or DEFAULT_CLASS


def _format_classes(topology: ImportedTopology) -> list[str]:
    lines = []
    for name in dict.fromkeys(_get_class_name(each) for each in topology.demands):
        dscp = {"dscp": name} if name in DSCP_NAMES else {}
        lines.append(f"  {format_one_line(name)}: {format_one_line(TRAFFIC_CLASS_KEYS | dscp)}")
    return lines


def _format_demands(topology: ImportedTopology, by_key: dict[str, str]) -> list[str]:
    lines = []
    taken: set[str] = set()
    for demand in topology.demands:
        ends = by_key[demand.source], by_key[demand.target]
        rate = format_rate(round(demand.value))
        demand_keys = {"from": ends[0], "to": ends[1], "rate": rate}
        demand_keys["class"] = _get_class_name(demand)
        lines.append(
            f"  {format_one_line(_free('-'.join(ends), taken))}: {format_one_line(demand_keys)}"
        )
    return lines


def _format_matrix(topology: ImportedTopology, by_key: dict[str, str]) -> str:
    classes = [_get_class_name(demand) for demand in topology.demands]
    has_classes = len(set(classes)) > 1
    rows = ["from,to,rate,class" if has_classes else "from,to,rate"]
    for demand, class_name in zip(topology.demands, classes, strict=True):
        ends = by_key[demand.source], by_key[demand.target]
        row = f"{ends[0]},{ends[1]},{format_rate(round(demand.value))}"
        rows.append(f"{row},{class_name}" if has_classes else row)
    return "\n".join(rows) + "\n"

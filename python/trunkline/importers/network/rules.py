"""The rules that fill what a file leaves open: names, capacities, delays, which demands count."""

import math
import re
import unicodedata
from dataclasses import dataclass

from trunkline.importers.common.fault import ImportFault, Note
from trunkline.importers.network.fields import delay, rate
from trunkline.importers.network.topology import Demand, Link, Topology

EARTH_KM = 6371.0088
"""Mean radius of the Earth (IUGG) [km]."""
FIBRE_KM_S = 299_792.458 * 2 / 3
"""Speed of light in glass: two thirds of that in vacuum [km/s]."""
LONGEST = 29
"""Characters of a node's name: with it the name of a second link between two has 64 at most."""
MODULE = "module"


@dataclass(frozen=True)
class Rules:
    """How gaps are filled.

    Parameters
    ----------
    capacity : int or "module", optional
        Of links without one: a rate [bit/s], or the smallest module that the file offers.
    unit : int, optional
        Bits per second in one unit of the demands; the file's own when left out.
    delay : int, optional
        Of links with neither delay, length nor two known ends' coordinates [ns].
    both_ways : bool
        Each demand is offered in both directions.
    internal : bool
        Leave out nodes that belong to other networks.
    largest_part : bool
        Keep the largest connected part only.
    """

    capacity: int | str | None = None
    unit: int | None = None
    delay: int | None = None
    both_ways: bool = False
    internal: bool = False
    largest_part: bool = False


def apply(found: Topology, rules: Rules) -> None:
    """Fill the gaps of a topology, and note what was done.

    Parameters
    ----------
    found : Topology
        Changed in place: afterwards each link has a capacity, and each demand two nodes in one
        connected part.

    Raises
    ------
    ImportFault
        A gap that no rule fills, islands, or a negative demand.
    """
    if not found.nodes:
        raise ImportFault(0, 1, "there are no nodes")
    outside = [key for key, node in found.nodes.items() if node.external]
    if outside and rules.internal:
        _keep(found, [key for key in found.nodes if key not in set(outside)])
        found.notes.append(Note(0, f"{len(outside)} external nodes", "--internal"))
    elif outside:
        why = "they belong to other networks; --internal leaves them out"
        found.notes.append(Note(0, f"{len(outside)} external nodes kept", why))
    loops = [link for link in found.links if link.source == link.target]
    found.links = [link for link in found.links if link.source != link.target]
    found.notes += [
        Note(link.line, f"a link of {found.nodes[link.source].label} to itself", "it leads nowhere")
        for link in loops
    ]
    _connected(found, rules)
    _capacities(found, rules)
    _delays(found, rules)
    found.demands = _demands(found, rules)


def _keep(found: Topology, keys: list[str]) -> None:
    kept = set(keys)
    found.nodes = {key: node for key, node in found.nodes.items() if key in kept}
    found.links = [link for link in found.links if {link.source, link.target} <= kept]
    found.demands = [each for each in found.demands if {each.source, each.target} <= kept]


def _connected(found: Topology, rules: Rules) -> None:
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(found.nodes)
    graph.add_edges_from((link.source, link.target) for link in found.links)
    if not found.links:
        raise ImportFault(0, 1, "no link joins two nodes: there is nothing to send packets over")
    parts = sorted(nx.connected_components(graph), key=lambda part: (-len(part), min(part)))
    if len(parts) == 1:
        return
    away = sorted(found.nodes[key].label for part in parts[1:] for key in part)
    shown = ", ".join(away[:6]) + (", ..." if len(away) > 6 else "")
    if not rules.largest_part:
        why = f"the network has {len(parts)} parts that no link joins; outside the largest: {shown}"
        raise ImportFault(0, 1, f"{why}; --largest-part leaves these out")
    _keep(found, [key for key in found.nodes if key in parts[0]])
    found.notes.append(Note(0, f"{len(away)} nodes outside the largest part", shown))


def _ends(found: Topology, its: Link | Demand) -> str:
    """Labels of the ends of a link or a demand, for messages."""
    return f"from {found.nodes[its.source].label} to {found.nodes[its.target].label}"


def _capacities(found: Topology, rules: Rules) -> None:
    open_ = [link for link in found.links if link.capacity is None and link.back is None]
    for link in found.links:
        if link.capacity is None:
            link.capacity, link.back = link.back, None
    if not open_:
        if rules.capacity is not None:
            found.notes.append(Note(0, "--capacity", "the file gives every link its own"))
        return
    if rules.capacity == MODULE:
        for link in open_:
            link.capacity = link.module
    elif rules.capacity is not None:
        for link in open_:
            link.capacity = int(rules.capacity)
    still = [link for link in open_ if link.capacity is None]
    if still:
        offers = any(link.module for link in still)
        hint = " or --capacity module, the smallest that the file offers" if offers else ""
        raise ImportFault(
            still[0].line,
            1,
            f"{len(still)} of {len(found.links)} links have no capacity, the first "
            f"{_ends(found, still[0])}: give a rule such as --capacity '10 Gbit/s'{hint}",
        )
    said = "the smallest module" if rules.capacity == MODULE else "--capacity"
    found.notes.append(Note(0, f"capacity of {len(open_)} links", f"by rule: {said}"))


def distance(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Great-circle distance of two places (haversine) [km].

    Parameters
    ----------
    a, b : (float, float)
        Longitude and latitude [degrees].
    """
    (x1, y1), (x2, y2) = (tuple(map(math.radians, each)) for each in (a, b))
    half = math.sin((y2 - y1) / 2) ** 2
    half += math.cos(y1) * math.cos(y2) * math.sin((x2 - x1) / 2) ** 2
    return 2 * EARTH_KM * math.asin(min(1.0, math.sqrt(half)))


def _delays(found: Topology, rules: Rules) -> None:
    from_length, ruled, unknown = 0, 0, 0
    for link in found.links:
        if link.delay is not None:
            continue
        length = link.length
        ends = found.nodes[link.source].place, found.nodes[link.target].place
        if length is None and found.geographic and ends[0] is not None and ends[1] is not None:
            length = distance(ends[0], ends[1])
        if length is not None:
            # Whole microseconds, which are 200 m of glass.
            us = length / FIBRE_KM_S * 1e6
            what = f"the delay of the link {_ends(found, link)}, by its length,"
            delay(us * 1000, what, link.line)
            link.delay = round(us) * 1000
            from_length += 1
        elif rules.delay is not None:
            link.delay = rules.delay
            ruled += 1
        else:
            unknown += 1
    if from_length:
        why = "length of the link, or great circle between its ends, at two thirds of light speed"
        found.notes.append(Note(0, f"delay of {from_length} links", why))
    if ruled:
        found.notes.append(Note(0, f"delay of {ruled} links", "by rule: --delay"))
    if unknown:
        why = "no coordinates: 0 s; --delay gives one"
        found.notes.append(Note(0, f"delay of {unknown} links", why))


def _demands(found: Topology, rules: Rules) -> list[Demand]:
    unit = rules.unit or found.unit
    if found.demands and unit is None:
        why = "the file does not say in which unit its demands are: give --unit Mbit/s"
        raise ImportFault(found.demands[0].line, 1, why)
    if found.demands and rules.unit is not None and found.unit not in (None, rules.unit):
        found.notes.append(Note(0, "--unit", "replaces the unit that the file names"))
    sums: dict[tuple[str, str], float] = {}
    loops = zeros = twice = 0
    for each in found.demands:
        ends = each.source, each.target
        offered = rate(each.value, unit or 1, f"the demand {_ends(found, each)}", each.line)
        if each.source == each.target:
            loops += 1
        elif offered is None:
            zeros += 1
        else:
            for pair in (ends, ends[::-1])[: 2 if rules.both_ways else 1]:
                twice += pair in sums and not rules.both_ways
                sums[pair] = sums.get(pair, 0.0) + each.value
                what = f"the sum of the demands {_ends(found, Demand(*pair, 0))}"
                rate(sums[pair], unit or 1, what, each.line)
    for count, what, why in (
        (loops, "demands of a node to itself", "they cross no link"),
        (zeros, "demands of zero", "there is nothing to send"),
        (twice, "demands between the same nodes", "their sum is one demand"),
    ):
        if count:
            found.notes.append(Note(0, f"{count} {what}", why))
    return [Demand(*pair, round(value * (unit or 1))) for pair, value in sums.items()]


def names(found: Topology) -> dict[str, str]:
    """A name of the language for each node, by its key.

    Characters that a name cannot hold become ``_``; what occurs twice gets a number. Both are
    noted.
    """
    taken: set[str] = set()
    result: dict[str, str] = {}
    changed: list[str] = []
    for key, node in found.nodes.items():
        label = unicodedata.normalize("NFC", node.label.strip())
        plain = re.sub(r"[^\w.+-]+", "_", label).strip("_.+-")[:LONGEST] or f"node{key}"
        name, number = plain, 1
        # Names that look alike are one name to the language.
        while unicodedata.normalize("NFKC", name) in taken:
            number += 1
            behind = f"_{number}"
            name = f"{plain[: LONGEST - len(behind)]}{behind}"
        taken.add(unicodedata.normalize("NFKC", name))
        result[key] = name
        if name != node.label:
            changed.append(f"{node.label or key} is {name}")
    if changed:
        shown = "; ".join(changed[:5]) + ("; ..." if len(changed) > 5 else "")
        found.notes.append(Note(0, f"{len(changed)} nodes renamed", shown))
    return result

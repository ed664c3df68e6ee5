"""Rules that fill the gaps of a file: names, capacities, delays, the demands that count."""

import math
from dataclasses import dataclass
from fractions import Fraction

from trunkline.importers.common.element_names import make_element_name
from trunkline.importers.common.fault import ImportFault
from trunkline.importers.network.fields import MAX_METRIC, convert_rate, delay
from trunkline.importers.network.topology import ImportedDemand, ImportedLink, ImportedTopology

EARTH_KM = 6371.0088  # Mean radius of the Earth (IUGG) [km].
FIBRE_KM_S = 299_792.458 * 2 / 3  # Speed of light in glass: two thirds of that in vacuum [km/s].
MAX_NAME_LENGTH = 29
"""Characters of a node's name: with it the name of a second link between two has 64 at most."""
MAX_METRIC_FACTOR = 10**6  # Factor of metrics with fractions.
MODULE_CAPACITY = "module"
_CAPACITY_KEYS = (("capacity", "capacity"), ("capacity_back", "capacity"), ("module", "module"))


@dataclass(frozen=True)
class ImportRules:
    """Rules that fill gaps of a file."""

    # Of links without one: a rate [bit/s], or the smallest module that the file offers.
    capacity: int | str | None = None
    # Bits per second in one unit of demands and capacities whose file does not name their unit.
    unit: int | None = None
    # Of links with neither delay, length nor two known ends' coordinates [ns].
    delay: int | None = None
    both_ways: bool = False  # Each demand is offered in both directions.
    internal: bool = False  # Leave out nodes that belong to other networks.
    largest_part: bool = False  # Keep the largest connected part only.


def apply_rules(topology: ImportedTopology, rules: ImportRules) -> None:
    """Fill the gaps of a topology, and note the assumptions.

    topology: Changed in place: afterwards each link has a capacity, and each demand two nodes in
        one connected part.
    Raises ImportFault: A gap that no rule fills, islands, or a negative demand.
    """
    if not topology.nodes:
        raise ImportFault(0, 1, "there are no nodes")
    external_keys = [key for key, node in topology.nodes.items() if node.external]
    if external_keys and rules.internal:
        _keep_nodes(topology, [key for key in topology.nodes if key not in set(external_keys)])
        topology.account.add_left_out(
            "nodes of other networks", "--internal", count=len(external_keys)
        )
    elif external_keys:
        why = "kept; --internal leaves them out"
        topology.account.add_assumption("nodes of other networks", why, count=len(external_keys))
    self_loops = [link for link in topology.links if link.source == link.target]
    topology.links = [link for link in topology.links if link.source != link.target]
    for link in self_loops:
        topology.account.add_left_out(
            "links of a node to itself", "they lead nowhere", line=link.line
        )
    _check_connected(topology, rules)
    _convert_capacities(topology, rules)
    _fill_capacities(topology, rules)
    _fill_delays(topology, rules)
    _scale_fractional_metrics(topology)
    topology.demands = _merge_demands(topology, rules)


def _keep_nodes(topology: ImportedTopology, keys: list[str]) -> None:
    kept_keys = set(keys)
    topology.nodes = {key: node for key, node in topology.nodes.items() if key in kept_keys}
    topology.links = [link for link in topology.links if {link.source, link.target} <= kept_keys]
    topology.demands = [
        each for each in topology.demands if {each.source, each.target} <= kept_keys
    ]


def _check_connected(topology: ImportedTopology, rules: ImportRules) -> None:
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(topology.nodes)
    graph.add_edges_from((link.source, link.target) for link in topology.links)
    if not topology.links:
        raise ImportFault(0, 1, "no link joins two nodes: there is nothing to send packets over")
    components = sorted(nx.connected_components(graph), key=lambda part: (-len(part), min(part)))
    if len(components) == 1:
        return
    labels_outside = sorted(topology.nodes[key].label for part in components[1:] for key in part)
    shown = ", ".join(labels_outside[:6]) + (", ..." if len(labels_outside) > 6 else "")
    if not rules.largest_part:
        why = (
            f"the network has {len(components)} parts that no link joins; outside the "
            f"largest: {shown}"
        )
        raise ImportFault(0, 1, f"{why}; --largest-part leaves these out")
    _keep_nodes(topology, [key for key in topology.nodes if key in components[0]])
    topology.account.add_left_out(
        "nodes outside the largest part", f"--largest-part: {shown}", count=len(labels_outside)
    )


def _format_ends(found: ImportedTopology, element: ImportedLink | ImportedDemand) -> str:
    """Format the labels of the ends of a link or a demand, for messages."""
    return f"from {found.nodes[element.source].label} to {found.nodes[element.target].label}"


def _convert_capacities(topology: ImportedTopology, rules: ImportRules) -> None:
    """Put all capacities in bit/s; 0 means unknown."""
    by_rule = 0
    for link in topology.links:
        is_given = link.capacity or link.capacity_back
        is_asked = rules.capacity == MODULE_CAPACITY and link.module
        if link.unit is None and rules.unit is None and (is_given or is_asked):
            why = "the file does not say in which unit its capacities are: give --unit Mbit/s"
            if rules.capacity is None or is_asked:
                raise ImportFault(link.line, 1, why)
            topology.account.add_left_out("capacities without a unit", why, line=link.line)
            link.capacity = link.capacity_back = None
        by_rule += link.unit is None and bool(link.capacity or link.capacity_back or is_asked)
        unit = link.unit or rules.unit or 1
        ends = _format_ends(topology, link)
        for key, name in _CAPACITY_KEYS:
            value = getattr(link, key)
            if value is not None:
                converted = convert_rate(value, unit, f"the {name} of the link {ends}", link.line)
                setattr(link, key, converted)
        link.unit = 1
    topology.account.add_assumption("unit of capacities", "--unit", count=by_rule)


def _fill_capacities(topology: ImportedTopology, rules: ImportRules) -> None:
    without_capacity = [
        link for link in topology.links if link.capacity is None and link.capacity_back is None
    ]
    for link in topology.links:
        if link.capacity is None:
            link.capacity, link.capacity_back = link.capacity_back, None
    if not without_capacity:
        if rules.capacity is not None:
            topology.account.add_assumption("--capacity", "not used: every link has its own")
        return
    if rules.capacity == MODULE_CAPACITY:
        for link in without_capacity:
            link.capacity = link.module
    elif rules.capacity is not None:
        for link in without_capacity:
            link.capacity = int(rules.capacity)
    unresolved = [link for link in without_capacity if link.capacity is None]
    if unresolved:
        has_module = any(link.module for link in unresolved)
        hint = " or --capacity module, the smallest that the file offers" if has_module else ""
        raise ImportFault(
            unresolved[0].line,
            1,
            f"{len(unresolved)} of {len(topology.links)} links have no capacity, the first "
            f"{_format_ends(topology, unresolved[0])}: give a rule such as "
            f"--capacity '10 Gbit/s'{hint}",
        )
    rule = "the smallest module" if rules.capacity == MODULE_CAPACITY else "--capacity"
    topology.account.add_assumption("capacity of links", rule, count=len(without_capacity))


def compute_distance_km(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Great-circle distance of two places (haversine) [km].

    a, b: Longitude and latitude [degrees].
    """
    (x1, y1), (x2, y2) = (tuple(map(math.radians, each)) for each in (a, b))
    half = math.sin((y2 - y1) / 2) ** 2
    half += math.cos(y1) * math.cos(y2) * math.sin((x2 - x1) / 2) ** 2
    return 2 * EARTH_KM * math.asin(min(1.0, math.sqrt(half)))


def _fill_delays(topology: ImportedTopology, rules: ImportRules) -> None:
    from_length, from_rule, unknown = 0, 0, 0
    for link in topology.links:
        if link.delay is not None:
            continue
        length = link.length
        ends = topology.nodes[link.source].place, topology.nodes[link.target].place
        if length is None and topology.geographic and ends[0] is not None and ends[1] is not None:
            length = compute_distance_km(ends[0], ends[1])
        if length is not None:
            # Whole microseconds, which are 200 m of glass.
            us = length / FIBRE_KM_S * 1e6
            what = f"the delay of the link {_format_ends(topology, link)}, by its length,"
            delay(us * 1000, what, link.line)
            link.delay = round(us) * 1000
            from_length += 1
        elif rules.delay is not None:
            link.delay = rules.delay
            from_rule += 1
        else:
            unknown += 1
    for count, rule in (
        (
            from_length,
            "length of the link, or great circle between its ends, at two thirds of light speed",
        ),
        (from_rule, "--delay"),
        (unknown, "0 s, for there are no coordinates; --delay gives one"),
    ):
        topology.account.add_assumption("delay of links", rule, count=count)


def _scale_fractional_metrics(topology: ImportedTopology) -> None:
    """Multiply all metrics by one power of ten where some have fractions: shortest paths stay."""
    links = topology.links
    given = [each for link in links for each in (link.metric, link.metric_back) if each is not None]
    if not given:
        return
    without_metric = sum(link.metric is None for link in links)
    topology.account.add_assumption(
        "metric of links", "1, as the file gives them none", count=without_metric
    )
    if all(each == int(each) for each in given):
        return
    largest = max(*given, 1.0)
    factor, is_exact = 1, False
    while not is_exact and factor < MAX_METRIC_FACTOR and largest * factor * 10 <= MAX_METRIC:
        factor *= 10
        is_exact = all(Fraction(str(each)) * factor % 1 == 0 for each in given)
    for link in links:
        # A link without a metric has 1.
        link.metric = max(1, round((1 if link.metric is None else link.metric) * factor))
        if link.metric_back is not None:
            link.metric_back = max(1, round(link.metric_back * factor))
    rule = f"times {factor}, for some have fractions" + ("" if is_exact else "; rounded")
    topology.account.add_assumption("metrics", rule, count=len(given))


def _merge_demands(topology: ImportedTopology, rules: ImportRules) -> list[ImportedDemand]:
    sums: dict[tuple[str, str, str], float] = {}
    loops = zeros = duplicates = by_rule = 0
    for each in topology.demands:
        if each.unit is None and rules.unit is None:
            why = "the file does not say in which unit its demands are: give --unit Mbit/s"
            raise ImportFault(each.line, 1, why)
        unit = each.unit or rules.unit or 1
        by_rule += each.unit is None
        description = f"the demand {_format_ends(topology, each)}"
        offered = convert_rate(each.value, unit, description, each.line)
        if each.source == each.target:
            loops += 1
        elif offered is None:
            zeros += 1
        else:
            ends = each.source, each.target
            for pair in (ends, ends[::-1])[: 2 if rules.both_ways else 1]:
                key = (*pair, each.class_name)
                duplicates += key in sums and not rules.both_ways
                sums[key] = sums.get(key, 0.0) + each.value * unit
                convert_rate(
                    sums[key], 1, f"the sum of what is offered as {description}", each.line
                )
    account = topology.account
    account.add_left_out("demands of a node to itself", "they cross no link", count=loops)
    account.add_left_out("demands of zero", "there is nothing to send", count=zeros)
    account.add_assumption("unit of demands", "--unit", count=by_rule)
    account.add_assumption(
        "demands between the same nodes", "their sum is one demand", count=duplicates
    )
    return [
        ImportedDemand(source, target, round(value), 1, class_name)
        for (source, target, class_name), value in sums.items()
    ]


def make_node_names(topology: ImportedTopology) -> dict[str, str]:
    """Make a name of the language for each node, by its key.

    Names that are not the labels are noted; see `make_element_name`.
    """
    taken_names: set[str] = set()
    result: dict[str, str] = {}
    changed: list[str] = []
    for key, node in topology.nodes.items():
        result[key] = name = make_element_name(
            node.label, taken_names, nameless=f"node{key}", max_characters=MAX_NAME_LENGTH
        )
        if name != node.label:
            changed.append(f"{node.label or key} is {name}")
    if changed:
        shown = "; ".join(changed[:5]) + ("; ..." if len(changed) > 5 else "")
        topology.account.add_assumption("names of nodes", shown, count=len(changed))
    return result

"""Static routes in every engine: RFC 1812 by hand, and random networks by networkx."""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from importlib.resources import files
from itertools import pairwise

import networkx as nx
import pytest
import yaml

import trunkline as tl
from trunkline import _core
from trunkline.linux.plan.compiled_plan import compile_plan
from trunkline.network import compile
from trunkline.planning.failure_screening import survive
from trunkline.planning.loads import compute_igp_loads
from trunkline.results.results import Results
from trunkline.scenario.resolved.placement import build_topology
from trunkline.scenario.resolved.static_routes import StartRoutes

MS = 1_000_000
# Two links from A to D by B, two by C; the metric is lower by B. A packet each millisecond.
SQUARE = """\
trunkline: 1
nodes:
  A: {routes: [ROUTES]}
  B:
  C:
  D:
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-D: {}, A-C: {metric: 5}, C-D: {}}
flows: {f: {agent: udp, from: A, to: D, rate: 4 Mbit/s, size: 500 B}}
run: {duration: 1 s}
"""
CUT = """\
failures: {cut: {link: A-C, at: 300.5 ms, repair: 600.5 ms}}
rerouting: {detection: {kind: fixed, delay: 20 ms}, spf_delay: 50 ms}
"""


def square(routes: str, more: str = "") -> tl.Scenario:
    return tl.loads(SQUARE.replace("ROUTES", routes) + more)


def list_routes(scenario: tl.Scenario) -> dict[tuple[str, str], list[str]]:
    """Links of each node by destination, those of the engine."""
    network = json.loads(compile(scenario).to_json())
    nodes, links = network["nodes"], network["links"]
    found: dict[tuple[str, str], list[str]] = {}
    for node, end, link in _core.routes(json.dumps(network)):
        key = (nodes[node]["name"], nodes[end]["name"])
        found[key] = found.get(key, []) + ([links[link]["name"]] if link >= 0 else [])
    return found


def first_hop(routes: str, more: str = "") -> str:
    (link,) = list_routes(square(routes, more))["A", "D"]
    return link


def test_rfc1812_s7_4_the_route_with_the_lowest_administrative_distance_is_used() -> None:
    assert first_hop("") == "A->B"
    assert first_hop("{to: D, via: C}") == "A->C"
    assert first_hop("{to: D, via: C, distance: 109}") == "A->C"
    assert first_hop("{to: D, via: C, distance: 111}", CUT) == "A->B"
    assert first_hop("{to: D, via: C, distance: 9}, {to: D, via: B, distance: 10}", CUT) == "A->C"
    assert first_hop("{to: D, via: C, distance: 10}, {to: D, via: B, distance: 9}", CUT) == "A->B"


def test_rfc1812_s5_2_4_3_a_longer_prefix_goes_before_a_lower_distance() -> None:
    # The default route has the better distance, and is used for no node that has another route.
    assert first_hop("{to: all, via: C}", CUT) == "A->B"
    without_igp = "routing: {igp: off}\n"
    both = "{to: all, via: C}, {to: D, via: B, distance: 200}"
    assert first_hop(both, without_igp + CUT) == "A->B"
    only = square("{to: all, via: C}", without_igp)
    assert list_routes(only)["A", "D"] == ["A->C"]


def test_without_an_igp_a_router_knows_its_neighbours_alone() -> None:
    text = SQUARE.replace("ROUTES", "{to: D, via: C}") + "routing: {igp: off}\n"
    routes = list_routes(tl.loads(text))
    assert routes == {
        ("A", "D"): ["A->C"], ("B", "A"): ["B->A"], ("B", "D"): ["B->D"],
        ("C", "A"): ["C->A"], ("C", "D"): ["C->D"], ("D", "A"): [],
    }  # fmt: skip


def test_without_an_igp_a_router_takes_the_links_of_least_metric_to_its_neighbour() -> None:
    """Of A-C with metric 5, one of 4, another of 4 and one of 6: the engine takes the first."""
    spare = "".join(
        f"{name}: {{between: [A, C], metric: {metric}}}, "
        for name, metric in (("first", 4), ("second", 4), ("third", 6))
    )
    text = SQUARE.replace("ROUTES", "").replace("links: {", f"links: {{{spare}")
    text = text.replace("to: D, rate", "to: C, rate")
    scenario = tl.loads(text + "routing: {igp: off}\n")
    found = StartRoutes(scenario.resolve()).find_arcs("C")
    assert found["A"] == ["first:A->C", "second:A->C"]
    assert list_routes(scenario)["A", "C"] == found["A"][:1]


def test_nodes_that_no_links_join_to_an_end_have_no_route_to_it() -> None:
    text = SQUARE.replace("ROUTES", "").replace("  D:\n", "  D:\n  X:\n  Y:\n")
    scenario = tl.loads(text.replace("links: {", "links: {X-Y: {}, "))
    assert StartRoutes(scenario.resolve()).find_arcs("D").keys() == set("ABC")
    assert StartRoutes(scenario.resolve()).find_arcs("Y") == {"X": ["X->Y"]}


def test_a_link_is_a_next_hop_by_its_own_name() -> None:
    text = SQUARE.replace("links: {", "links: {spare: {between: [A, C]}, ")
    routes = list_routes(tl.loads(text.replace("ROUTES", "{to: D, via: spare}")))
    assert routes["A", "D"] == ["spare:A->C"]


def test_rfc2992_static_routes_of_one_distance_share_packets_with_ecmp() -> None:
    two = "{to: D, via: B}, {to: D, via: C}"
    scenario = square(two, "routing: {ecmp: flow}\n")
    assert list_routes(scenario)["A", "D"] == ["A->B", "A->C"]
    start = StartRoutes(scenario.resolve())
    assert start.find_arcs("D")["A"] == ["A->B", "A->C"]
    assert len(start.find_used("D")) == 2


def count_sent(results: Results) -> list[dict[str, object]]:
    return [row for row in results.ports.rows() if row["link"] in ("A->B", "A->C")]


def test_a_floating_route_takes_over_when_its_router_notices_and_gives_back() -> None:
    """The link is down from 300.5 to 600.5 ms, noticed 20 ms later; its repair at once.

    A packet that began its way over the link when it broke is lost too: it takes 1.4 ms. So those
    sent at 300 to 320 ms are lost, 21; the IGP's route, found 50 ms later, changes nothing.
    """
    scenario = square("{to: D, via: C}, {to: D, via: B, distance: 200}", CUT)
    results = tl.run(scenario)
    assert sum(int(row["packets"]) for row in results.drops.rows()) == 21
    assert {row["cause"] for row in results.drops.rows()} == {"link_down", "failed_in_flight"}
    rerouted = [
        (row["time_ns"] / MS, row["node"])
        for row in results.timeline.rows()
        if row["event"] == "rerouted" and row["node"] == "A"
    ]
    assert rerouted == [(320.5, "A"), (600.5, "A")]


def test_what_the_igp_finds_does_not_replace_a_static_route() -> None:
    """B-D fails: the IGP's way leads by C, the static route stays at B, where packets end."""
    cut = CUT.replace("A-C", "B-D")
    slow = SQUARE.replace("4 Mbit/s", "200 kbit/s")
    results = tl.run(tl.loads(slow.replace("ROUTES", "{to: D, via: B}") + cut))
    causes = Counter({row["cause"]: int(row["packets"]) for row in results.drops.rows()})
    # From 370.5 to 650.5 ms B sends them back to A, which sends them to B, 14 of them. A packet
    # ends after 63 hops of 1.4 ms and some waits; the repair lets out those of the last 89 ms.
    assert 8 <= causes["ttl_expired"] <= 10
    without = tl.run(tl.loads(slow.replace("ROUTES", "") + cut))
    assert {row["cause"] for row in without.drops.rows()} == {"link_down"}


def test_rfc2328_ospf_routes_do_not_replace_static_ones_and_come_back_below_them() -> None:
    ospf = """\
failures: {cut: {link: A-C, at: 300.5 ms, repair: 600.5 ms}}
routing: {ospf: {hello: 0 s, lsa_interval: 0 s, detection: {kind: fixed, delay: 20 ms}}}
"""
    results = tl.run(square("{to: D, via: C}", ospf))
    rerouted = [
        row["time_ns"] / MS
        for row in results.timeline.rows()
        if row["event"] == "rerouted" and row["node"] == "A"
    ]
    # The static route goes at once; OSPF's, by B, was there all the time.
    assert rerouted[0] == 320.5
    lost = [row for row in results.drops.rows() if row["flow"] == "f"]
    assert sum(int(row["packets"]) for row in lost) == 21


@pytest.mark.parametrize("seed", range(30))
def test_random_networks_by_networkx(seed: int) -> None:
    """Next hops of shortest paths by networkx, then the two rules of RFC 1812."""
    draw = random.Random(seed)
    names = [f"N{index}" for index in range(6)]
    pairs = {(names[i], names[draw.randrange(i)]) for i in range(1, 6)}
    pairs |= {tuple(sorted(draw.sample(names, 2), reverse=True)) for _ in range(4)}
    graph = nx.Graph()
    graph.add_nodes_from(names)
    links = []
    for a, b in sorted(pairs):
        metric = draw.randrange(1, 4)
        graph.add_edge(a, b, metric=metric)
        links.append(f"  {a}-{b}: {{rate: 1 Mbit/s, metric: {metric}}}")
    routes: dict[str, list[tuple[str | None, str, int]]] = {name: [] for name in names}
    for name in draw.sample(names, 3):
        for target in draw.sample([None, *(each for each in names if each != name)], 2):
            distance = draw.choice([1, 50, 109, 111, 200])
            routes[name].append((target, draw.choice(sorted(graph[name])), distance))
    written = {
        name: ", ".join(f"{{to: {to or 'all'}, via: {via}, distance: {d}}}" for to, via, d in own)
        for name, own in routes.items()
    }
    text = "\n".join(
        ["trunkline: 1", "nodes:"]
        + [f"  {name}: {{routes: [{own}]}}" for name, own in written.items()]
        + ["links:", *links, "flows:"]
        + [
            f"  f{i}: {{agent: udp, from: {a}, to: {b}, rate: 1 kbit/s}}"
            for i, (a, b) in enumerate(zip(names, names[1:] + names[:1], strict=True))
        ]
        + ["rerouting: {}", "run: {duration: 1 s}"]
    )
    # Some draws have a loop: the check that refuses them is tested with its message.
    with contextlib.suppress(tl.ScenarioError):
        compare_with_networkx(tl.loads(text), graph, routes)


def compare_with_networkx(
    scenario: tl.Scenario, graph: nx.Graph, routes: dict[str, list[tuple[str | None, str, int]]]
) -> None:
    names = list(graph)
    for (node, end), found in list_routes(scenario).items():
        distance = nx.single_source_dijkstra_path_length(graph, end, weight="metric")
        hops = [
            hop for hop in sorted(graph[node], key=names.index)
            if graph[node][hop]["metric"] + distance[hop] == distance[node]
        ]  # fmt: skip
        specific = sorted((d, via) for to, via, d in routes[node] if to == end and d < 110)
        assert found == [f"{node}->{specific[0][1] if specific else hops[0]}"]
        resolved = scenario.resolve()
        assert StartRoutes(resolved).find_arcs(end)[node][:1] == found


def test_every_engine_and_te_send_a_demand_by_its_static_route() -> None:
    scenario = square("{to: D, via: C}")
    sent = {row["link"]: row["packets_sent"] for row in count_sent(tl.run(scenario))}
    assert sent["A->B"] == 0
    assert sent["A->C"] > 900
    fluid = tl.run(scenario, engine="fluid")
    load = {row["link"]: row["utilisation"] for row in count_sent(fluid)}
    assert load["A->B"] == 0
    assert load["A->C"] == pytest.approx(0.4, rel=0.01)
    plan = compile_plan(compile(scenario).to_json())
    # A is n0; A->C is the third link, its device l2a.
    routes = [each.line for each in plan.script.commands[0] if each.line.startswith("route")]
    assert routes
    assert all("dev l2a" in each for each in routes)


def test_te_places_demands_without_a_path_on_static_routes() -> None:
    text = SQUARE.replace("ROUTES", "{to: D, via: C}")
    text = text.replace("flows: {f: {agent: udp, from: A, to: D, rate: 4 Mbit/s, size: 500 B}}",
        "demands: {d: {from: A, to: D, rate: 3 Mbit/s}}")  # fmt: skip
    scenario = tl.loads(text)
    resolved = scenario.resolve()
    loads = compute_igp_loads(resolved, build_topology(resolved), ["d"])
    by_name = dict(zip(resolved.arc_by_name, loads.tolist(), strict=True))
    assert {name: load for name, load in by_name.items() if load} == {
        "A->C": 3e6, "C->D": 3e6,
    }  # fmt: skip
    with pytest.raises(tl.ScenarioError, match="without static routes"):
        survive(scenario)


def test_avallone2003_routers_have_static_routes_which_change_nothing_on_a_line() -> None:
    """The testbed routed by hand; the study's scenarios have the same line by shortest paths."""
    text = files("trunkline").joinpath("studies/avallone2003/best-effort.yaml").read_text("utf-8")
    line = ["source", "gaia", "zeus", "poseidon", "cronus", "sink"]
    document = yaml.safe_load(text)
    document["run"]["duration"], document["defaults"]["udp"]["stop"] = "2 s", "2 s"
    by_metric = tl.run(tl.loads(yaml.safe_dump(document, sort_keys=False)))
    for node, following in pairwise(line):
        keys = document["nodes"][node] or {}
        document["nodes"][node] = keys | {"routes": [{"to": "all", "via": following}]}
    document["routing"] = {"igp": False}
    by_hand = tl.run(tl.loads(yaml.safe_dump(document, sort_keys=False)))
    for table in ("flows", "ports"):
        rows = list(by_metric.tables[table].rows())
        assert rows
        assert list(by_hand.tables[table].rows()) == rows

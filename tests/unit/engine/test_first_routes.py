"""Routes that heads compute at their own time, with what is reserved then and all constraints.

Sources: RFC 2702 section 5.2 and RFC 3209 section 2 (the head computes when a path is asked for).
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import trunkline as tl
from trunkline import te
from trunkline.results import Results
from trunkline.scenario.resolved.placement import build_topology

BASE = """
trunkline: 1
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links:
  A-D: {te: {colours: red, risks: duct}}
  A-B: {te: {metric: 9}}
  B-D: {}
  A-C: {delay: 3 ms, te: {risks: duct}}
  C-D: {delay: 3 ms}
paths:
%s
trunks: {t: {path: z, flows: f}}
flows: {f: {agent: udp, from: A, to: D, rate: 100 kbit/s, size: 100 B, start: %s}}
signalling: {kind: rsvp-te, retry: 700 ms}
events: [%s]
te: {unplaced: igp}
run: {duration: 4 s}
"""
X = "  x: {from: A, to: D, route: auto, bandwidth: 8 Mbit/s}\n"
Z = "  z: {from: A, to: D, route: auto, bandwidth: 8 Mbit/s%s}\n"


def scenario(paths: str, events: str, start: str = "2500 ms") -> tl.Scenario:
    return tl.loads(BASE % (paths, start, events))


def carried(results: Results) -> set[str]:
    """Links that the flow's 187 packets took; those of messages are fewer."""
    rows = results.ports.rows()
    return {str(row["link"]) for row in rows if int(str(row["packets_offered"])) >= 180}


def times(results: Results, path: str, event: str) -> list[float]:
    rows = results.tables["signalling"].rows()
    return [row["time_s"] for row in rows if row["path"] == path and row["event"] == event]  # type: ignore[misc]


ONE_LINK = """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s}}
paths:
  x: {from: A, to: B, route: auto, bandwidth: 8 Mbit/s}
  z: {from: A, to: B, route: auto, bandwidth: 8 Mbit/s}
signalling: {kind: rsvp-te}
events: [{at: 1 s, tear: x}, {at: 2 s, set_up: z}]
run: {duration: 4 s}
"""


def test_a_path_that_the_start_has_no_room_for_is_set_up_when_there_is() -> None:
    made = tl.loads(ONE_LINK)
    assert made.warnings == []
    results = tl.run(made)
    # Path and Resv of one link of 10 Mbit/s, 148 and 128 B: 220.8 us.
    assert times(results, "x", "up") == [0.0002208]
    assert times(results, "z", "asked") == [2]
    assert times(results, "z", "up") == [2.0002208]


def test_what_is_asked_for_later_takes_no_room_of_what_is_there_from_the_start() -> None:
    """Larger, z would be placed before x; torn, x leaves the short way to z."""
    paths = X + Z.replace("8 M", "9 M") % ""
    results = tl.run(scenario(paths, "{at: 1 s, tear: x}, {at: 2 s, set_up: z}"))
    # A Path of one hop and a Resv: x took A-D.
    assert times(results, "x", "up")[0] == pytest.approx(0.0022208)
    assert carried(results) == {"A->D"}
    # Where x stays, z goes around it.
    results = tl.run(scenario(paths, "{at: 2 s, set_up: z}"))
    assert carried(results) == {"A->B", "B->D"}


def test_a_path_that_is_torn_first_is_there_from_the_start() -> None:
    """It is planned beside x, and takes the route of its own time when it is set up again."""
    paths = X + Z.replace("8 M", "7 M") % ""
    events = "{at: 500 ms, tear: z}, {at: 1 s, tear: x}, {at: 2 s, set_up: z}"
    results = tl.run(scenario(paths, events))
    first, again = times(results, "z", "up")
    assert first < 0.01
    assert again == pytest.approx(2.0022208)
    assert carried(results) == {"A->D"}


def test_a_path_without_room_in_the_plan_is_asked_for_again_each_retry() -> None:
    paths = X + X.replace("x:", "y:") + X.replace("x:", "w:") + Z % ""
    made = scenario(paths, "{at: 1 s, tear: y}")
    (warning,) = made.warnings
    assert warning.message.startswith(
        "path z is not placed: bandwidth: 8 Mbit/s is asked, at most 2"
    )
    assert warning.message.endswith("; its head asks again each 700 ms")
    results = tl.run(made)
    # At 0, 0.7 and 1.4 s; the way of y is free from 1 s on.
    assert len(times(results, "z", "no-route")) == 2
    (up,) = times(results, "z", "up")
    assert 1.4 < up < 1.45
    # While it knows of none with room it asks for none.
    assert max(times(results, "z", "refused")) < 0.1


def test_a_path_that_no_way_could_ever_carry_is_told_at_once() -> None:
    with pytest.raises(
        tl.ScenarioError, match="path z is not placed: bandwidth: 20 Mbit/s is asked"
    ):
        tl.loads(
            ONE_LINK.replace(
                "z: {from: A, to: B, route: auto, bandwidth: 8",
                "z: {from: A, to: B, route: auto, bandwidth: 20",
            )
        )


@pytest.mark.parametrize(
    ("asked", "way"),
    [
        ("", {"A->D"}),
        ("exclude: red", {"A->B", "B->D"}),
        ("exclude: red, minimise: te", {"A->C", "C->D"}),
        ("exclude: red, minimise: delay", {"A->B", "B->D"}),
        ("via: C", {"A->C", "C->D"}),
        ("via: [C, D]", {"A->C", "C->D"}),
        ("minimise: te, exclude: red, max_delay: 3 ms", {"A->B", "B->D"}),
        ("include_any: red", {"A->D"}),
        ("disjoint_from: {x: link}", {"A->B", "B->D"}),
        ("disjoint_from: {x: risk}", {"A->B", "B->D"}),
    ],
)
def test_rfc2702_s5_2_a_head_keeps_the_constraints_of_its_path(asked: str, way: set[str]) -> None:
    small = X.replace("8 M", "1 M") + Z.replace("8 M", "1 M") % f", {asked}"
    small = small.replace(", }", "}")
    assert carried(tl.run(scenario(small, "{at: 2 s, set_up: z}"))) == way


@pytest.mark.parametrize(
    ("kind", "way"),
    [("link", {"A->D"}), ("node", {"A->D"}), ("risk", {"A->B", "B->D"})],
)
def test_apart_is_from_where_the_other_is_then(kind: str, way: set[str]) -> None:
    """x begins on A-D; when z is asked for x has A-C-D, which shares a duct with A-D."""
    small = X.replace("8 M", "1 M") + Z.replace("8 M", "1 M") % f", disjoint_from: {{x: {kind}}}"
    events = "{at: 1 s, move: x, to: [A, C, D]}, {at: 2 s, set_up: z}"
    assert carried(tl.run(scenario(small, events))) == way


@pytest.mark.parametrize("kind", ["link", "node", "risk"])
def test_whichever_of_two_moves_stays_apart(kind: str) -> None:
    """z goes over B, apart from x on A-D; when A-D is cut x would go over B too, but for z."""
    small = X.replace("8 M", "1 M") + Z.replace("8 M", "1 M") % f", disjoint_from: {{x: {kind}}}"
    text = BASE % (small, "1500 ms", "{at: 1 s, set_up: z}")
    results = tl.run(tl.loads(text + "failures: {cut: {link: A-D, at: 2 s}}\n"))
    assert len(times(results, "x", "up")) == 2
    rows = results.tables["control"].rows()
    paths = {row["link"]: row["messages"] for row in rows if row["message"] == "path"}
    assert paths == {"A->D": 1, "A->B": 1, "B->D": 1, "A->C": 1, "C->D": 1}


def random_network(seed: int) -> dict[str, Any]:
    """A network of eight nodes with a path that is asked for at 1 s, and many constraints."""
    draw = random.Random(seed)
    nodes = [f"N{number}" for number in range(8)]
    pairs = {(nodes[draw.randrange(at)], nodes[at]) for at in range(1, 8)}
    while len(pairs) < 16:
        pairs.add(tuple(sorted(draw.sample(nodes, 2))))  # type: ignore[arg-type]
    links = {
        f"{one}-{other}": {
            "metric": draw.randint(1, 5),
            "delay": f"{draw.randint(0, 9)} ms",
            "te": {
                "metric": draw.randint(1, 5),
                "colours": draw.sample(["red", "blue", "gold"], draw.randint(0, 3)),
            },
        }
        for one, other in sorted(pairs)
    }
    path: dict[str, Any] = {
        "route": "auto",
        "from": nodes[0],
        "to": nodes[-1],
        "bandwidth": "1 Mbit/s",
    }
    maybe = {
        "minimise": draw.choice(["igp", "te", "delay"]),
        "exclude": draw.choice(["red", "blue"]),
        "include_any": ["blue", "gold"],
        "via": draw.sample(nodes[1:-1], draw.randint(1, 2)),
        "max_hops": draw.randint(2, 5),
        "max_delay": f"{draw.randint(5, 30)} ms",
    }
    path |= {key: value for key, value in maybe.items() if draw.random() < 0.4}
    return {
        "trunkline": 1,
        "nodes": nodes,
        "defaults": {"link": {"rate": "10 Mbit/s"}},
        "links": links,
        "paths": {"z": path},
        "trunks": {"t": {"path": "z", "flows": "f"}},
        "flows": {
            "f": {
                "agent": "udp",
                "from": nodes[0],
                "to": nodes[-1],
                "rate": "160 kbit/s",
                "size": "100 B",
                "start": "1100 ms",
            },
        },
        "signalling": {"kind": "rsvp-te"},
        "events": [{"at": "1 s", "set_up": "z"}],
        "te": {"unplaced": "igp"},
        "run": {"duration": "3 s"},
    }


def test_heads_find_routes_as_good_as_cspf_does() -> None:
    """120 random networks and constraints: a route where there is one, of the least cost."""
    found = refused = 0
    for seed in range(120):
        document = random_network(seed)
        # What the path of a scenario without events would take, placed by the other program.
        plan = tl.load({**document, "events": []}).resolve().placement
        assert plan is not None
        best = plan.outcomes[0].route
        if best is None:
            with pytest.raises(tl.ScenarioError, match="path z is not placed"):
                tl.load(document)
            refused += 1
            continue
        results = tl.run(tl.load(document))
        resolved = tl.load(document).resolve()
        graph = build_topology(resolved)
        constraints = plan.outcomes[0].request.constraints
        used = carried(results)
        arcs = [index for index, arc in enumerate(resolved.arcs) if arc.name in used]
        assert np.all(te.path_constraints.find_coloured_arcs(graph, constraints)[arcs])
        assert len(arcs) <= (constraints.max_hops or 255)
        assert graph.delay[arcs].sum() <= (constraints.max_delay or 10**12)
        cost = graph.get_metric(constraints.metric)[arcs].sum()
        # From one node to pass to the next, as `te` goes, is not always the least.
        assert cost <= best.metric if constraints.via else cost == best.metric, seed
        found += 1
    assert found > 60
    assert refused > 10

"""Class types of signalled paths: RFC 4124 in messages and at heads, RFC 4125 and 4127 on links."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trunkline as tl
from trunkline import te
from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario.resolved.class_types import list_te_classes
from trunkline.scenario.resolved.placement import build_topology
from trunkline.te.admission import Reservation, Reservations
from trunkline.trace import write_capture

MODELS = {"mam": {"CT0": 0.7, "CT1": 0.5, "CT2": 0.3}, "rdm": {"CT0": 1.0, "CT1": 0.6, "CT2": 0.3}}
MBIT = 1_000_000


def find_holders(results: Results) -> set[str]:
    """Paths that are up at the end."""
    up: set[str] = set()
    for row in results.tables["signalling"].rows():
        if row["event"] == "up":
            up.add(str(row["path"]))
        elif row["event"] in ("down", "torn"):
            up.discard(str(row["path"]))
    return up


def build_scenario(
    model: str,
    paths: dict[str, Any],
    links: dict[str, Any],
    nodes: list[str],
    routing: dict[str, Any] | None = None,
) -> tl.Scenario:
    """One path after the other; what is refused or displaced does not come again.

    They are 6 s apart, so that the LSAs of the last one are there, 5 s after those before.
    """
    return tl.load(
        {
            **({"routing": routing} if routing else {}),
            "trunkline": 1,
            "nodes": nodes,
            "defaults": {"link": {"rate": "100 Mbit/s", "delay": "1 ms"}},
            "links": links,
            "te": {"model": model, "constraints": MODELS[model], "unplaced": "igp"},
            "paths": paths,
            "signalling": {"kind": "rsvp-te", "retry": "1000 s", "refresh": "1000 s"},
            "events": [
                {"at": f"{6 * number} s", "set_up": name} for number, name in enumerate(paths, 1)
            ],
            "run": {"duration": f"{6 * len(paths) + 8} s"},
        }
    )


@pytest.mark.parametrize("model", list(MODELS))
def test_RFC_4125_4127_a_link_admits_and_displaces_what_te_does(model: str) -> None:
    """Requests of three class types and two priorities on one link, of six seeds.

    All bandwidths differ, so that no tie is decided by names.
    """
    refused = displaced = 0
    for seed in range(6):
        draw = random.Random(seed)
        sizes = draw.sample(range(2, 31), 18)
        asked = {
            f"p{number}": (size * MBIT, draw.randrange(3), draw.choice((2, 6)))
            for number, size in enumerate(sizes)
        }
        paths = {
            name: {
                "route": ["A", "B"],
                "bandwidth": f"{bandwidth} bit/s",
                "class_type": f"CT{class_type}",
                "setup": priority,
                "hold": priority,
            }
            for name, (bandwidth, class_type, priority) in asked.items()
        }
        made = build_scenario(model, paths, {"A-B": {}}, ["A", "B"])
        factors = list(MODELS[model].values())
        reservable = np.array([100 * MBIT])
        state = Reservations(
            te.dste.make_bandwidth_constraints(
                reservable, model, te.dste.scale_to_reservable(reservable, factors)
            )
        )
        for name, (bandwidth, class_type, priority) in asked.items():
            if bandwidth > state.get_unreserved(class_type, priority)[0]:
                refused += 1
                continue
            state.reserve(name, Reservation((0,), bandwidth, class_type, priority))
            for victim in te.preemption.choose_victims(state, (0,), name, priority):
                state.tear_down(victim)
                displaced += 1
        assert find_holders(tl.run(made)) == set(state.holders), seed
    assert refused > 20
    assert displaced > 5


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("ospf", [False, True])
def test_RFC_4124_heads_route_by_te_class_as_te_place_does(model: str, ospf: bool) -> None:
    """Random networks of five nodes, metrics without ties, and no path that displaces another."""
    refused = 0
    for seed in range(4):
        draw = random.Random(seed)
        nodes = list("ABCDE")
        pairs = [(one, other) for one in nodes for other in nodes if one < other]
        chosen = [*draw.sample(pairs[4:], 3), *pairs[:4]]
        metrics = draw.sample(range(1, 1000), len(chosen))
        links = {
            f"{one}-{other}": {"metric": metric}
            for (one, other), metric in zip(sorted(set(chosen)), metrics, strict=False)
        }
        paths = {}
        for number in range(24):
            one, other = draw.sample(nodes, 2)
            paths[f"p{number}"] = {
                "from": one,
                "to": other,
                "route": "auto",
                "bandwidth": f"{draw.randint(10, 30)} Mbit/s",
                "class_type": f"CT{draw.randrange(3)}",
            }
        made = build_scenario(model, paths, links, nodes, {"ospf": {}} if ospf else None)
        resolved = made.resolve()
        graph = build_topology(resolved)
        assert resolved.placement is not None
        placed = te.placement.place_paths(
            graph,
            [outcome.request for outcome in resolved.placement.outcomes],
            order="listed",
            bandwidth_constraints=te.dste.make_bandwidth_constraints(
                graph.reservable,
                model,
                te.dste.scale_to_reservable(graph.reservable, list(MODELS[model].values())),
            ),
        )
        expected = {each.request.name for each in placed.outcomes if each.route is not None}
        assert find_holders(tl.run(made)) == expected, seed
        refused += len(paths) - len(expected)
    assert refused > 10


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_RFC_4124_s6_1_tshark_reads_the_class_type_of_every_path_but_those_of_0(
    tmp_path: Path,
) -> None:
    """CLASSTYPE is class 66; Path messages alone have it, and none of class type 0."""
    paths = {
        f"ct{number}": {"route": ["A", "B"], "bandwidth": "1 Mbit/s", "class_type": f"CT{number}"}
        for number in range(3)
    }
    made = build_scenario("rdm", paths, {"A-B": {}}, ["A", "B"])
    network = compile(made.model_copy(update={"run": made.run.model_copy(update={"trace": True})}))
    capture = tmp_path / "run.pcapng"
    write_capture(simulate(network, seeds=[1])[0], json.loads(network.to_json()), capture)
    command = ["tshark", "-r", str(capture), "-Y", "rsvp", "-T", "fields"]
    for field in ("rsvp.msg", "rsvp.session.tunnel_id", "rsvp.dste.classtype", "_ws.malformed"):
        command += ["-e", field]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = {tuple(line.split("\t")) for line in output.splitlines()}
    path, resv = "1", "2"
    sessions = {session for kind, session, *_ in rows if kind == path}
    assert len(sessions) == 3
    types = {number: kind for message, number, kind, bad in rows if message == path and not bad}
    first, *others = sorted(sessions)
    assert (types[first], [types[each] for each in others]) == ("", ["1", "2"])
    assert all(kind == "" for message, _, kind, _ in rows if message == resv)


TE_CLASSES = """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s}}
te: {TE}
paths:
  p: {route: [A, B], bandwidth: 1 Mbit/s, setup: 5, hold: 3, TYPE}
  q: {route: [A, B], setup: 7, hold: 7}
trunks: {t: {path: p, flows: f}}
flows: {f: {agent: udp, from: A, to: B, rate: 1 Mbit/s}}
signalling: {kind: rsvp-te}
run: {duration: 1 s}
"""


@pytest.mark.parametrize(
    ("model", "class_type", "used"),
    [
        ("{}", "", []),
        ("{}", "class_type: CT1", [(0, 7), (1, 3), (1, 5)]),
        ("{model: mam, constraints: {CT0: 1.0}}", "", [(0, 3), (0, 5), (0, 7)]),
        ("{model: rdm, constraints: {CT0: 1.0, CT1: 0.5}}", "", [(0, 3), (0, 5), (0, 7)]),
        (
            "{model: rdm, constraints: {CT0: 1.0, CT1: 0.5}}",
            "class_type: CT1",
            [(0, 7), (1, 3), (1, 5)],
        ),
    ],
)
def test_rfc4124_s4_2_te_classes_are_those_of_paths_where_a_model_bounds_them(
    model: str, class_type: str, used: list[tuple[int, int]]
) -> None:
    """A class type with a priority that some path sets up or holds with; requests are of CT0."""
    text = TE_CLASSES.replace("{TE}", model).replace(
        ", TYPE", f", {class_type}" if class_type else ""
    )
    assert list_te_classes(tl.loads(text).resolve()) == used
    keys = "from: A, to: B, bandwidth: 1 Mbit/s, every: 1 s, holding: 1 s, setup: 6, hold: 2"
    with_requests = tl.loads(f"{text}requests: {{r: {{{keys}}}}}\n").resolve()
    assert list_te_classes(with_requests) == (sorted([(0, 2), (0, 6), *used]) if used else [])

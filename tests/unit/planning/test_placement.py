"""Demands become flows, trunks become paths, and the plan says what carries what."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trunkline as tl
from trunkline import te
from trunkline.network import compile
from trunkline.planning import place, write_explicit_scenario
from trunkline.scenario.resolved.placement import unplaced_paths_allowed

TRIANGLE = """\
trunkline: 1
nodes: [A, B, C]
links:
  A-B: {rate: 10 Mbit/s, delay: 1 ms}
  B-C: {rate: 10 Mbit/s, delay: 1 ms}
  A-C: {rate: 10 Mbit/s, delay: 3 ms}
traffic: {data: {agent: udp, size: 500 B}}
demands:
  one: {from: A, to: B, rate: 6 Mbit/s, class: data}
  two: {from: A, to: B, rate: 5 Mbit/s, class: data}
run: {duration: 1 s, warm_up: 100 ms}
"""
MESH = TRIANGLE + "trunks: {mesh: {demands: all, path: auto}}\n"


def test_proportional_fitting_without_a_diagonal_keeps_both_sums() -> None:
    table = te.traffic_matrices.fit_gravity_matrix([30, 20, 10], [15, 25, 20])
    assert np.allclose(table.sum(axis=1), [30, 20, 10])
    assert np.allclose(table.sum(axis=0), [15, 25, 20])
    wanted = [[0, 19.0783, 10.9217], [10.9217, 0, 9.0783], [4.0783, 5.9217, 0]]
    assert np.allclose(table, wanted, atol=1e-4)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
def test_deming_stephan_1940_fitting_ends_as_soon_as_rows_sum_to_what_is_sent(
    unit: float, monkeypatch
) -> None:
    """Rows and columns in turn, from 1 everywhere but on the diagonal, to 10^-12 of the sum."""
    sent, received = unit * np.array([30.0, 20, 10]), unit * np.array([15.0, 25, 20])
    matrix, rounds = 1 - np.eye(3), 0
    while not rounds or abs(matrix.sum(axis=1) - sent).max() > 1e-12 * 60 * unit:
        matrix *= (sent / matrix.sum(axis=1))[:, None]
        matrix *= received / matrix.sum(axis=0)
        rounds += 1
    calls = []
    module = te.traffic_matrices
    scale_factors = module._scale_factors
    monkeypatch.setattr(
        module, "_scale_factors", lambda *sums: calls.append(sums) or scale_factors(*sums)
    )
    assert np.allclose(module.fit_gravity_matrix(sent, received), matrix, rtol=1e-12)
    assert len(calls) == 2 * rounds


def test_a_node_sends_and_receives_as_much_as_all_others_can_and_no_more() -> None:
    """By hand: A sends 3 and receives 2 of 5 in all, so that B and C exchange nothing."""
    fit = te.traffic_matrices.fit_gravity_matrix
    table = fit([3, 1, 1], [2, 1, 2])
    assert np.allclose(table, [[0, 1, 2], [1, 0, 0], [1, 0, 0]], atol=1e-3)
    # One that sends 1 or receives 1 is not left out; one with 0 is.
    assert np.allclose(fit([1, 1, 0], [1, 1, 0]), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    for sent, received in (([4, 1, 1], [3, 1, 2]), ([8, 1, 1], [8, 1, 1])):
        with pytest.raises(ValueError, match="more than all others together can"):
            fit(sent, received)
    with pytest.raises(ValueError, match="the same sum"):
        fit([3, 1, 1], [2, 1, 3])


def test_lognormal_masses_come_from_a_stream_of_their_own() -> None:
    one, again = (te.traffic_matrices.make_lognormal_matrix(5, 100.0, 1.0, "m/1") for _ in range(2))
    other = te.traffic_matrices.make_lognormal_matrix(5, 100.0, 1.0, "m/2")
    assert (one == again).all()
    assert (one != other).any()
    assert one.sum() == pytest.approx(100)
    # A product of masses: d_ij d_kl = d_il d_kj.
    assert one[0, 1] * one[2, 3] == pytest.approx(one[0, 3] * one[2, 1])


def test_the_second_demand_takes_the_long_way() -> None:
    plan = place(tl.load(MESH))
    assert {each.path: each.route for each in plan.paths} == {
        "one": ("A", "B"),
        "two": ("A", "C", "B"),
    }
    loads = {each.link: each.load_bit_s for each in plan.links}
    assert loads["A->B"] == 6_000_000
    assert loads["A->C"] == loads["C->B"] == 5_000_000
    methods = {each.method: (each.mlu, each.bound) for each in plan.methods}
    # By hops both take A-B: 11 of 10 Mbit/s. Split, 11 go over two ways of 10 each; on single paths
    # the demand of 6 fills 6 of 10.
    assert methods == {
        "placed": (0.6, pytest.approx(0.6)),
        "igp": (1.1, pytest.approx(0.6)),
        "ecmp": (1.1, pytest.approx(0.55)),
        "optimum": (pytest.approx(0.55), pytest.approx(0.55)),
    }
    assert [each.gap for each in plan.methods] == pytest.approx([0, 5 / 6, 1, 0])


def test_demands_without_a_trunk_follow_ip_routing() -> None:
    plan = place(tl.load(TRIANGLE))
    assert plan.paths == ()
    assert {each.link: each.load_bit_s for each in plan.links}["A->B"] == 11_000_000


def test_packets_load_links_as_the_plan_says() -> None:
    scenario = tl.load(MESH)
    plan = {each.link: each for each in place(scenario).links}
    results = tl.run(scenario)
    for row in results.ports.rows():
        # CBR: no more than a packet of 500 B in 900 ms off, which is below 1 %.
        assert row["utilisation"] == pytest.approx(plan[str(row["link"])].utilisation, rel=0.01)


def test_a_scaled_network_has_the_same_utilisation_and_delays() -> None:
    scenario = tl.load(MESH + "scale: 10 %\n")
    network = compile(scenario)
    links = network.data["links"]
    assert {link["rate_bit_s"] for link in links} == {1_000_000}
    assert {link["delay_ns"] for link in links} == {1_000_000, 3_000_000}
    rates = {flow["name"]: flow["agent"]["rate_bit_s"] for flow in network.data["flows"]}
    assert rates == {"one": 600_000, "two": 500_000}
    plan = place(scenario)
    assert plan.scale == 0.1
    assert max(each.capacity_bit_s for each in plan.links) == 10_000_000
    assert plan.methods[0].mlu == 0.6


@pytest.mark.parametrize("extra", ["", "scale: 10 %\n", "te: {order: listed}\n"])
def test_a_placed_scenario_placed_again_is_the_same(extra: str) -> None:
    scenario = tl.load(MESH + extra)
    again = tl.load(write_explicit_scenario(scenario))
    assert not any(path.route == ("auto",) for path in again.paths.values())
    assert place(again) == place(scenario)
    one, other = compile(scenario).data, compile(again).data
    assert one["flows"] == other["flows"]
    assert one["nhlfe"] == other["nhlfe"]
    assert write_explicit_scenario(again) == write_explicit_scenario(scenario)


def test_a_split_demand_has_paths_with_equal_parts() -> None:
    text = MESH.replace("path: auto", "path: auto, split: 2")
    scenario = tl.load(text)
    plan = place(scenario)
    assert {each.path: each.bandwidth_bit_s for each in plan.paths} == {
        "one": 3_000_000,
        "one.2": 3_000_000,
        "two": 2_500_000,
        "two.2": 2_500_000,
    }
    assert place(tl.load(write_explicit_scenario(scenario))) == plan


def test_parts_of_demands_and_rows_of_tables_never_share_a_name(tmp_path: Path) -> None:
    """Two tables with the same pair give A-B and A-B.2; their parts take the numbers behind."""
    for file in ("day.csv", "night.csv"):
        (tmp_path / file).write_text("from,to,rate\nA,B,1 Mbit/s\n", "utf-8")
    (tmp_path / "net.yaml").write_text(
        """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s}}
demands: {day: {file: day.csv, class: data}, night: {file: night.csv, class: data}}
traffic: {data: {agent: udp, arrivals: poisson}}
trunks: {mesh: {demands: all, path: auto, split: 2}}
run: {duration: 1 s}
""",
        "utf-8",
    )
    plan = place(tl.load(tmp_path / "net.yaml"))
    assert {each.path: each.bandwidth_bit_s for each in plan.paths} == dict.fromkeys(
        ["A-B", "A-B.3", "A-B.2", "A-B.2.2"], 500_000
    )


def test_a_path_that_cannot_be_placed_is_an_error_or_left_to_ip_routing() -> None:
    text = MESH.replace("6 Mbit/s", "60 Mbit/s")
    with pytest.raises(tl.ScenarioError, match="path one is not placed: bandwidth"):
        tl.load(text)
    lenient = tl.load(text + "te: {unplaced: igp}\n")
    assert [each.code for each in lenient.warnings] == ["placement"]
    refused = place(lenient).paths[0]
    assert (refused.placed, refused.route) == (False, ())
    assert "60 Mbit/s is asked, at most 10 Mbit/s is unreserved" in refused.why
    with unplaced_paths_allowed():
        assert place(tl.load(text)).paths[0] == refused


def test_backups_are_those_of_the_routes_after_reoptimisation() -> None:
    """Two demands over the short way; one moves to the long way, and both have bypasses there."""
    text = """
trunkline: 1
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s}}
links: {A-B: {}, B-D: {}, A-C: {metric: 2}, C-D: {}}
demands: {d: {from: A, to: D, rate: 4 Mbit/s}, e: {from: A, to: D, rate: 4 Mbit/s}}
trunks: {mesh: {demands: all, path: auto}}
protections: {frr: {path: all, kind: facility-bypass, backup: auto}}
run: {duration: 1 s}
"""
    scenario = tl.load(text)
    plan = place(scenario, reoptimise=True)
    routes = {each.path: each.route for each in plan.paths}
    assert sorted(routes[name] for name in "de") == [("A", "B", "D"), ("A", "C", "D")]
    assert [routes[f"frr.{link}"] for link in ("A-B", "B-D", "A-C", "C-D")] == [
        ("A", "C", "D", "B"),
        ("B", "A", "C", "D"),
        ("A", "B", "D", "C"),
        ("C", "A", "B", "D"),
    ]
    again = tl.load(write_explicit_scenario(scenario, routes=routes))
    assert {each.path: each.route for each in place(again).paths} == routes
    assert {each.path for each in again.protections.values()} == {("d",), ("e",)}


def test_templates_make_packets_of_demands(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("from,to,rate,class\nA,B,1 Mbit/s,web\nB,C,2 Mbit/s,call\n")
    (tmp_path / "s.yaml").write_text(
        TRIANGLE[: TRIANGLE.index("traffic:")] + "traffic:\n"
        "  web: {agent: tcp, flows: 3, dscp: AF11}\n"
        "  call: {agent: udp, arrivals: on-off, mean_on: 1 s, mean_off: 3 s, dscp: EF}\n"
        "demands: {m: {file: m.csv, scale: 2}}\nrun: {duration: 1 s}\n"
    )
    flows = compile(tl.load(tmp_path / "s.yaml")).data["flows"]
    assert [flow["name"] for flow in flows] == [
        "A-B.web[0]", "A-B.web[1]", "A-B.web[2]", "B-C.call",
    ]  # fmt: skip
    # A mean of 4 Mbit/s, on a quarter of the time.
    assert flows[3]["agent"]["rate_bit_s"] == 16_000_000
    assert [flow["dscp"] for flow in flows] == [10, 10, 10, 46]


def test_a_full_mesh_of_too_many_nodes_is_refused_with_the_estimate() -> None:
    names = ", ".join(f"N{n}" for n in range(2000))
    text = f"trunkline: 1\nnodes: [{names}]\nlinks: {{N0-N1: {{rate: 1 Mbit/s}}}}\n"
    text += "demands: {m: {lognormal: {total: 1 Gbit/s}}}\nrun: {duration: 1 s}\n"
    with pytest.raises(tl.ScenarioError, match=r"2000 nodes has 3998000 demands, .* 32 GB"):
        tl.load(text)


def test_published_network_ecmp_load_of_the_busiest_link() -> None:
    pytest.importorskip("topohub")
    from trunkline.importers.network import ImportRules, read_network

    made = read_network("topohub:sndlib/pdh", ImportRules(capacity=10**9, unit=10**6))
    scenario = tl.load(made.text)
    plan = place(scenario)
    # SNDlib's pdh at 1000 for each link: ECMP loads N9->N2 with 384 of 1000.
    assert {each.method: each.mlu for each in plan.methods}["ecmp"] == pytest.approx(0.384)
    assert all(each.placed for each in plan.paths)

"""Demands beside the optimum, and the scenarios that solutions become."""

from __future__ import annotations

import pytest

import trunkline as tl
from trunkline.planning import place, solve, write_explicit_scenario, write_solution

TRIANGLE = """\
trunkline: 1
nodes: [A, B, C]
links:
  A-B: {rate: 10 Mbit/s}
  B-C: {rate: 10 Mbit/s}
  A-C: {rate: 10 Mbit/s}
traffic: {data: {agent: udp, size: 500 B}}
demands:
  one: {from: A, to: B, rate: 6 Mbit/s, class: data}
  two: {from: A, to: B, rate: 5 Mbit/s, class: data}
run: {duration: 1 s, warm_up: 100 ms}
"""
TWO_WAYS = """\
trunkline: 1
nodes: [P, Q, R, T]
defaults: {link: {rate: 30 Mbit/s}}
links: {P-Q: {}, Q-T: {}, P-R: {metric: 2}, R-T: {metric: 2}}
demands:
  a: {from: P, to: T, rate: 10 Mbit/s}
  b: {from: P, to: T, rate: 10 Mbit/s}
trunks: {mesh: {demands: all, path: auto}}
run: {duration: 1 s}
"""


def test_methods_of_two_demands_over_two_ways() -> None:
    found = {each.method: each for each in solve(tl.load(TRIANGLE)).methods}
    # Split: 11 over two ways of 10. Whole: the 6 alone fills 0.6, and 5 go the other way.
    assert found["optimum"].mlu == pytest.approx(0.55)
    assert found["unsplit"].mlu == pytest.approx(0.6)
    assert found["unsplit"].gap == pytest.approx(0)
    assert found["igp"].mlu == pytest.approx(1.1)
    # Metrics A-B 2, A-C and C-B 1 share 11 equally: 5.5 on each, which is the optimum.
    assert found["igp-weights"].mlu == pytest.approx(0.55)
    assert found["igp-weights"].gap == pytest.approx(0)
    # Fortz-Thorup, by the IGP: 10/3 + 3 x 10/3 + 10 x 7/3 + 70 + 500 = 606 2/3 Mbit/s of
    # utilisation 1.1 against 11 on one hop: 182/3 x 10 / 11.
    assert found["igp"].cost == pytest.approx(182 / 3 * 10 / 11)
    assert found["least-cost"].cost_gap == 0
    least = min(each.cost for each in found.values())
    assert found["least-cost"].cost == pytest.approx(least)


def test_a_solution_on_single_paths_becomes_a_scenario_that_loads_links_so() -> None:
    scenario = tl.load(TRIANGLE)
    found = solve(scenario)
    text = write_solution(scenario, found)
    again = tl.load(text)
    plan = place(again)
    assert [each.load_bit_s for each in plan.links] == [each.load_bit_s for each in found.links]
    assert plan.methods[0].mlu == pytest.approx(0.6)
    use = {each.link: each.utilisation for each in plan.links}
    for row in tl.run(again).ports.rows():
        assert row["utilisation"] == pytest.approx(use[str(row["link"])], rel=0.01)


def test_solved_metrics_are_written_and_ecmp_with_them_is_the_solution() -> None:
    scenario = tl.load(TRIANGLE.replace("10 Mbit/s}", "10 Mbit/s, forward: {delay: 1 ms}}", 1))
    found = solve(scenario, method="igp-weights")
    again = tl.load(write_solution(scenario, found))
    plan = {each.method: each for each in place(again).methods}
    assert plan["ecmp"].mlu == pytest.approx(0.55)
    ways = {arc.name: arc.options for arc in again.resolve().arcs}
    assert {name: way.metric for name, way in ways.items()} == found.weights
    assert ways["A->B"].delay == 1_000_000


def test_the_optimum_splits_and_is_not_written() -> None:
    scenario = tl.load(TRIANGLE)
    found = solve(scenario, method="optimum")
    assert sum(each.bandwidth_bit_s for each in found.paths) == pytest.approx(11_000_000, abs=2)
    assert {each.path for each in found.paths} == {"A-B", "A-B.2"}
    with pytest.raises(ValueError, match="the optimum splits demands at will"):
        write_solution(scenario, found)


def test_paths_that_carried_demands_alone_are_replaced_unless_something_names_them() -> None:
    own = (
        "paths: {p: {route: [A, C, B]}, q: {route: [B, A]}}\n"
        "trunks: {t: {path: p, demands: [one]}, u: {path: q, flows: [f]}}\n"
        "flows: {f: {agent: udp, from: B, to: A, rate: 1 Mbit/s}}\n"
    )
    scenario = tl.load(TRIANGLE + own)
    again = tl.load(write_solution(scenario, solve(scenario)))
    assert set(again.paths) == {"q", "one", "two"}
    assert set(again.trunks) == {"u", "one", "two"}
    guarded = tl.load(
        TRIANGLE
        + own.replace("q: {", "s: {route: [A, B]}, q: {")
        + "protections: {x: {path: p, kind: backup, backup: s}}\n"
    )
    with pytest.raises(ValueError, match="protections name path p, which is replaced"):
        write_solution(guarded, solve(guarded))


def test_demands_that_no_links_join_and_none_at_all_have_no_solution() -> None:
    apart = TRIANGLE.replace("nodes: [A, B, C]", "nodes: [A, B, C, D]")
    nothing = apart[: apart.index("demands:")] + "run: {duration: 1 s}\n"
    with pytest.raises(ValueError, match="the scenario has no demands"):
        solve(tl.load(nothing))


def test_reoptimising_halves_the_maximum_and_is_a_fixed_point() -> None:
    scenario = tl.load(TWO_WAYS)
    plan = place(scenario, reoptimise=True)
    methods = {each.method: each.mlu for each in plan.methods}
    # Both on P-Q-T: 20 of 30; one each: 10 of 30, which is the optimum.
    assert methods["placed"] == pytest.approx(2 / 3)
    assert methods["reoptimised"] == pytest.approx(1 / 3)
    assert methods["optimum"] == pytest.approx(1 / 3)
    routes = {each.path: each.route for each in plan.paths}
    again = tl.load(write_explicit_scenario(scenario, routes=routes))
    fixed = place(again)
    assert {each.path: each.route for each in fixed.paths} == routes
    assert fixed.methods[0].mlu == pytest.approx(1 / 3)
    # Written routes stay.
    assert place(again, reoptimise=True).paths == fixed.paths

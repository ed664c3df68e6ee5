"""Packets load links as plans say: a published network; what labels and whole packets add."""

from __future__ import annotations

import pytest

import trunkline as tl
from trunkline.planning import place, write_explicit_scenario

TRIANGLE = """\
trunkline: 1
nodes: [A, B, C]
links: {A-B: {rate: 10 Mbit/s}, B-C: {rate: 10 Mbit/s}, A-C: {rate: 10 Mbit/s}}
traffic: {data: {agent: udp, size: 500 B}}
demands:
  one: {from: A, to: B, rate: 6 Mbit/s, class: data}
  two: {from: A, to: B, rate: 5 Mbit/s, class: data}
trunks: {mesh: {demands: all, path: auto}}
scale: 10 %
run: {duration: 1 s, warm_up: 100 ms}
"""


@pytest.mark.parametrize("reoptimise", [False, True])
def test_links_of_a_published_network_carry_what_was_placed(reoptimise: bool) -> None:
    pytest.importorskip("topohub")
    from trunkline.importers.network import ImportRules, read_network

    made = read_network("topohub:sndlib/di-yuan", ImportRules(capacity=10**7, unit=10**6))
    scenario = tl.load(made.text)
    plan = place(scenario, reoptimise=reoptimise)
    routes = {each.path: each.route for each in plan.paths}
    # Demands are 1 to 5 Mbit/s in packets of 1000 B: at least 2,000 in 16 s.
    measured = tl.load(
        write_explicit_scenario(scenario, routes=routes),
        overrides={"run.duration": "17 s", "run.warm_up": "1 s"},
    )
    planned = {each.link: each.utilisation for each in plan.links}
    rows = tl.run(measured).ports.rows()
    assert {str(row["link"]) for row in rows} == set(planned)
    for row in rows:
        assert row["utilisation"] == pytest.approx(planned[str(row["link"])], rel=0.01)


@pytest.mark.parametrize("window_s", [0.9, 9.0])
def test_a_run_differs_from_the_plan_by_labels_and_by_a_packet_of_a_flow(window_s: float) -> None:
    scenario = tl.load(TRIANGLE.replace("duration: 1 s", f"duration: {window_s + 0.1} s"))
    planned = {each.link: each.utilisation for each in place(scenario).links}
    assert planned["A->C"] == planned["C->B"] == 0.5
    # Two routes: A-B without a label, and A-C-B, where A-C alone carries one: 504 B for 500 B.
    wire = planned | {"A->C": 0.5 * 504 / 500}
    for row in tl.run(scenario).ports.rows():
        off = abs(float(str(row["utilisation"])) - wire[str(row["link"])])
        # 112.5 packets in 0.9 s: whole ones are counted. One is 504 B on a link of 1 Mbit/s.
        assert off <= 504 * 8 / 1e6 / window_s


def test_a_square_matrix_is_read_as_rows_are(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "m.csv").write_text(",A,B,C\nA,0,1 Mbit/s,2 Mbit/s\nB,,5,0\nC,1000 kbit/s,,\n")
    (tmp_path / "s.yaml").write_text(
        TRIANGLE[: TRIANGLE.index("traffic:")]
        + "demands: {m: {file: m.csv}}\nrun: {duration: 1 s}\n"
    )
    scenario = tl.load(tmp_path / "s.yaml")
    found = {name: each.rate for name, each in scenario.resolve().demands.items()}
    # The diagonal, empty cells and zero do not count.
    assert found == {"A-B": 1_000_000, "A-C": 2_000_000, "C-A": 1_000_000}

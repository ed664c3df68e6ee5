"""Screened failures: by hand, against packets, and agreements judged through the failure."""

from __future__ import annotations

import sys

import pytest

import trunkline as tl
from trunkline.planning import survive
from trunkline.planning.packet_trial import judge_slas, measure_deviations, plan_failure_runs
from trunkline.study import perform_plan

planned = sys.modules[survive.__module__]
NETWORK = """\
trunkline: 1
nodes: [A, B, C, D, E]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {te: {risks: duct}}, B-C: {te: {risks: duct}}, C-D: {}, D-A: {}, A-E: {}}
traffic: {data: {agent: udp, size: 500 B}, voice: {agent: udp, size: 200 B, dscp: EF}}
demands:
  one: {from: A, to: C, rate: 4 Mbit/s, class: data}
  two: {from: B, to: D, rate: 3 Mbit/s, class: voice}
  ip: {from: E, to: B, rate: 1 Mbit/s, class: data}
paths:
  one: {route: [A, B, C]}
  two: {route: [B, C, D]}
trunks:
  one: {path: one, demands: one}
  two: {path: two, demands: two}
slas:
  voice: {dscp: EF, at_most: {loss: 5 %}, at_least: {throughput: 2.8 Mbit/s}}
run: {duration: 2 s, warm_up: 400 ms}
"""
REPAIRED = "protections: {p: {path: one, kind: facility-bypass, backup: auto}}\n"
FOLLOWS = "rerouting: {spf_delay: 10 ms}\n"


def by_name(text: str, **how) -> dict:
    return {each.failure: each for each in survive(tl.load(text), **how).failures}


def test_a_path_without_protection_is_down_and_its_load_lost() -> None:
    found = by_name(NETWORK)
    # B-C carries one (4) and two (3); nothing protects them, ip stays on E-A-B.
    each = found["B-C"]
    assert (each.lost_bit_s, each.unprotected, each.rerouted) == (7_000_000, 2, 0)
    assert each.lost_by_class == {"data": 4_000_000, "voice": 3_000_000}
    assert each.unavoidable_bit_s == 0
    # one goes as far as B: A->B 4 + 1 of ip.
    assert (each.mlu, each.disconnects) == (0.5, ())


def test_a_bypass_moves_a_path_and_what_it_loads() -> None:
    each = by_name(NETWORK + REPAIRED)["B-C"]
    # one goes A B, B A D C: A->B 4 + 1 of ip, A->D 4.
    assert (each.rerouted, each.unprotected, each.lost_bit_s) == (1, 1, 3_000_000)
    assert (each.mlu, each.worst_link) == (0.5, "A->B")
    # Four links of 1 ms in place of two.
    assert each.stretch_s == 0.002


def test_end_to_end_protection_comes_before_local_repair_and_restoration_last() -> None:
    total = "  q: {path: one, kind: backup, backup: auto}\n"
    local = REPAIRED.replace("{p:", "\n  p:").replace("}\n", "\n", 1).rstrip("}\n") + "}\n"
    each = by_name(NETWORK + local + total)["B-C"]
    # A D C has as many links as A B C.
    assert (each.rerouted, each.stretch_s) == (1, 0)
    restored = NETWORK + "protections: {r: {path: two, kind: restoration}}\n"
    each = by_name(restored)["C-D"]
    assert (each.rerouted, each.unprotected) == (1, 0)


def test_ip_routing_follows_where_the_scenario_reroutes() -> None:
    stays, follows = by_name(NETWORK)["A-B"], by_name(NETWORK + FOLLOWS)["A-B"]
    # one (4) has no protection either way; ip (1) goes E A D C B, two links more.
    assert (stays.lost_bit_s, follows.lost_bit_s) == (5_000_000, 4_000_000)
    assert follows.stretch_s == 0.002


def test_what_disconnects_is_named_and_its_loss_unavoidable() -> None:
    found = by_name(NETWORK + FOLLOWS)
    assert found["A-E"].disconnects == ("E",)
    assert found["A-E"].lost_bit_s == found["A-E"].unavoidable_bit_s == 1_000_000
    # With node A go its own 4 and, since E is cut off, 1.
    assert found["A"].disconnects == ("E",)
    assert found["A"].unavoidable_bit_s == 5_000_000


def test_load_comes_to_its_path_and_leaves_it_by_ip_routing() -> None:
    # one comes from E and is cut off with it: nothing of the 4 + 1 could have been carried.
    each = by_name(NETWORK.replace("one: {from: A, to: C", "one: {from: E, to: C"))["A-E"]
    assert (each.lost_bit_s, each.unavoidable_bit_s, each.unprotected) == (5_000_000,) * 2 + (0,)
    # one goes on from C to D by C-D, the last link of two's path too; with rerouting by B and A.
    beyond = NETWORK.replace("one: {from: A, to: C", "one: {from: A, to: D")
    each = by_name(beyond)["C-D"]
    assert (each.lost_bit_s, each.unavoidable_bit_s) == (7_000_000, 0)
    each = by_name(beyond + FOLLOWS)["C-D"]
    assert (each.lost_bit_s, each.unavoidable_bit_s) == (3_000_000, 0)
    # C->B and A->D carry one, B->A too; A->B one and ip; B->C one and two, which is lost at C.
    assert (each.mlu, each.worst_link) == (0.7, "B->C")


def test_risks_and_pairs_of_links_fail_together() -> None:
    found = by_name(NETWORK)
    assert found["duct"].kind == "risk"
    assert found["duct"].lost_bit_s == 8_000_000
    pairs = by_name(NETWORK, kinds=("pair",))
    assert len(pairs) == 5 * 4 // 2
    assert pairs["A-B + B-C"].lost_bit_s == 8_000_000


@pytest.mark.parametrize("extra", ["", REPAIRED, FOLLOWS, REPAIRED + FOLLOWS])
@pytest.mark.parametrize(("most", "kept"), [(4, 1), (4, 3), (10, 1)])
def test_of_very_many_pairs_the_rest_is_bounded(
    monkeypatch: pytest.MonkeyPatch, extra: str, most: int, kept: int
) -> None:
    scenario = tl.load(NETWORK + extra)
    every = survive(scenario, kinds=("pair",))
    assert (len(every.failures), every.left_out) == (10, None)
    monkeypatch.setattr(planned, "MAX_SCREENED_PAIRS", most)
    monkeypatch.setattr(planned, "CERTAIN_WORST_PAIRS", kept)
    some = survive(scenario, kinds=("pair",))
    screened = {each.failure for each in some.failures}
    if some.left_out is None:
        assert len(screened) == 10
        return
    assert len(screened) + some.left_out.pairs == 10
    for each in every.failures:
        if each.failure not in screened:
            assert each.lost_bit_s <= some.left_out.lost_bit_s
            assert each.mlu <= some.left_out.mlu
    certain = some.left_out.certain
    # Equally bad ones may stand in any order.
    assert [each.severity for each in some.failures[:certain]] == [
        each.severity for each in every.failures[:certain]
    ]
    assert len(screened) == most or certain >= kept


def test_pairs_that_cannot_be_worst_are_not_screened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "CERTAIN_WORST_PAIRS", 1)
    found = survive(tl.load(NETWORK), kinds=("pair",))
    # Nothing is protected: what both links carry is lost, but for what crosses both.
    assert found.left_out is not None
    assert found.left_out.certain >= 1
    assert found.failures[0].lost_bit_s == 8_000_000


def test_failures_of_the_scenario_are_screened_by_name() -> None:
    text = "failures: {dig: {link: B-C, at: 1 s}, fire: {link: [A-B, C-D], at: 1 s}}\n"
    found = survive(tl.load(NETWORK + text), kinds=("named",)).failures
    assert {each.failure: each.kind for each in found} == {"dig": "named", "fire": "named"}
    assert {each.failure: each.lost_bit_s for each in found}["dig"] == 7_000_000


def test_ecmp_leaves_paths_out_and_shares_among_all_shortest() -> None:
    found = by_name(NETWORK, ecmp=True)
    # Without A-B: one takes A D C (4), two C (B-C, C-D: 3), ip E A D C B: A->D 4 + 1, D->C 4 + 1.
    assert found["A-B"].mlu == 0.5
    assert found["A-B"].lost_bit_s == 0


@pytest.mark.parametrize("extra", ["", REPAIRED, FOLLOWS, REPAIRED + FOLLOWS])
def test_packets_lose_after_each_failure_what_the_screen_says(extra: str) -> None:
    """All single link failures: loss over the time from the failure on, but for the repair gap."""
    scenario = tl.load(NETWORK + extra)
    found = {each.failure: each for each in survive(scenario, kinds=("link",)).failures}
    tried = list(found.values())
    with perform_plan(plan_failure_runs(scenario, tried, at_ns=1_000_000_000, runs=2)) as runs:
        assert set(runs.table["failure"]) == set(found)
        beside = measure_deviations(scenario, tried, runs, at_ns=1_000_000_000)
    # 1 s of 1.6 measured; the gap of 20 ms of 8 Mbit/s is 100 kbit/s of it, labels are 2 %.
    for each in beside:
        room = 0.1e6 if each.measure == "lost" else 0.02
        assert each.packets == pytest.approx(each.screen, abs=room), each
    for name, each in found.items():
        text = NETWORK + extra + f"failures: {{cut: {{link: {name}, at: 1 s}}}}\n"
        flows = tl.run(tl.load(text)).flows.rows()
        lost = sum(
            (row["packets_sent"] - row["packets_delivered"])
            * (200 if row["flow"] == "two" else 500)
            for row in flows
        )
        # From 1 s to 2 s: one second of what has no way; 20 ms of 8 Mbit/s for detection, routing
        # and what is in flight.
        assert 8 * lost == pytest.approx(each.lost_bit_s, abs=0.025 * 8_000_000)


def test_agreements_are_judged_through_the_failure() -> None:
    scenario = tl.load(NETWORK)
    found = {each.failure: each for each in survive(scenario, kinds=("link",)).failures}
    with perform_plan(
        plan_failure_runs(scenario, [found["B-C"], found["A-B"]], at_ns=None, runs=2)
    ) as runs:
        slas = judge_slas(scenario.list_sla_bounds(), runs)
    of = {(each.failure, each.measure): each for each in slas}
    # A quarter into 1.6 s after 0.4 s of warm-up: three quarters of voice are lost, or nothing.
    assert of["B-C", "loss"].value == pytest.approx(0.75, abs=0.01)
    assert {key: each.outcome for key, each in of.items()} == {
        ("B-C", "loss"): "refuted",
        ("B-C", "throughput"): "refuted",
        ("A-B", "loss"): "held",
        ("A-B", "throughput"): "held",
    }


def test_a_scaled_scenario_screens_at_its_own_rates() -> None:
    one, other = (
        survive(tl.load(NETWORK)),
        survive(tl.load(NETWORK + "scale: 10 %\n")),
    )
    assert other.failures == one.failures
    assert other.scale == 0.1

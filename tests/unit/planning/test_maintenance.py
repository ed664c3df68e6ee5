"""Planned outages: what a drain moves, what fails beside it, and the packets of both."""

from __future__ import annotations

import json

import pytest

import trunkline as tl
from trunkline.planning import survive
from trunkline.planning.maintenance import (
    drain_link,
    screen_planned_outage,
    screen_planned_outages,
)
from trunkline.planning.packet_trial import measure_deviations, plan_failure_runs
from trunkline.study import perform_plan

# A square with a diagonal. The path p goes A-B-C, its bypass of A-B goes A-C-B.
NETWORK = """\
trunkline: 1
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, C-D: {}, D-A: {}, A-C: {metric: 5}}
traffic: {data: {agent: udp, size: 500 B}}
demands:
  one: {from: A, to: C, rate: 4 Mbit/s, class: data}
  ip: {from: D, to: B, rate: 1 Mbit/s, class: data}
paths:
  p: {route: [A, B, C], bandwidth: 4 Mbit/s}
  around: {route: [A, C, B]}
trunks: {one: {path: p, demands: one}}
protections: {frr: {path: p, kind: facility-bypass, backup: around, link: [A->B]}}
rerouting: {}
slas: {data: {dscp: DF, at_most: {loss: 5 %}}}
run: {duration: 2 s, warm_up: 400 ms}
"""


def test_a_drain_moves_written_paths_and_ip_routing_before_the_link_goes() -> None:
    drained, moved = drain_link(tl.loads(NETWORK), "A-B")
    assert moved == ("p",)
    # D is nearer (2) than the diagonal of metric 5.
    assert drained.resolve().paths["p"].route == ("A", "D", "C")
    outage, _ = screen_planned_outage(tl.loads(NETWORK), "A-B", kinds=("link",))
    alone = next(each for each in outage.survival.failures if each.failure == "A-B")
    assert (alone.kind, alone.lost_bit_s, alone.unprotected) == ("drained", 0, 0)
    # Without the drain, its failure needs the bypass.
    (sudden,) = [
        each
        for each in survive(tl.loads(NETWORK), kinds=("link",)).failures
        if each.failure == "A-B"
    ]
    assert sudden.rerouted == 1


def test_a_backup_over_the_drained_link_is_computed_anew() -> None:
    outage, drained = screen_planned_outage(tl.loads(NETWORK), "A-C", kinds=("link",))
    assert outage.moved == ()
    beside = {each.failure: each for each in outage.survival.failures}["A-B + A-C"]
    # p goes A-D-C-B-C round A-B: nothing is lost.
    assert (beside.lost_bit_s, beside.rerouted, beside.unprotected) == (0, 1, 0)
    assert "around" not in drained.resolve().written.paths


def test_each_outage_has_each_other_failure_beside_it_and_cuts_are_named() -> None:
    outages = {
        each.link: each for each in screen_planned_outages(tl.loads(NETWORK), kinds=("link",))
    }
    assert len(outages) == 5
    for link, outage in outages.items():
        names = {each.failure for each in outage.survival.failures}
        assert names == {link} | {f"{other} + {link}" for other in outages if other != link}
    cut = {each.failure: each.disconnects for each in outages["A-B"].survival.failures}
    # B has no other link than B-C then.
    assert cut["B-C + A-B"] == ("B",)
    assert outages["A-B"].cut_off == ()
    bridge = NETWORK.replace("A-C: {metric: 5}}", "A-C: {metric: 5}, D-E: {}}").replace(
        "[A, B, C, D]", "[A, B, C, D, E]"
    )
    outage, _ = screen_planned_outage(tl.loads(bridge), "D-E", kinds=("link",))
    assert outage.cut_off == ("E",)


def test_packets_lose_beside_a_drained_link_what_the_screen_says() -> None:
    outage, drained = screen_planned_outage(tl.loads(NETWORK), "A-B", kinds=("link",))
    failures = outage.survival.failures
    with perform_plan(plan_failure_runs(drained, failures, at_ns=1_000_000_000, runs=2)) as runs:
        found = measure_deviations(drained, failures, runs, at_ns=1_000_000_000)
    assert {each.failure for each in found} == {each.failure for each in failures}
    for each in found:
        # Repair gaps of up to 60 ms of 5 Mbit/s in 1.6 s; labels are 2 %.
        room = 0.25e6 if each.measure == "lost" else 0.03
        assert each.packets == pytest.approx(each.screen, abs=room), each


def test_an_unknown_link_is_one_error() -> None:
    with pytest.raises(LookupError, match="there is no link A-Z"):
        drain_link(tl.loads(NETWORK), "A-Z")


def test_the_command_drains_each_link(trunkline, tmp_path) -> None:
    (tmp_path / "net.yaml").write_text(NETWORK, "utf-8")
    how = ("te", "survive", "net.yaml", "--each", "link", "--drained")
    done = trunkline(*how, "each", "--judge", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 3, done.stderr
    assert len(found["drained"]) == 5
    assert found["judgement"]["pairs"] == 25 == len(found["slas"])
    assert "Planned outages" in trunkline(*how, "each").stdout
    one = json.loads(trunkline(*how, "A-B", "--json").stdout)
    assert one["failures"][-1]["failure"] in {each["failure"] for each in one["failures"]}
    assert {each["kind"] for each in one["failures"]} == {"drained", "link"}
    wrong = trunkline(*how, "A-Z")
    assert wrong.returncode == 2
    assert "there is no link A-Z" in wrong.stderr

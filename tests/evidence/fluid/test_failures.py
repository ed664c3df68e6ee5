"""Failures in the fluid engine: before, in the gap and after, by hand and in packets."""

import re

import pytest

import trunkline as tl
from trunkline.fluid import failure_phases
from trunkline.fluid.engine import solve_phases
from trunkline.fluid.focus import expand_trunk_names, focus_network
from trunkline.fluid.verification import verify_fluid
from trunkline.network import compile

# Two ways from S to T; b is on the lower all the time.
BOTH = """
trunkline: 1
nodes: [S, A, T, C]
defaults: {link: {rate: 8 Mbit/s, delay: 1 ms}}
links: {S-A: {}, A-T: {}, S-C: {}, C-T: {}}
paths:
  working: {route: [S, A, T]}
  spare: {route: [S, C, T]}
  other: {route: [S, C, T]}
trunks: {upper: {path: working, flows: [a]}, lower: {path: other, flows: [b]}}
flows:
  a: {agent: udp, from: S, to: T, rate: 4 Mbit/s, size: 1000 B}
  b: {agent: udp, from: S, to: T, rate: 2 Mbit/s, size: 500 B}
  c: {agent: udp, from: S, to: A, rate: 1 Mbit/s, size: 500 B}
failures: {cut: {link: A-T, at: 2 s, repair: 5 s}}
PROTECTION
run: {duration: 11 s, warm_up: 1 s}
"""
BACKUP = (
    "protections: {p: {path: working, kind: backup, backup: spare, "
    "detection: {kind: fixed, delay: 200 ms}}}"
)


def scenario(protection=BACKUP):
    return tl.loads(BOTH.replace("PROTECTION", protection))


def test_times_of_a_protected_failure_by_hand():
    parts = solve_phases(compile(scenario()).data, 1)
    # Measured from 1 s: cut at 2 s, switched at 2.2 s, repaired and reverted at 5 s.
    assert [seconds for seconds, _ in parts] == pytest.approx([1.0, 0.2, 2.8, 6.0])


def test_loss_and_loads_are_those_of_the_times_by_hand():
    found = tl.run(scenario(), engine="fluid")
    # a is lost for 0.2 s of 10, and on the upper way for 7 of 10.
    assert found.flows.where(flow="a")["loss_ratio"] == pytest.approx(0.02)
    assert found.flows.where(flow="b")["loss_ratio"] == 0

    def load(link):
        return found.ports.where(link=link, **{"class": "default"})["throughput_bit_s"]

    # One label of 4 B but on the last link, where the node before has taken it off.
    a, b = 4e6 * 1004 / 1000, 2e6 * 504 / 500
    assert load("A->T") == pytest.approx(4e6 * 0.7)
    assert load("S->A") == pytest.approx(a * 0.72 + 1e6)
    assert load("S->C") == pytest.approx(b + a * 0.28)


@pytest.mark.parametrize(
    "protection",
    [
        BACKUP,
        "",
        "rerouting: {}",
        "protections: {p: {path: working, kind: restoration}}",
        "protections: {p: {path: working, kind: facility-bypass, backup: auto}}",
    ],
)
def test_loads_through_a_failure_are_within_one_per_cent_of_the_packets(protection):
    verdict = verify_fluid(compile(scenario(protection)).to_json(), list(range(1, 9)))
    rows = {(row.subject, row.measure): row for row in verdict.rows}
    wanted = [key for key in rows if key[1] in ("load", "throughput", "loss of a flow")]
    assert len(wanted) >= 8
    assert {rows[key].outcome for key in wanted} == {"agrees"}


def test_a_run_without_its_failure_within_the_measured_time_has_one_part():
    late = BOTH.replace("at: 2 s, repair: 5 s", "at: 20 s").replace("PROTECTION", BACKUP)
    assert len(solve_phases(compile(tl.loads(late)).data, 1)) == 1


def test_too_many_moments_are_refused(monkeypatch):
    monkeypatch.setattr(failure_phases, "MAX_MOMENTS", 2)
    with pytest.raises(ValueError, match="change ways at 3 moments of the run"):
        tl.run(scenario(), engine="fluid")


@pytest.mark.parametrize(
    ("name", "kept"), [("cut", ["a"]), ("working", ["a"]), ("S->C", ["a", "b"])]
)
def test_a_focus_on_a_failure_a_path_or_a_link_is_the_full_run(name, kept):
    # A background of Poisson's is what these two are.
    poisson = BOTH.replace("size: 500 B}", "size: 500 B, arrivals: poisson}")
    text = poisson.replace("PROTECTION", BACKUP)
    network = compile(tl.loads(text))
    narrow = focus_network(network.data, [name])
    names = [flow["name"] for flow in narrow.network["flows"]]
    assert [each for each in names if not each.startswith("background")] == kept
    assert any(each.startswith("background S->A default") for each in names)
    verdict = verify_fluid(network.to_json(), list(range(1, 9)), focus_names=[name])
    # The second of equal links smooths what the first let through: no source of its own does that.
    differ = [row for row in verdict.rows if row.outcome == "differs"]
    assert {row.subject for row in differ if row.measure == "mean wait"} <= {"C->T, default"}
    assert len(differ) <= 1
    agreed = {(row.subject, row.measure) for row in verdict.rows if row.outcome == "agrees"}
    assert {("a", "throughput"), ("a", "loss of a flow")} <= agreed


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("S-C", "there is no link (A->B), path, trunk or failure S-C"),
        ("spare", "no flow is on spare"),
    ],
)
def test_a_focus_on_nothing_is_refused(name, expected):
    with pytest.raises(ValueError, match=re.escape(expected)):
        focus_network(compile(scenario()).data, [name])


def test_a_trunk_stands_for_its_path_and_one_of_demands_for_the_path_of_each():
    text = """
trunkline: 1
nodes: [a, b, c]
defaults: {link: {rate: 1 Mbit/s, delay: 1 ms}}
links: {a-b: {}, b-c: {}}
paths: {upper: {route: [a, b, c]}}
demands: {one: {from: a, to: b, rate: 10 kbit/s}, two: {from: c, to: a, rate: 10 kbit/s}}
trunks: {voice: {path: upper, flows: [call]}, mesh: {path: auto, demands: all}}
flows: {call: {agent: udp, from: a, to: c, rate: 64 kbit/s, size: 200 B}}
run: {duration: 5 s}
"""
    value = tl.loads(text)
    assert expand_trunk_names(value, ["voice", "mesh", "upper", "a->b"]) == (
        "upper",
        "one",
        "two",
        "a->b",
    )
    narrow = focus_network(compile(value).data, expand_trunk_names(value, ["voice"]))
    names = [flow["name"] for flow in narrow.network["flows"]]
    assert [each for each in names if not each.startswith("background")] == ["call"]

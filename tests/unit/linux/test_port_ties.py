"""Packets of several sizes compete: a tie alone lets means stand for single packets.

A tie is made, and known, by a flow that starts 1 us later; an alteration of a port is none.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from trunkline.linux.judge.engine_run import trace_simulator
from trunkline.linux.judge.port_ties import METER
from trunkline.linux.judge.seed_pair import make_seed_pair
from trunkline.linux.judge.verification import EngineVerdict, judge_pairs, replace_probes
from trunkline.network import compile
from trunkline.scenario import load

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData

SCENARIO = """\
trunkline: 1
nodes: [S, R, A, B]
links:
  S-A: {rate: 10 Mbit/s INGRESS}
  R-A: {rate: 10 Mbit/s}
  A-B: {rate: 2 Mbit/s, forward: {port: line}}
ports: {line: PORT}
conditioners:
  edge:
    rules: [{dscp: EF, profile: all}]
    profiles: {all: {meter: {kind: token-bucket, rate: 800 kbit/s, burst: 5 kB}, red: drop}}
flows:
  call: {agent: udp, from: S, to: B, rate: 400 kbit/s, size: 200 B, dscp: EF}
  film:
    {agent: udp, from: FROM, to: B, rate: 2 Mbit/s, size: 700 B, dscp: EF, arrivals: poisson,
    start: 0 s}
  data: {agent: udp, from: S, to: B, rate: 1 Mbit/s, size: 1000 B, start: 700 us}
run: {duration: 3 s}
"""
FIFO = "{queue: {limit: 20 packets}}"
CLASSES = (
    "{classify: [{dscp: EF, class: voice}], scheduler: SCHEDULER, classes: "
    "{voice: {SHARE queue: {limit: 10 packets}}, default: {SHARE queue: {limit: 20 packets}}}}"
)
PORTS = {
    "fifo": FIFO,
    "priority": CLASSES.replace("SCHEDULER", "priority").replace("{SHARE", "{priority: 1,", 1),
    "drr": CLASSES.replace("SCHEDULER", "drr").replace("SHARE", "weight: 1,"),
    "sfq": "{queue: {limit: 20 packets, flows: sfq}}",
    "meter": FIFO,
}


def make_scenario(kind: str) -> str:
    """A scenario of a kind."""
    port = PORTS[kind].replace("SHARE", "priority: 2,")
    text = SCENARIO.replace("PORT", port)
    text = text.replace("FROM", "S" if kind == "meter" else "R")
    return text.replace(" INGRESS", ", forward: {ingress: edge}" if kind == "meter" else "")


def judge(text: str, other: str, seed: int) -> EngineVerdict:
    """The verdict on a scenario and another one in the simulator, by the rules for a guest."""
    networks: list[NetworkData] = [
        replace_probes(json.loads(compile(load(each), seed=seed).to_json()))
        for each in (text, other)
    ]
    ours, theirs = (trace_simulator(network, seed) for network in networks)
    return judge_pairs([make_seed_pair(networks[0], ours, theirs, "virtual")], (), (seed,), "x")


@pytest.mark.parametrize("kind", PORTS)
def test_k3_six_microseconds_are_a_tie_and_never_differ(kind: str) -> None:
    """Each delay may be 10 us apart here."""
    text = make_scenario(kind)
    later = text.replace("start: 0 s", "start: 6 us")
    verdicts = [judge(text, later, seed) for seed in range(1, 7)]
    assert [verdict.outcome for verdict in verdicts if verdict.outcome == "differs"] == []
    loose = [verdict for verdict in verdicts if not verdict.is_exact]
    assert loose or kind == "sfq"
    for verdict in loose:
        (tie,) = {row.tie for row in verdict.rows if row.tie}
        (gap,) = re.findall(r"([\d.e-]+) us (?:apart|from another colour)", tie)
        assert float(gap) <= 11
        assert any(tie in note for note in verdict.notes)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("fifo", "limit: 20", "limit: 21"),
        ("fifo", "limit: 20", "limit: 19"),
        ("priority", "limit: 10", "limit: 9"),
        ("meter", "burst: 5 kB", "burst: 4900 B"),
        ("meter", "rate: 800 kbit/s", "rate: 808 kbit/s"),
    ],
)
def test_k3_where_no_tie_is_seen_packets_stay_compared_and_differ(
    kind: str, old: str, new: str
) -> None:
    text = make_scenario(kind)
    for seed in (1, 2):
        verdict = judge(text, text.replace(old, new), seed)
        assert verdict.is_exact
        assert verdict.outcome == "differs"


def test_k3_a_port_with_a_clock_and_no_tie_is_undecided() -> None:
    """When HTB's tokens suffice is no event of a packet."""
    port = (
        "{scheduler: htb, classify: [{dscp: EF, class: voice}], classes: {"
        "link: {rate: 1900 kbit/s, ceil: 1900 kbit/s, burst: 3 kB, cburst: 3 kB}, "
        "voice: {parent: link, rate: 700 kbit/s, ceil: 1900 kbit/s, burst: 3 kB, cburst: 3 kB, "
        "queue: {limit: 10 packets}}, "
        "default: {parent: link, rate: 1200 kbit/s, ceil: 1900 kbit/s, burst: 3 kB, cburst: 3 kB, "
        "queue: {limit: 20 packets}}}}"
    )
    text = SCENARIO.replace("PORT", port).replace(" INGRESS", "").replace("FROM", "R")
    verdict = judge(text, text.replace("A-B: {", "A-B: {delay: 1 ms, "), 1)
    assert verdict.outcome == "differs"  # before the first loss nothing is open
    assert any(row.outcome == "undecided" and "clock" in row.reason for row in verdict.rows)


def test_tokens_by_hand_1000_b_a_second_and_a_bucket_of_1500_b() -> None:
    """RFC 3290 section 5.1.3, strict conformance; 8 kbit/s are 1 B a millisecond.

    Packets of 1000 B at 0, 500 and 1000 ms: the second comes at the very moment at which 500 B left
    and 500 ms of tokens make 1000 B; the third finds 500 B, half a second too early.
    """
    text = """\
trunkline: 1
nodes: [S, A]
links: {S-A: {rate: 1 Gbit/s, forward: {ingress: edge}}}
conditioners:
  edge:
    rules: [{dscp: EF, profile: all}]
    profiles: {all: {meter: {kind: token-bucket, rate: 8 kbit/s, burst: 1500 B}, red: drop}}
flows: {f: {agent: udp, from: S, to: A, rate: 16 kbit/s, size: 1000 B, dscp: EF}}
run: {duration: 1400 ms}
"""
    events = trace_simulator(json.loads(compile(load(text)).to_json()), 1).close_events
    assert (events.number.tolist(), events.gap_ns.tolist()) == ([1], [0])
    assert events.other_flow.tolist() == [METER]

"""When packets of simulator and kernel can be compared one by one."""

from __future__ import annotations

import json

import pytest

from trunkline.cli.verdict_tables import render
from trunkline.linux.judge.engine_run import trace_simulator
from trunkline.linux.judge.seed_pair import (
    ReferenceMachine,
    explain_lasting_shift,
    is_random,
    make_seed_pair,
)
from trunkline.linux.judge.verification import judge_pairs
from trunkline.network import compile
from trunkline.scenario import load

SCENARIO = """\
trunkline: 1
nodes: [A, B, C]
links:
  A-B: {rate: 10 Mbit/s, delay: 1 ms, forward: {ingress: edge}}
  B-C: {rate: 1 Mbit/s, delay: 1 ms, port: p}
ports: {p: {queue: {limit: 5 packets}}}
conditioners:
  edge:
    rules: [{dscp: AF11, profile: a}]
    profiles: {a: {meter: {kind: token-bucket, rate: 100 kbit/s, burst: 2 kB}, red: {dscp: AF12}}}
flows:
  one: {agent: udp, from: A, to: C, rate: RATE, size: 1000 B, dscp: MARK}
  other: {agent: udp, from: A, to: C, rate: RATE, size: SIZE, dscp: MARK}
run: {duration: 500 ms}
"""


# 2 x 400 kbit/s fit into 1 Mbit/s, 2 x 900 kbit/s do not; AF11 above 100 kbit/s becomes AF12.
@pytest.mark.parametrize(
    ("rate", "size", "mark", "mixed"),
    [
        ("900 kbit/s", "1000 B", "DF", False),
        ("400 kbit/s", "500 B", "DF", False),
        ("900 kbit/s", "500 B", "DF", True),
        ("400 kbit/s", "1000 B", "AF11", False),
        ("400 kbit/s", "500 B", "AF11", True),
    ],
)
def test_sizes_mix_where_several_compete_and_some_do_not_get_through(
    rate: str, size: str, mark: str, mixed: bool
) -> None:
    text = SCENARIO.replace("RATE", rate).replace("SIZE", size).replace("MARK", mark)
    network = json.loads(compile(load(text)).to_json())
    assert bool(explain_lasting_shift(network, trace_simulator(network, 1), "virtual")[0]) is mixed


# Where flows take turns a tie lasts; where CoDel looks at the clock, what a processor takes does.
@pytest.mark.parametrize(
    ("queue", "machine", "expected"),
    [
        ("limit: 5 packets", "emulated", ""),
        ("flows: sfq", "virtual", "flows take turns"),
        ("limit: 5 packets, aqm: {kind: codel, mtu: 1514 B}", "virtual", ""),
        ("limit: 5 packets, aqm: {kind: codel, mtu: 1514 B}", "emulated", "drop by the clock"),
    ],
)
def test_a_tie_lasts_where_flows_take_turns_and_on_a_slow_processor_by_the_clock(
    queue: str, machine: ReferenceMachine, expected: str
) -> None:
    text = SCENARIO.replace("limit: 5 packets", queue).replace("RATE", "400 kbit/s")
    text = text.replace("SIZE", "1000 B").replace("MARK", "DF")
    network = json.loads(compile(load(text)).to_json())
    why, _ = explain_lasting_shift(network, trace_simulator(network, 1), machine)
    assert expected in why
    assert bool(expected) == bool(why)


# Linux's BBR draws the phase in which it begins to probe (tcp_bbr.c, bbr_reset_probe_bw_mode): runs
# of one flow differ by it, and have to be compared by their mean.
@pytest.mark.parametrize(("control", "random"), [("cubic", False), ("dctcp", False), ("bbr", True)])
def test_bbr_is_random_though_its_queue_is_not(control: str, random: bool) -> None:
    expected = {
        "preset": "linux",
        "variant": "sack",
        "congestion": control,
        "ecn": control == "dctcp",
    }
    text = SCENARIO.replace("RATE", "400 kbit/s").replace("SIZE", "1000 B").replace("MARK", "DF")
    flow = json.dumps({"agent": "tcp", "from": "A", "to": "C"} | expected)
    text = text.replace("flows:\n", f"flows:\n  t: {flow}\n").replace(
        "forward: {ingress: edge}", ""
    )
    assert is_random(json.loads(compile(load(text)).to_json())) is random


PROTECTED = """\
trunkline: 1
nodes: [A, B, C]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, A-C: {}, C-B: {}}
paths: {p: {route: [A, B]}, q: {route: [A, B]}, spare: {route: [A, C, B]}}
trunks: {t: {path: p, flows: [f]}}
protections: {one: {path: [p, q], kind: backup, backup: spare}}
flows: {f: {agent: udp, from: A, to: B, rate: 1 Mbit/s}}
run: {duration: 100 ms}
"""


@pytest.mark.parametrize("machine", ["laboratory", "virtual"])
def test_protections_that_a_laboratory_lacks_are_not_among_all_that_agree(
    machine: ReferenceMachine,
) -> None:
    """Equal runs without a failure: the verdict said "all comparisons agree" of a backup too."""
    network = json.loads(compile(load(PROTECTED)).to_json())
    runs = [trace_simulator(network, 1) for _ in "ab"]
    verdict = judge_pairs([make_seed_pair(network, *runs, machine)], [], (1,), "Linux 6.1")
    last_line = render("protected", verdict, width=400).splitlines()[-1]
    assert verdict.agrees
    if machine == "laboratory":
        assert "protections, of one: FRR's routers run none" in verdict.not_compared
        assert not last_line.startswith("all ")
        assert "of values not compared" in last_line
    else:
        assert not [each for each in verdict.not_compared if "protections" in each]

"""Measures of recovery, against the sum of its times."""

import random
import re
from types import SimpleNamespace

import pytest

from trunkline import network, scenario
from trunkline.engine.packet_engine import simulate
from trunkline.results import Results
from trunkline.stats.recovery import RecoveryCycle, gap, outages, regained_after

MS = 1_000_000

CUT = """
trunkline: 1
parameters: {hold_off: 20 ms}
nodes: [S, A, B, T, C, D, E]
defaults: {link: {rate: 8 Mbit/s, delay: 5 ms}}
links: {S-A: {}, A-B: {}, B-T: {}, S-C: {}, C-D: {}, D-E: {}, E-T: {}}
paths:
  working: {route: [S, A, B, T], php: false}
  spare: {route: [S, C, D, E, T], php: false}
trunks: {all: {path: working, flows: [cbr]}}
flows: {cbr: {agent: udp, from: S, to: T, arrivals: cbr, rate: 4 Mbit/s, size: 1000 B}}
failures: {cut: {link: A-B, outages: [{at: 1 s, repair: 1500 ms}, {at: 2 s, repair: 2005 ms}]}}
protections:
  p:
    path: working
    kind: backup
    backup: spare
    processing: 1 ms
    hold_off: $hold_off
    switch: 3 ms
    wait_to_restore: 100 ms
    detection: {kind: loss-of-signal, delay: 10 ms}
probes: [{flow: cbr, measure: goodput, every: 10 ms}]
run: {duration: 3 s, trace: on}
"""


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(network.compile(scenario.load(CUT)), seeds=[1])[0]


def test_outages_tell_the_cycle_and_the_flap_that_was_not_noticed(results: Results) -> None:
    """10 + 5 + 1 + 20 + 3 ms to the switch; back 10 + 6 + 100 + 3 ms after the repair."""
    cycle, flap = outages(results, "p")
    assert (cycle.failed, cycle.repaired) == (1000 * MS, 1500 * MS)
    assert cycle.detected == 1010 * MS
    assert cycle.notified == 1016 * MS
    assert cycle.held_off == 1036 * MS
    assert cycle.duration_ns == 39 * MS
    # The repair is noticed at both ends; the notice of B, over T, E, D, C to S, is the last.
    # B-T, T-E, E-D, D-C, C-S: 5 hops of 6 ms; A's takes 6 ms. 1.51 s + 30 + 100 + 3 ms at most.
    assert cycle.reverted is not None
    assert 1500 * MS + 119 * MS <= cycle.reverted <= 1500 * MS + 143 * MS
    assert (flap.failed, flap.repaired, flap.switched) == (2000 * MS, 2005 * MS, None)
    assert flap.duration_ns is None


def test_gap_is_the_time_lost_and_the_longer_way(results: Results) -> None:
    """Last before: sent 986 ms, 3 hops; first after: sent 1040 ms, 4 hops of 6.004 ms."""
    assert gap(results, "cbr", 900 * MS) == 54 * MS + 6_004_000
    assert gap(results, "nothing") is None


def test_gap_begins_with_a_packet_that_arrives_at_the_time_given(results: Results) -> None:
    """The last before the cut is sent at 986 ms and arrives 3 hops of 6.004 ms later."""
    assert gap(results, "cbr", 1004 * MS + 12_000) == 54 * MS + 6_004_000
    later = gap(results, "cbr", 1004 * MS + 12_001)
    assert later is not None
    assert later < 54 * MS


def test_goodput_is_regained_with_the_first_full_step(results: Results) -> None:
    """First packet after the switch comes at 1064.016 ms: the step to 1080 ms is the first full."""
    assert regained_after(results, "cbr", 1000 * MS) == 80 * MS
    with pytest.raises(ValueError, match="no goodput of flow 'x'"):
        regained_after(results, "x", 1000 * MS)


def test_a_step_with_just_the_share_asked_for_is_regained() -> None:
    """Steps 10 to 13 of a mean of 8; the failure is at 20: 4 is half of 8."""
    times = [10, 20, 30, 40, 50]
    series = {
        "target": ["f"] * 5,
        "measure": ["goodput"] * 5,
        "time_ns": times,
        "value": [6.0, 10.0, 1.0, 4.0, 8.0],
    }
    run = SimpleNamespace(series=series)
    assert regained_after(run, "f", 20, share=0.5, before_ns=20) == 20  # type: ignore[arg-type]
    # Times before are above the first bound and at most the second: 10 alone, or 6 and 10.
    assert regained_after(run, "f", 20, share=0.5, before_ns=10) == 30  # type: ignore[arg-type]
    # At 4 it is not below 4: it never fell.
    series["value"] = [6.0, 10.0, 4.0, 4.0, 8.0]
    assert regained_after(run, "f", 20, share=0.5, before_ns=20) == 0  # type: ignore[arg-type]
    # The step that ends with the failure is one before it.
    series["value"] = [12.0, 3.0, 8.0, 8.0, 8.0]
    assert regained_after(run, "f", 20, share=0.5, before_ns=20) == 0  # type: ignore[arg-type]


def test_goodput_that_stays_below_is_not_regained() -> None:
    """Half of 8 is 4; a step of exactly nothing recorded counts as nothing."""
    series = {
        "target": ["f"] * 4 + ["other", "f"],
        "measure": ["goodput"] * 5 + ["throughput"],
        "time_ns": [10, 20, 30, 40, 50, 60],
        "value": [8.0, 8.0, None, 3.9, 9.0, 9.0],
    }
    run = SimpleNamespace(series=series)
    assert regained_after(run, "f", 20, share=0.5, before_ns=20) is None  # type: ignore[arg-type]


def test_time_begins_at_0() -> None:
    """Packets at 0, 10 and 15 ns; a step of goodput that ends when the flow fails, at 0."""
    packets = {
        "event": ["delivered"] * 3,
        "direction": ["forward"] * 3,
        "flow": ["f"] * 3,
        "time_ns": [0, 10, 15],
    }
    series = {
        "target": ["f"] * 3,
        "measure": ["goodput"] * 3,
        "time_ns": [0, 10, 20],
        "value": [8.0, 4.0, 8.0],
    }
    run = SimpleNamespace(packets=packets, series=series)
    assert gap(run, "f") == 10  # type: ignore[arg-type]
    assert gap(run, "f", 1) == 5  # type: ignore[arg-type]
    assert gap(run, "f", 15) is None  # type: ignore[arg-type]
    assert regained_after(run, "f", 0) == 20  # type: ignore[arg-type]


EVENTS = {
    "F": "failed",
    "D": "detected",
    "N": "notified",
    "H": "held-off",
    "S": "switched",
    "R": "repaired",
    "V": "reverted",
}
CYCLE = re.compile("F(?:[FDHS]*(?:R|V|$)|[FDHS]*N[^V]*(?:V|$))")
"""From a failure until traffic is back, or until a repair before anybody was notified."""


def test_cycles_of_random_timelines_are_those_of_their_definition() -> None:
    """The first instant of each step counts, and of repairs the last."""
    draw = random.Random(3)
    ends = set()
    for _ in range(400):
        letters = "".join(draw.choices("FDNHSRV", [3, 2, 1, 1, 1, 2, 1], k=draw.randint(0, 9)))
        rows = []
        for at, letter in enumerate(letters):
            rows += [
                {"protection": "p", "event": EVENTS[letter], "time_ns": 10 * at},
                {"protection": "q", "event": draw.choice([*EVENTS.values()]), "time_ns": 10 * at},
            ]
        expected = []
        for cycle in CYCLE.finditer(letters):
            steps: dict[str, int] = {}
            for at, letter in enumerate(cycle[0], cycle.start()):
                name = EVENTS[letter].replace("-", "_")
                steps[name] = 10 * at if letter == "R" else steps.get(name, 10 * at)
            expected.append(RecoveryCycle(**steps))
            ends.add(cycle[0][-1])
        timeline = SimpleNamespace(rows=lambda rows=rows: rows)
        assert outages(SimpleNamespace(timeline=timeline), "p") == expected, letters  # type: ignore[arg-type]
    assert ends >= {"R", "V"}


def test_the_earlier_goodput_is_that_of_a_second_unless_another_time_is_asked_for() -> None:
    """The step that ends just a second before the failure is not within it."""
    second = 10**9
    times = [second, second + 1, 2 * second, 3 * second]
    series = {
        "target": ["f"] * 4,
        "measure": ["goodput"] * 4,
        "time_ns": times,
        "value": [100.0, 4.0, 6.0, 5.0],
    }
    run = SimpleNamespace(series=series)
    # 5 is at least 0.9 of 5, but not of 36.7.
    assert regained_after(run, "f", 2 * second) == 0  # type: ignore[arg-type]
    assert regained_after(run, "f", 2 * second, before_ns=second + 1) is None  # type: ignore[arg-type]

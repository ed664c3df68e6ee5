"""What is lost in each phase after a cut: by arithmetic, and together what the run lost."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

import trunkline as tl
from trunkline.results.loss_phases import LossPhase, phases
from trunkline.results.terminal_tables import render_results

CUT = """
trunkline: 1
nodes: [A, B, C, D]
links:
  A-B: {rate: 10 Mbit/s, delay: 4 ms}
  B-D: {rate: 10 Mbit/s, delay: 4 ms}
  B-C: {rate: 10 Mbit/s, delay: 2 ms, metric: 5}
  A-C: {rate: 10 Mbit/s, delay: 6 ms, metric: 2}
  C-D: {rate: 10 Mbit/s, delay: 6 ms}
paths: {p: {from: A, to: D, route: auto, bandwidth: 4 Mbit/s}}
trunks: {t: {path: p, flows: all}}
flows: {f: {agent: udp, from: A, to: D, rate: 4 Mbit/s, size: 1000 B}}
failures: {cut: {link: B-D, at: 1 s}}
PROTECTION
SIGNALLING
run: {duration: 2 s, trace: on}
"""
BYPASS = "protections: {frr: {path: all, kind: facility-bypass, backup: auto, link: B-D}}"
RSVP = "signalling: {kind: rsvp-te, when_down: discard}"


def run(protection: str = "", signalling: str = RSVP) -> tl.Results:
    return tl.run(tl.loads(CUT.replace("PROTECTION", protection).replace("SIGNALLING", signalling)))


def lost(results: tl.Results) -> dict[str, dict[str, int]]:
    return {each.name: dict(each.lost) for each in phases(results) if each.lost}


def test_phases_of_a_cut_without_protection() -> None:
    """500 packets a second: 9 before the first Resv at 16.448 ms, and 2 on the wire at the cut.

    In the 10 ms of loss of signal 5 go onto the link. Until the head knows, 4.0832 ms and 4 ms on
    the way, 4 or 5 come to B without a label; until the next Resv, 24.448 ms, 12 or 13 to A.
    """
    results = run()
    found = lost(results)
    assert found["set-up"] == {"switching": 9}
    assert found["detection"] == {"failed_in_flight": 2, "link_down": 5}
    assert found["convergence"].keys() == {"no_label", "switching"}
    assert 16 <= sum(found["convergence"].values()) <= 18
    assert found.keys() == {"set-up", "detection", "convergence"}


@pytest.mark.parametrize("signalling", ["", RSVP])
def test_phases_of_a_cut_with_local_repair(signalling: str) -> None:
    """Signalled or not: nothing is lost behind the detection."""
    results = run(BYPASS, signalling)
    found = lost(results)
    assert found["detection"] == {"failed_in_flight": 2, "link_down": 5}
    assert found.keys() <= {"set-up", "detection"}
    names = [each.name for each in phases(results) if each.after_change is not None]
    assert names == ["detection", *(["re-optimisation"] if signalling else []), "settled"]


def test_phases_are_without_gaps_and_add_up_to_the_drops_of_data() -> None:
    results = run()
    found = phases(results)
    assert found[0].from_ns == 0
    assert all(before.to_ns == after.from_ns for before, after in pairwise(found))
    total: Counter[str] = sum((each.lost for each in found), Counter())
    rows = [row for row in results.drops.rows() if row["flow"] == "f"]
    by_cause = Counter({row["cause"]: 0 for row in rows})
    for row in rows:
        by_cause[str(row["cause"])] += int(row["packets"] or 0)
    assert total == by_cause
    assert "Lost by phase" in render_results(results, show_all=True)


def test_there_are_no_phases_without_a_trace_or_without_a_change() -> None:
    text = CUT.replace("PROTECTION", "").replace("SIGNALLING", RSVP)
    none: list[LossPhase] = []
    assert phases(tl.run(tl.loads(text.replace(", trace: on", "")))) == none
    still = text.replace(RSVP, "").replace("failures: {cut: {link: B-D, at: 1 s}}", "")
    assert phases(tl.run(tl.loads(still))) == none

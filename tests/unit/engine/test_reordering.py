"""Links that reorder: closed forms, and the same link of a Linux kernel."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from statistics import fmean

import pytest

from trunkline.api import run, run_many
from trunkline.scenario import load

RECORD = Path(__file__).parent / "kernel-reordering.csv"
"""`TCP` below in Linux 6.1.192, user mode, by `trunkline run --engine linux --json`."""
DATAGRAMS = """
trunkline: 1
nodes: [S, D]
links: {S-D: {rate: 1 Gbit/s, delay: 10 ms, forward: {reorder: {share: %s, by: 2.5 ms}}}}
flows: {u: {agent: udp, from: S, to: D, rate: 1 Mbit/s, size: 125 B}}
run: {duration: 30 s}
"""
TCP = """
trunkline: 1
nodes: [S, R, D]
defaults: {tcp: {preset: linux}}
links:
  S-R: {rate: 100 Mbit/s, delay: 1 ms}
  R-D: {rate: 10 Mbit/s, delay: 20 ms, forward: {reorder: {share: %g %%, by: %d ms}}}
flows: {tcp: {agent: tcp, from: S, to: D, variant: sack}}
run: {duration: 20 s, warm_up: 2 s}
"""


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_rfc4737_s4_a_late_datagram_is_reordered_unless_all_behind_it_are_late(
    share: float,
) -> None:
    """A datagram a millisecond, late by 2.5 ms: the next two overtake it unless both are late too.

    So a share p (1 - p^2) is reordered, and the mean delay grows by 2.5 ms times p.
    """
    flow = run(load(DATAGRAMS % f"{share:.0%}".replace("%", " %"))).flows.where(flow="u")
    count = flow["packets_delivered"]
    expected = share * (1 - share**2)
    deviation = math.sqrt(count * expected * (1 - expected))
    assert flow["reordered"] == pytest.approx(count * expected, abs=4 * deviation)
    late = (flow["delay_mean_s"] - 0.010001) / 0.0025
    assert late == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / count))


def test_where_all_are_late_none_is_overtaken() -> None:
    flow = run(load(DATAGRAMS % "100 %")).flows.where(flow="u")
    assert flow["reordered"] == 0
    assert flow["delay_min_s"] == flow["delay_max_s"] == 0.012501


@pytest.mark.parametrize(("share", "by"), [(0.02, 5), (0.05, 15)])
def test_linux_a_sender_with_rack_answers_late_segments_as_the_kernel_does(
    share: float, by: int
) -> None:
    with RECORD.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["by_ms"]) == by]
    assert len(rows) >= 5
    runs = run_many(load(TCP % (100 * share, by)), seeds=[int(row["seed"]) for row in rows])
    flows = [each.flows.where(flow="tcp") for each in runs]
    theirs = fmean(float(row["goodput_bit_s"]) for row in rows)
    assert fmean(each["goodput_bit_s"] for each in flows) == pytest.approx(theirs, rel=0.02)
    # Of 15 000 segments some 300 or 750 come after one sent later; neither takes many for lost.
    assert all(int(row["retransmissions"]) < 30 for row in rows)
    assert all(each["reordered"] > 250 and each["retransmissions"] < 30 for each in flows)

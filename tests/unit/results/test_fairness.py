"""Fairness by hand: Jain, Chiu and Hawe 1984, section 3; shares of demand; starvation."""

from __future__ import annotations

import pytest

import trunkline as tl

SCENARIO = """
trunkline: 1
nodes: [S, A, B, D]
defaults: {link: {rate: 100 Mbit/s, delay: 1 ms}}
links: {S-A: {}, A-B: {rate: 8 Mbit/s}, B-D: {}}
paths: {p: {route: [A, B]}}
trunks: {t: {path: p, flows: [one, two]}}
flows:
  one: {agent: udp, from: S, to: D, rate: 3 Mbit/s, size: 500 B, dscp: EF}
  two: {agent: udp, from: S, to: D, rate: 1 Mbit/s, size: 500 B, dscp: EF, start: 2 s, stop: 8 s}
  far: {agent: udp, from: A, to: S, rate: 1 Mbit/s, size: 500 B, dscp: EF}
  tcp: {agent: tcp, from: S, to: D, size: 100 kB}
failures: {cut: {link: A-B, at: 4 s, repair: 5 s}}
PROBES
run: {duration: 10 s}
"""
PROBES = "probes: [{measure: goodput, flow: [one, two, far], every: 100 ms}]"


def rows(probes: str = "") -> dict[tuple[str, str], dict[str, object]]:
    run = tl.run(tl.loads(SCENARIO.replace("PROBES", probes)))
    return {(str(row["of"]), str(row["name"])): dict(row) for row in run.fairness.rows()}


def test_jain_1984_s3_shares_of_a_path_and_of_a_dscp_by_hand() -> None:
    """The cut takes 1 s of 10 from `one` and 1 s of 6 from `two`: 2.7 and 0.5 of 3 and 0.6 Mbit/s.

    Jain's index of them (2.7 + 0.5)^2 / (2 (2.7^2 + 0.5^2)) = 0.679; of 0.9 and 0.833 0.9985.
    """
    path = rows()["path", "p"]
    assert path["flows"] == 2
    assert path["jain_index"] == pytest.approx(0.679, abs=0.002)
    assert path["demand_share"] == pytest.approx(3.2 / 3.6, abs=0.002)
    assert path["least_demand_share"] == pytest.approx(5 / 6, abs=0.002)
    assert path["jain_of_demand"] == pytest.approx(0.9985, abs=0.0005)
    assert (path["starved_max_s"], path["starved_mean_s"]) == (None, None)


def test_starvation_is_the_steps_in_which_nothing_arrived_while_a_flow_asked() -> None:
    """From 4 to 5 s nothing crosses; before its start and after its stop a flow asks for nothing.

    What was sent just before the cut arrives in the first of the ten steps.
    """
    found = rows(PROBES)
    assert found["path", "p"]["starved_max_s"] == pytest.approx(0.9)
    # `far`, which the cut does not touch, is the third of the DSCP.
    assert found["dscp", "EF"]["starved_mean_s"] == pytest.approx(0.6)


def test_tcp_has_no_demand_and_without_a_probe_no_starvation() -> None:
    tcp = rows(PROBES)["dscp", "DF"]
    assert [tcp[name] for name in ("demand_share", "jain_of_demand", "starved_max_s")] == [None] * 3
    assert tcp["jain_index"] == 1

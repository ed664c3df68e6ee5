"""The timeline and the packet trace, from a scenario to the tables."""

import pytest

from trunkline import network, scenario
from trunkline.engine.packet_engine import simulate
from trunkline.results import Results

CUT = """
trunkline: 1
nodes: [S, A, B, T, C, D, E]
defaults: {link: {rate: 8 Mbit/s, delay: 5 ms}}
links: {S-A: {}, A-B: {}, B-T: {}, S-C: {}, C-D: {}, D-E: {}, E-T: {}, A-D: {}}
paths:
  working: {route: [S, A, B, T], php: false}
  spare: {route: [S, C, D, E, T], php: false}
  around: {route: [A, D, E, T]}
trunks: {all: {path: working, flows: [cbr]}}
flows:
  cbr: {agent: udp, from: S, to: T, arrivals: cbr, rate: 4 Mbit/s, size: 1000 B, header: 28 B}
failures: {cut: {link: A-B, at: 1 s}}
run: {duration: 3 s, trace: on}
"""


def run(protections: str) -> Results:
    loaded = scenario.load(f"{CUT}\nprotections: {protections}")
    return simulate(network.compile(loaded), seeds=[1])[0]


def moments(results: Results, event: str) -> list[int]:
    rows = results.timeline.rows()
    return [
        int(row["time_ns"] or 0) // 1_000_000
        for row in rows
        if row["event"] == event and row["protection"] == "p"
    ]


def test_timeline_of_a_backup_is_the_sum_of_its_times() -> None:
    """Detection 10, notification A to S 5 + 1, hold-off 20, switch 3 ms."""
    results = run(
        "{p: {path: working, kind: backup, backup: spare, processing: 1 ms, hold_off: 20 ms,"
        " switch: 3 ms, detection: {kind: loss-of-signal, delay: 10 ms}}}"
    )
    assert moments(results, "failed") == [1000]
    assert moments(results, "detected") == [1010, 1010]
    assert moments(results, "notified")[0] == 1016
    assert moments(results, "held-off") == [1036]
    assert moments(results, "switched") == [1039]
    first = next(results.timeline.rows())
    assert (first["event"], first["link"], first["path"]) == ("failed", "A->B", None)
    # 3 in flight and 23 at the port: see the arithmetic of the engine's own test.
    lost = {row["cause"]: row["packets"] for row in results.drops.rows()}
    assert lost == {"failed_in_flight": 3, "link_down": 23}


@pytest.mark.parametrize(("kind", "depth"), [("facility-bypass", 2), ("detour", 1)])
def test_local_repair_joins_the_working_path_at_its_end(kind: str, depth: int) -> None:
    """Round A-B-T over A-D-E-T: a bypass bears the working path's label below its own."""
    results = run(f"{{p: {{path: working, kind: {kind}, backup: around}}}}")
    assert moments(results, "switched") == [1010]
    on_way = [
        row["labels"]
        for row in results.packets.rows()
        if row["event"] == "arrived" and row["link"] == "D->E"
    ]
    assert len(on_way) > 900
    assert set(on_way) == {depth}
    assert results.flows["packets_dropped"] == [8]  # 3 in flight, 5 at A within 10 ms


def test_one_plus_one_counts_the_copies_that_are_not_selected() -> None:
    results = run(
        "{p: {path: working, kind: one-plus-one, backup: spare,"
        " detection: {kind: fixed, delay: 10 ms}}}"
    )
    assert results.paths["packets"][:2] == [1500, 1500]
    causes = {row["cause"]: row["packets"] for row in results.drops.rows()}
    # As in the engine's own test: copies that came to T by the backup before 1.010 s.
    assert causes["unselected"] == 493


def test_probe_records_the_state_of_a_tcp_as_a_number() -> None:
    loaded = scenario.load(
        """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s, delay: 10 ms}}
flows: {tcp: {agent: tcp, from: A, to: B, window: 300 packets}}
probes: [{flow: tcp, measure: state, every: 20 ms}]
run: {duration: 30 s}
"""
    )
    results = simulate(network.compile(loaded), seeds=[1])[0]
    states = results.series["value"]
    assert states[0] == 0  # slow start
    assert {0, 1, 2} <= set(states) <= {0, 1, 2, 3}

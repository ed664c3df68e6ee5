"""The gate on instruction counts, the ring of any size and the statements for ns-3."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import instruction_counts
import ns3
from ring_networks import add_probes, choose_destination, make_ring
from trunkline.engine import simulate
from workloads import MBIT_BIT_S, WORKLOADS, compute_next_hops


@pytest.fixture
def baseline(tmp_path, monkeypatch):
    """A baseline of 100 instructions for W1, and what a count finds."""
    file = tmp_path / "baseline.json"
    stored = {"compiler": "rustc 1", "instructions_per_packet_hop": {"W1": 100.0}}
    file.write_text(json.dumps(stored), "utf-8")
    monkeypatch.setattr(instruction_counts, "BASELINE_FILE", file)
    monkeypatch.setattr(instruction_counts, "get_compiler_version", lambda: "rustc 1")
    monkeypatch.setattr(shutil, "which", lambda name: name)

    def find(value: float) -> None:
        monkeypatch.setattr(instruction_counts, "count_per_hop", lambda *_: value)

    return find


@pytest.mark.parametrize(("found", "fine"), [(90.0, True), (102.9, True), (103.2, False)])
def test_more_than_3_percent_worse_fails_with_the_name(baseline, capsys, found, fine):
    baseline(found)
    assert instruction_counts.check_counts("engine", ["W1"], update=False) is fine
    assert ("W1: WORSE" in capsys.readouterr().out) is not fine


def test_counts_of_another_compiler_are_not_compared(baseline, capsys, monkeypatch):
    baseline(200.0)
    monkeypatch.setattr(instruction_counts, "get_compiler_version", lambda: "rustc 2")
    assert instruction_counts.check_counts("engine", ["W1"], update=False)
    assert "nothing to compare" in capsys.readouterr().out


def test_update_stores_what_is_found(baseline):
    baseline(120.04)
    assert instruction_counts.check_counts("engine", ["W1"], update=True)
    stored = json.loads(instruction_counts.BASELINE_FILE.read_text("utf-8"))
    assert stored["instructions_per_packet_hop"] == {"W1": 120.0}


def test_stored_baseline_names_every_workload():
    stored = json.loads(instruction_counts.BASELINE_FILE.read_text("utf-8"))
    assert set(stored["instructions_per_packet_hop"]) == set(WORKLOADS)


def test_ring_is_run_by_the_engine_and_its_flows_go_five_hops_or_so():
    """From router i to the next multiple of five past i + 3: 4 to 8 hops, 6 on average."""
    assert [choose_destination(node, 50) - node for node in range(5)] == [5, 4, 8, 7, 6]
    # Data and acknowledgements go the same number of hops.
    results = simulate(make_ring(50, 50, 10 * MBIT_BIT_S, 100, 0.2), seeds=[1])[0]
    summary = results.summary
    assert summary["packet_hops"] / summary["packets_delivered"] == pytest.approx(6, rel=0.1)


def test_recording_does_not_change_what_is_simulated():
    network = make_ring(10, 20, 10 * MBIT_BIT_S, 100, 0.2)
    plain = simulate(network, seeds=[1])[0]
    recorded = simulate(add_probes(network, 1_000_000), seeds=[1])[0]
    assert plain.summary["packet_hops"] == recorded.summary["packet_hops"]
    assert len(recorded.series) > 0 == len(plain.series)


def test_ns3_is_told_every_link_flow_and_route():
    workload = WORKLOADS["W1"]()
    kinds = [line.split()[0] for line in ns3.format_workload(workload).splitlines()]
    expected = {"nodes": 1, "link": 18, "red": 1, "compare": 1, "tcp": 24, "cbr": 2}
    expected["route"] = len(compute_next_hops(workload))
    assert {kind: kinds.count(kind) for kind in set(kinds)} == expected

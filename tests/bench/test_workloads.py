"""The benchmark's workloads mean the same to both engines."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import ns2
import trunkline_engine
from trunkline import _core
from trunkline.network import compile
from trunkline.scenario import load
from workloads import WORKLOADS, compute_next_hops


@cache
def compiled(name: str) -> str:
    """A workload, compiled once."""
    return trunkline_engine.compile_workload(WORKLOADS[name](), 1.0)


@pytest.mark.parametrize(
    ("name", "links", "tcp", "cbr"),
    [
        ("W1", 18, 24, 2),
        ("W2", 24, 2, 1),
        ("W3", 400, 1000, 0),
        ("W4", 176, 1225, 1225),
        ("W5", 52, 272, 0),
    ],
)
def test_sizes_are_as_described(name, links, tcp, cbr):
    workload = WORKLOADS[name]()
    tcp_flows = len(workload.tcp) + len(workload.transfers)
    assert (2 * len(workload.links), tcp_flows, len(workload.cbr)) == (links, tcp, cbr)
    network = json.loads(compiled(workload.name))
    agents = [flow["agent"]["protocol"] for flow in network["flows"]]
    of_users = [protocol for protocol in agents if protocol in ("tcp", "udp")]
    assert (len(network["links"]), len(of_users)) == (links, tcp + cbr)


def test_no_workload_needs_an_extra_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "topohub", None)
    for build in WORKLOADS.values():
        assert build().links


def test_backbone_routes_given_to_ns2_are_those_of_the_engine():
    """Two programs of shortest paths, one rule for equal costs."""
    workload = WORKLOADS["W3"]()
    written = trunkline_engine.compile_workload(workload, 1.0)
    network = json.loads(written)
    names = [node["name"] for node in network["nodes"]]
    hops = compute_next_hops(workload)
    rows = _core.routes(written)
    assert len(rows) == 100 * 99
    for node, destination, link in rows:
        to = names[network["links"][link]["to"]]
        assert hops[names[node], names[destination]] == to


def test_trunk_workload_is_labelled_on_the_upper_route():
    workload = WORKLOADS["W2"]()
    network = json.loads(compiled(workload.name))
    links = [network["links"][link]["name"] for link in network["paths"][0]["links"]]
    assert links == ["R1->R2", "R2->R4", "R4->R5", "R5->R6"]
    assert all(flow["fec"] for flow in network["flows"])
    assert compute_next_hops(workload)["R2", "D3"] == "R4"


def test_mesh_workload_labels_each_flow_in_a_class_along_the_route_of_ns2():
    workload = WORKLOADS["W4"]()
    network = json.loads(compiled(workload.name))
    assert len(network["nodes"]) == 50
    assert len(network["paths"]) == 50 * 49
    names = [node["name"] for node in network["nodes"]]
    hops = compute_next_hops(workload)
    for path in network["paths"]:
        ends = [
            (names[network["links"][link]["from"]], names[network["links"][link]["to"]])
            for link in path["links"]
        ]
        assert all(hops[a, ends[-1][1]] == b for a, b in ends)
    assert all(flow["fec"] and flow["fec_reverse"] for flow in network["flows"])
    assert {len(port["classes"]) for port in network["ports"]} == {4}
    assert len({flow["dscp"] for flow in network["flows"]}) == 4


def test_transfers_go_by_signalled_paths_under_cake_and_some_links_are_full():
    """Half a second of W5: every path comes up, CAKE drops, transfers of all pairs end."""
    from trunkline.engine import simulate

    written = trunkline_engine.set_duration(compiled("W5"), 500_000_000)
    results = simulate(written, seeds=[1])[0]
    assert len(json.loads(written)["paths"]) == 17 * 16
    ports = results.ports
    assert sum(ports["packets_dropped"]) > 100
    entered = results.paths["packets"]
    assert len(entered) == 17 * 16
    # A transfer each 0.27 s: some pairs have none yet.
    assert sum(packets > 0 for packets in entered) > 200


def test_scenario_of_the_benchmark_has_no_warning():
    for make in WORKLOADS.values():
        workload = make()
        scenario = load(trunkline_engine.format_scenario(workload, workload.seconds), strict=True)
        assert compile(scenario).to_json()


@pytest.mark.skipif(not ns2.is_installed(), reason="ns-2 is not on this machine")
def test_af_workload_does_the_work_that_ns2_does(tmp_path):
    """60 s of W1: packet-hops, drops and goodput within 2, 5 and 2 % of ns-2's."""
    workload = WORKLOADS["W1"]()
    driver = tmp_path / "w1.tcl"
    driver.write_text(ns2.write_driver(workload), "utf-8")
    command = [ns2.NS2_PROGRAM, str(driver), "60", "count"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    theirs = ns2.parse_counts(done.stdout)
    written = trunkline_engine.compile_workload(workload, 60.0)
    from trunkline.engine import simulate

    results = simulate(written, seeds=[1])[0]
    hops = results.summary["packet_hops"]
    assert hops == pytest.approx(theirs["packet_hops"], rel=0.02)
    drops = sum(results.ports["packets_dropped"])
    assert drops == pytest.approx(theirs["drops"], rel=0.05)
    tcp = [p == "tcp" for p in results.flows["protocol"]]
    goodput = sum(
        b for b, is_tcp in zip(results.flows["goodput_bytes"], tcp, strict=True) if is_tcp
    )
    assert goodput == pytest.approx(theirs["tcp_bytes"], rel=0.02)

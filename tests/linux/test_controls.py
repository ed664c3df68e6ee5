"""Congestion controls of the kernel, a flow each, beside those of the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.linux import engine
from trunkline.linux.judge import verification
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import load

CONTROLS = Path(__file__).parents[1] / "evidence" / "linux" / "controls.yaml"

MIXED = """\
trunkline: 1
nodes: [S, A, B, D]
defaults:
  link: {rate: 1 Gbit/s, mtu: 1500 B, header: 14 B}
  tcp: {preset: linux, variant: sack, connect: true, window: 10000 packets}
links: {S-A: {}, A-B: {rate: 20 Mbit/s, delay: 10 ms, forward: {port: fair}}, B-D: {delay: 10 ms}}
ports: {fair: {queue: {flows: fq-codel, aqm: {kind: codel, arithmetic: linux, mtu: 1514 B}}}}
flows:
  cubic: {agent: tcp, from: S, to: D, congestion: cubic}
  bbr: {agent: tcp, from: S, to: D, congestion: bbr}
  dctcp: {agent: tcp, from: S, to: D, congestion: dctcp, ecn: true}
  vegas: {agent: tcp, from: S, to: D, congestion: vegas}
  westwood: {agent: tcp, from: S, to: D, congestion: westwood}
run: {duration: 30 s}
"""


def both(written: str, folder: Path, runner: str) -> tuple[Results, Results]:
    """What the simulator gives, and the kernel."""
    network = compile(load(written)).to_json()
    ours = simulate(network, seeds=[1])[0]
    return ours, engine.run_in_guest(network, 1, folder, runner=runner).results


@pytest.mark.guests
def test_five_controls_of_one_node_have_the_kernels_goodput_each(uml: str, tmp_path: Path) -> None:
    ours, found_value = both(MIXED, tmp_path, uml)
    for flow in ("cubic", "bbr", "dctcp", "vegas", "westwood"):
        wanted = found_value.flows.where(flow=flow)["goodput_bit_s"]
        assert ours.flows.where(flow=flow)["goodput_bit_s"] == pytest.approx(wanted, rel=0.03)


def test_rfc3168_s6_1_ecn_is_each_flows_own(uml: str, tmp_path: Path) -> None:
    # Of two flows of one node through one RED the one that negotiated ECN loses nothing.
    early = "{kind: red-linux, idle_ageing: false, min: 15140 B, max: 45420 B, avpkt: 1514 B"
    early += ", burst: 17 packets, probability: 0.1}"
    port = f"fair: {{queue: {{limit: 225 kB, aqm: {early}}}}}"
    written = MIXED.replace(MIXED[MIXED.index("fair: {q") : MIXED.index("}\nflows")], port)
    head = written[: written.index("  cubic:")]
    flows = (
        "  deaf: {agent: tcp, from: S, to: D}\n  keen: {agent: tcp, from: S, to: D, ecn: true}\n"
    )
    for results in both(f"{head}{flows}run: {{duration: 10 s}}\n", tmp_path, uml):
        assert results.flows.where(flow="keen")["retransmissions"] == 0
        assert results.flows.where(flow="deaf")["retransmissions"] > 0


@pytest.mark.guests
@pytest.mark.parametrize("queue", ["fifo", "red", "fq-codel"])
@pytest.mark.parametrize("control", ["cubic", "bbr", "dctcp"])
def test_verify_finds_no_difference(control: str, queue: str, uml: str) -> None:
    expected = {
        "control": control,
        "paced": str(control == "bbr").lower(),
        "marked": str(control == "dctcp").lower(),
        "queue": queue,
    }
    overrides = {f"parameters.{key}": value for key, value in expected.items()}
    network = compile(load(CONTROLS, overrides=overrides)).to_json()
    found = verification.verify_kernel(network, [1, 2, 3, 4, 5], runner=uml)
    assert [row for row in found.rows if row.outcome == "differs"] == []

"""Two-rate markers on the kernel: the colour of each packet, against the simulator's meters."""

from collections import Counter
from pathlib import Path

import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.linux import engine
from trunkline.linux.judge import verification
from trunkline.linux.outcome.records import read_arrivals
from trunkline.network import compile
from trunkline.scenario import load

# Offered 3 Mbit/s in packets of 500 B against 1 Mbit/s committed and 1 Mbit/s more.
SCENARIO = """\
trunkline: 1
nodes: [S, A, B]
defaults: {link: {rate: 100 Mbit/s, delay: 1 ms}}
links: {S-A: {forward: {ingress: edge}}, A-B: {}}
conditioners:
  edge:
    rules: [{profile: p}]
    profiles:
      p: {meter: METER, green: {dscp: AF11}, yellow: {dscp: AF12}, red: RED}
flows:
  f: {agent: udp, from: S, to: B, rate: 3 Mbit/s, size: 500 B, arrivals: poisson, stop: 900 ms}
run: {duration: 1 s}
"""
METERS = {
    "rfc2698": "{kind: trtcm, cir: 1 Mbit/s, cbs: 3 kB, pir: 2 Mbit/s, pbs: 5 kB}",
    "rfc4115": "{kind: rfc4115, cir: 1 Mbit/s, cbs: 3 kB, eir: 1 Mbit/s, ebs: 5 kB}",
}
DSCPS = {"green": 10, "yellow": 12, "red": 14}


@pytest.mark.parametrize("name", METERS)
def test_s3_every_packet_gets_the_colour_of_its_meter(
    name: str, kernel: str, tmp_path: Path
) -> None:
    text = SCENARIO.replace("METER", METERS[name]).replace("RED", "{dscp: AF13}")
    network = compile(load(text)).to_json()
    engine.run_in_guest(network, 1, tmp_path, runner=kernel)
    (simulated,) = simulate(network, seeds=[1])
    found = Counter(each.tos >> 2 for each in read_arrivals(tmp_path, 0))
    wanted = {DSCPS[str(row["colour"])]: row["packets"] for row in simulated.colours.rows()}
    # The kernel's bucket counts time in steps of 64 ns, an emulated sender is 10 us late: of some
    # 700 packets, those that come so close to a full token fall on either side.
    assert sum(abs(found[dscp] - count) for dscp, count in wanted.items()) <= 6, (found, wanted)
    assert len(found) == 3


def test_s3_red_packets_are_dropped_one_by_one_as_the_simulator_drops_them(kernel: str) -> None:
    text = SCENARIO.replace("METER", METERS["rfc4115"]).replace("RED", "drop")
    verdict = verification.verify_kernel(compile(load(text)).to_json(), [1], runner=kernel)
    assert verdict.is_exact
    assert [row for row in verdict.rows if not row.agrees] == []
    (lost,) = [row for row in verdict.rows if row.measure == "lost, each packet"]
    assert lost.reference > 100

"""Placed paths carry packets: link loads in the kernel are those of the plan."""

from pathlib import Path

import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.linux import engine
from trunkline.network import compile
from trunkline.planning.placement import place
from trunkline.scenario import load

# A to C: 6, 5 and 3 Mbit/s do not fit on the direct link of 10, so that one goes round by B; A to B
# has 2 of its own and D hangs behind C.
MESH = """\
trunkline: 1
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, A-C: {}, C-D: {rate: 20 Mbit/s}}
demands:
  large: {from: A, to: C, rate: 6 Mbit/s, class: data}
  middle: {from: A, to: C, rate: 5 Mbit/s, class: data}
  small: {from: A, to: D, rate: 3 Mbit/s, class: data}
  side: {from: A, to: B, rate: 2 Mbit/s, class: data}
traffic: {data: {agent: udp, size: 1400 B}}
trunks: {mesh: {demands: all, path: auto}}
run: {duration: 10 s}
"""


def test_loads_of_placed_paths_are_those_of_the_plan(kernel: str, tmp_path: Path) -> None:
    scenario = load(MESH)
    planned = {each.link: each.load_bit_s for each in place(scenario).links if each.load_bit_s}
    # By hand: the demand of 5 takes A-B-C, the others the shortest way.
    assert planned == {"A->C": 9e6, "A->B": 7e6, "B->C": 5e6, "C->D": 3e6}
    written = compile(scenario).to_json()
    (ours,) = simulate(written, seeds=[1])
    value = engine.run_in_guest(written, 1, tmp_path, runner=kernel).results
    for results in (ours, value):
        ports = {str(row["link"]): row for row in results.ports.rows()}
        for link, load_bit_s in planned.items():
            # Bytes sent over the time; a label adds 4 B to 1400, 0.3 %.
            sent = 8 * int(ports[link]["bytes_sent"] or 0) / results.summary["measured_s"]
            assert sent == pytest.approx(load_bit_s, rel=0.01)

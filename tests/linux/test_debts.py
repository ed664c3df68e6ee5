"""Faults of the Linux engine that testing from outside found, by their numbers."""

import json
from pathlib import Path

import pytest

from trunkline.engine.sim import simulate
from trunkline.linux import engine
from trunkline.linux.judge import verify
from trunkline.linux.plan.compile import compile as plan
from trunkline.network import compile
from trunkline.scenario import load

WINDOW = """\
trunkline: 1
nodes: [S, A, B, D]
defaults: {link: {rate: 1 Gbit/s}, tcp: {preset: linux, variant: sack, window: WINDOW packets}}
links: {S-A: {}, A-B: {rate: 10 Mbit/s, delay: 20 ms}, B-D: {}}
flows: {tcp: {agent: tcp, from: S, to: D}}
run: {duration: 20 s}
"""


def network(text: str, **changed: str) -> str:
    for word, value in changed.items():
        text = text.replace(word, value)
    return compile(load(text)).to_json()


def test_b1_the_receivers_route_has_the_window() -> None:
    """``cwnd lock`` of a sender's route has no effect; 10 segments are 14600 B."""
    made = plan(network(WINDOW, WINDOW="10")).plan
    routes = {node.name: [line for line in node.ip if "route" in line] for node in made.nodes}
    assert any("window 14600" in line for line in routes["n3"])
    assert not any("cwnd lock" in line for lines in routes.values() for line in lines)


# Round trip: 40 ms; 1500 B and the ACK's 40 B at 10 Mbit/s, 1.2 and 0.03 ms; 1.2 ms until the
# second segment comes, which is acknowledged; 0.02 ms on the fast links: 42.45 ms. In it go 10
# segments of 1460 B: 10 * 11680 bit / 42.45 ms = 2.751 Mbit/s. With 30 it is 3 times as much.
@pytest.mark.parametrize(("window", "goodput"), [(10, 2.751e6), (30, 8.254e6)])
def test_b1_a_window_that_binds_is_goodput_times_round_trip(
    window: int, goodput: float, kernel: str, tmp_path: Path
) -> None:
    written = network(WINDOW, WINDOW=str(window))
    its = engine.run(written, 1, tmp_path, runner=kernel).results
    (ours,) = simulate(written, seeds=[1])
    for results in (its, ours):
        assert results.flows["goodput_bit_s"] == [pytest.approx(goodput, rel=0.01)]
    samples = json.loads((tmp_path / "tcp-0.json").read_text())
    assert samples["retransmitted_segments"] == 0


# Half a window of 48 segments is 24: every 25th segment is marked (PSH) and answered alone.
@pytest.mark.parametrize("window", [10, 48, 100])
def test_b1_windows_that_bind_agree_in_both_engines(window: int, uml: str) -> None:
    found = verify.verify(network(WINDOW, WINDOW=str(window)), [1], runner=uml)
    assert [row for row in found.rows if row.outcome == "differs"] == []

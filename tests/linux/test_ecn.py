"""RFC 3168 section 5 on the kernel: where an ECN-capable packet would be dropped it is marked."""

from pathlib import Path

import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.linux import engine
from trunkline.network import compile
from trunkline.scenario import load

SCENARIO = """\
trunkline: 1
nodes: [S, A, B, D]
defaults: {link: {rate: 1 Gbit/s}, tcp: {preset: linux, window: 1000 packets}}
links: {S-A: {}, A-B: {rate: 10 Mbit/s, delay: 20 ms, port: early}, B-D: {}}
ports: {early: {queue: {limit: 225 kB, aqm: AQM}}}
flows: {tcp: {agent: tcp, from: S, to: D, replicate: 3, start_jitter: 800 ms, ecn: ECN}}
run: {duration: 4 s}
"""
CURVE = "min: 15140 B, max: 45420 B, avpkt: 1514 B, burst: 17 packets, probability: 0.1"
RED = f"{{kind: red-linux, idle_ageing: false, {CURVE}}}"
HARD = f"{{kind: red-linux, idle_ageing: false, harddrop: true, {CURVE}}}"
GRED = f"{{kind: gred, dps: [{{dp: 0, limit: 225 kB, {CURVE}}}]}}"


def dropped(aqm: str, ecn: str, folder: Path, runner: str) -> tuple[int, int]:
    """Packets dropped in the simulator and in the kernel."""
    written = compile(load(SCENARIO.replace("AQM", aqm).replace("ECN", ecn))).to_json()
    ours = simulate(written, seeds=[1])[0]
    value = engine.run_in_guest(written, 1, folder, runner=runner).results
    return sum(ours.flows["packets_dropped"]), sum(value.flows["packets_dropped"])


@pytest.mark.slow
def test_s5_who_is_capable_loses_nothing(quick: str, tmp_path: Path) -> None:
    assert dropped(RED, "true", tmp_path, quick) == (0, 0)


@pytest.mark.guests
@pytest.mark.parametrize(
    ("aqm", "ecn", "drops"),
    [(RED, "false", True), (HARD, "true", True), (GRED, "true", False), (GRED, "false", True)],
    ids=["red-incapable", "red-harddrop", "gred", "gred-incapable"],
)
def test_s5_others_and_harddrop_are_dropped(
    aqm: str, ecn: str, drops: bool, kernel: str, tmp_path: Path
) -> None:
    ours, value = dropped(aqm, ecn, tmp_path, kernel)
    assert (ours > 0, value > 0) == (drops, drops)

"""Deficit round robin against ns-2's with packets of unequal sizes (``drr.tcl``, ``README.md``)."""

from __future__ import annotations

import csv
from pathlib import Path

from trunkline.engine.packet_engine import simulate
from trunkline.network import compile as compiled
from trunkline.scenario import Scenario

FILE = Path(__file__).parent / "drr.csv"
SIZES = (400, 1000, 1500)


def test_shares_of_400_1000_and_1500_byte_packets_are_those_of_ns2() -> None:
    """A third of 6 Mbit/s over 100 s is 25 MB each.

    The ends of the time counted cut a turn of one quantum, and what the counters call delivered
    lags by a packet or two: 5 kB.
    """
    flows = {
        f"f{size}": {"agent": "udp", "from": f"S{size}", "to": "D", "size": f"{size} B"}
        for size in SIZES
    }
    port = {
        "per": "flow",
        "scheduler": "drr",
        "queue": {"limit": "100 packets"},
    }
    links: dict[str, object] = {f"S{size}-hub": {"rate": "100 Mbit/s"} for size in SIZES}
    links["hub-D"] = {"rate": "6 Mbit/s", "delay": "1 ms", "forward": {"port": "drr"}}
    scenario = Scenario.model_validate(
        {
            "nodes": [*(f"S{size}" for size in SIZES), "hub", "D"],
            "links": links,
            "ports": {"drr": port},
            "defaults": {"udp": {"rate": "4 Mbit/s", "jitter": "50 %"}},
            "flows": flows,
            "run": {"duration": "110 s", "warm_up": "10 s"},
        }
    )
    (run,) = simulate(compiled(scenario), seeds=[1])
    ours = {str(row["flow"]): int(row["bytes_delivered"] or 0) for row in run.flows.rows()}
    for row in csv.DictReader(FILE.read_text("utf-8").splitlines()):
        for size in SIZES:
            assert abs(ours[f"f{size}"] - int(row[f"bytes_{size}"])) <= 5000

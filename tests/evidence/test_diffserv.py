"""A meter at the edge and a queue with precedences at the core, against ns-2's DiffServ module.

``diffserv.csv`` was written by ns-2.35 from ``diffserv.tcl`` (see ``README.md``); the tests only
read it. Counts are over 200 s after 20 s, of both sources together.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.network import compile as compiled
from trunkline.scenario import Scenario

FILE = Path(__file__).parent / "diffserv.csv"
ROWS = list(csv.DictReader(FILE.read_text("utf-8").splitlines()))
CASES = sorted({(row["mode"], row["rate_1_mbit_s"], row["rate_2_mbit_s"]) for row in ROWS})
COUNTS = ("green", "green_dropped", "red", "red_dropped")


def scenario(mode: str, rates: tuple[str, str]) -> Scenario:
    aqm = {
        "kind": mode.lower(),
        "w_q": 0.002,
        "mean_packet": "1000 B",
        "spacing": "ns2-diffserv",
        "precedences": [
            {"min_th": "20 packets", "max_th": "50 packets", "max_p": 0.1},
            {"min_th": "10 packets", "max_th": "30 packets", "max_p": 0.3},
        ],
    }
    profile = {
        "per": "flow",
        "meter": {"kind": "tsw2cm", "ctr": "1 Mbit/s", "avg_interval": "1 s"},
        "green": {"dscp": "AF11"},
        "red": {"dscp": "AF12"},
    }
    udp = {"agent": "udp", "to": "D", "size": "1000 B", "jitter": "50 %"}
    return Scenario.model_validate(
        {
            "nodes": ["S1", "S2", "edge", "core", "D"],
            "links": {
                "S1-edge": {"rate": "100 Mbit/s", "delay": "1 ms"},
                "S2-edge": {"rate": "100 Mbit/s", "delay": "1 ms"},
                "edge-core": {
                    "rate": "100 Mbit/s",
                    "delay": "1 ms",
                    "forward": {"conditioner": "edge"},
                },
                "core-D": {
                    "rate": "5 Mbit/s",
                    "delay": "1 ms",
                    "forward": {"port": "core", "account": True},
                },
            },
            "conditioners": {"edge": {"rules": [{"profile": "tsw"}], "profiles": {"tsw": profile}}},
            "ports": {
                "core": {
                    "classify": [{"dscp": "AF12", "precedence": 1}],
                    "queue": {"limit": "200 packets", "aqm": aqm},
                }
            },
            "flows": {
                "u1": udp | {"from": "S1", "rate": f"{rates[0]} Mbit/s"},
                "u2": udp | {"from": "S2", "rate": f"{rates[1]} Mbit/s"},
            },
            "run": {"duration": "220 s", "warm_up": "20 s"},
        }
    )


def ours(mode: str, rates: tuple[str, str], seeds: int) -> np.ndarray:
    found = []
    runs = simulate(compiled(scenario(mode, rates)), seeds=range(1, seeds + 1))
    for run in runs:
        sums = dict.fromkeys(COUNTS, 0)
        for row in run.accounts.rows():
            colour = str(row["colour"])
            sums[colour] += int(row["packets_offered"] or 0)
            sums[f"{colour}_dropped"] += int(row["packets_dropped"] or 0)
        found.append([sums[name] for name in COUNTS])
    return np.array(found, dtype=float)


def theirs(mode: str, rates: tuple[str, str]) -> np.ndarray:
    found = []
    for row in ROWS:
        if (row["mode"], row["rate_1_mbit_s"], row["rate_2_mbit_s"]) == (mode, *rates):
            number = {
                name: int(row[name])
                for name in row
                if name not in ("mode",) and "." not in row[name]
            }
            found.append(
                [
                    number["green"],
                    number["green_early"] + number["green_late"],
                    number["red"],
                    number["red_early"] + number["red_late"],
                ]
            )
    return np.array(found, dtype=float)


@pytest.mark.parametrize(("mode", "rate_1", "rate_2"), CASES)
def test_colours_and_drops_of_each_precedence_are_those_of_ns2(
    mode: str, rate_1: str, rate_2: str
) -> None:
    """Each mean within four standard errors of the difference, and two packets for the ends."""
    a, b = ours(mode, (rate_1, rate_2), 12), theirs(mode, (rate_1, rate_2))
    error = np.sqrt(a.var(axis=0, ddof=1) / len(a) + b.var(axis=0, ddof=1) / len(b))
    off = np.abs(a.mean(axis=0) - b.mean(axis=0))
    assert dict(zip(COUNTS, off > 4 * error + 2, strict=True)) == dict.fromkeys(COUNTS, False), (
        a.mean(axis=0),
        b.mean(axis=0),
        error,
    )


def test_tsw2cm_leaves_the_target_rate_green() -> None:
    """Of 3 Mbit/s the estimate leaves 1/3 green, of 4 a quarter: 1 Mbit/s each, 250 packets/s."""
    green = ours("RIO-C", ("3", "4"), 4)[:, 0].mean() / 200
    assert abs(green / 250 - 1) < 0.01

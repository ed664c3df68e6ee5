"""Games and schedules that stand in the file: packets by their published laws."""

from __future__ import annotations

import pytest

import trunkline as tl
from trunkline.results import Results

BASE = """
trunkline: 1
nodes: [a, b]
links: {{a-b: {{rate: 8 Mbit/s, delay: 10 ms}}}}
flows: {{f: {{agent: udp, from: a, to: b, {keys}}}}}
run: {{duration: {duration}{trace}}}
"""


def run(keys: str, duration: str = "600 s", trace: str = "") -> Results:
    return tl.run(tl.loads(BASE.format(keys=keys, duration=duration, trace=trace)))


@pytest.mark.parametrize(
    ("model", "gap_ms", "data"),
    [
        # Mean of Gumbel's law: location + 0.57722 scale. 55 + 3.463 and 120 + 20.78.
        ("ngmn-down", 58.463, 140.78),
        # Every 40 ms; 45 + 3.29.
        ("ngmn-up", 40.0, 48.29),
        # 13 + 2.136 and 50 + 6.349; 15 + 3.290 and 38 + 2.136.
        ("tig-down", 15.136, 56.35),
        ("tig-up", 18.290, 40.14),
    ],
)
def test_the_packets_of_a_game_have_the_means_of_its_model(
    model: str, gap_ms: float, data: float
) -> None:
    (flow,) = run(f"game: {{model: {model}}}").flows.rows()
    packets = int(str(flow["packets_sent"]))
    # Over 600 s gaps of at most 13 % deviation: 10,000 of them are within 0.5 %.
    assert 600_000 / packets == pytest.approx(gap_ms, rel=0.01)
    # IP and UDP take 28 B.
    assert int(str(flow["bytes_sent"])) / packets - 28 == pytest.approx(data, rel=0.01)


def test_a_schedule_may_stand_in_the_file() -> None:
    # 1200 B at 8 Mbit/s take 1.2 ms, 400 B 0.4 ms, and 10 ms: there at 11.2 and 30.4 ms.
    keys = "arrivals: schedule, datagrams: [{time: 0 s, size: 1200 B}, {time: 20 ms, size: 400 B}]"
    results = run(keys, "1 s", ", trace: true")
    there = [row for row in results.packets.rows() if row["event"] == "delivered"]
    assert [(row["time_ns"], row["ip_bytes"]) for row in there] == [
        (11_200_000, 1200),
        (30_400_000, 400),
    ]

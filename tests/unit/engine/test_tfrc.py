"""UDP that heeds congestion (TFRC, RFC 5348): its equation, its neighbours, its limits."""

from __future__ import annotations

import json
import math
from importlib import resources
from statistics import fmean
from typing import Any

import pytest

from trunkline.api import run_many
from trunkline.scenario import load

LOSSY = """
trunkline: 1
nodes: [S, D]
links: {S-D: {rate: 100 Mbit/s, delay: 50 ms, forward: {loss: 1 %%}}}
flows: {u: {agent: udp, from: S, to: D, arrivals: tfrc, size: 1000 B%s}}
run: {duration: 220 s, warm_up: 20 s}
"""
SHARED = """
trunkline: 1
nodes: [S, R, D]
ports: {red: {queue: {limit: 60 packets, aqm: {kind: red, min_th: 10 packets, max_th: 30 packets}}}}
links: {S-R: {rate: 100 Mbit/s, delay: 1 ms}, R-D: {rate: 4 Mbit/s, delay: 20 ms, port: red}}
defaults: {tcp: {mss: 960 B, start_jitter: 1 s}, udp: {size: 1000 B, start_jitter: 1 s}}
flows:
  tcp: {agent: tcp, from: S, to: D, variant: sack, replicate: 4}
  udp: {agent: udp, from: S, to: D, %s, replicate: 4}
run: {duration: 120 s, warm_up: 20 s}
"""


def flows_of(text: str, seeds: int = 3, **overrides: Any) -> list[dict[str, dict[str, Any]]]:
    runs = run_many(load(text, overrides=overrides), seeds=range(1, seeds + 1))
    return [{str(row["flow"]): row for row in each.flows.rows()} for each in runs]


def equation(size: float, rtt: float, p: float) -> float:
    """RFC 5348 section 3.1 with b = 1 and t_RTO = 4 R [bit/s]."""
    root = math.sqrt(2 * p / 3) + 12 * math.sqrt(3 * p / 8) * p * (1 + 32 * p**2)
    return 8 * size / (rtt * root)


def test_rfc5348_s3_1_random_losses_leave_the_rate_of_the_equation() -> None:
    """A loss event begins with a loss, and then none for a round trip, of n datagrams.

    So events are p / (1 + n p) of the datagrams, with n = X R / s: solved with the equation.
    """
    rate = fmean(each["u"]["throughput_bit_s"] for each in flows_of(LOSSY % ""))
    rtt, size, loss, expected = 0.1001, 1000, 0.01, 1e6
    for _ in range(50):
        events = loss / (1 + expected * rtt / (8 * size) * loss)
        expected = equation(size, rtt, events)
    assert rate == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("interval", [50, 100, 400])
def test_rfc5348_s3_1_a_loss_in_so_many_leaves_the_rate_of_the_equation(interval: int) -> None:
    """Every nth datagram is lost, so that the loss event rate is 1 / n: the rate within 3 %.

    The round trip is 100 ms, the bits of a datagram and of a report, and the history of eight
    intervals is full when the warm-up ends.
    """
    lost = [{"flow": "u", "segment": interval * number} for number in range(1, 400)]
    text = (LOSSY % "").replace("forward: {loss: 1 %}", f"lose: {json.dumps(lost)}")
    (row,) = run_many(load(text), seeds=[1])[0].flows.rows()
    expected = equation(1000, 0.1001, 1 / interval)
    assert row["throughput_bit_s"] * (1 + 1 / interval) == pytest.approx(expected, rel=0.03)


def test_rfc5348_s4_3_the_application_sends_no_faster_than_it_has_data() -> None:
    flow = flows_of(LOSSY % ", rate: 400 kbit/s", 1)[0]["u"]
    assert 380e3 < flow["offered_bit_s"] <= 400e3 * 1.001


def test_rfc5348_s1_beside_tcp_it_takes_what_a_tcp_connection_takes() -> None:
    """RFC 5348 section 1: "generally within a factor of two"; UDP of 1 Mbit/s each takes all."""
    shares = {}
    for name, keys in (("tfrc", "arrivals: tfrc"), ("cbr", "rate: 1 Mbit/s")):
        runs = flows_of(SHARED % keys, 2)
        tcp, udp = (
            fmean(
                row["throughput_bit_s"]
                for each in runs
                for flow, row in each.items()
                if kind in flow
            )
            for kind in ("tcp", "udp")
        )
        shares[name] = udp / tcp
    assert 0.5 < shares["tfrc"] < 2
    assert shares["cbr"] > 4


def test_bhani1999_case_2_with_a_udp_source_that_heeds_congestion_leaves_tcp1_its_share() -> None:
    """What the paper asks for: UDP and TCP1 are mixed on a trunk, and UDP does not starve it."""
    folder = resources.files("trunkline.studies") / "bhani1999"
    text = (folder / "case2.yaml").read_text()
    plain = flows_of(text, 2, udp_rate="44 Mbit/s")
    heeding = flows_of(text, 2, **{"flows.udp.arrivals": "tfrc", "udp_rate": "44 Mbit/s"})
    before, after = (
        fmean(each["tcp1"]["goodput_bit_s"] for each in one) for one in (plain, heeding)
    )
    assert after > 2 * before

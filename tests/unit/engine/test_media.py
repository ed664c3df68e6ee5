"""Interactive media whose rate follows the network (NADA, RFC 8698) through the packet engine."""

from __future__ import annotations

from typing import Any

import pytest

from trunkline.api import run
from trunkline.results import Results
from trunkline.scenario import loads

ONE_LINK = """
trunkline: 1
nodes: [S, R, D]
ports: {bottleneck: %(port)s}
links:
  S-R: {rate: 100 Mbit/s}
  R-D: {rate: %(rate)s, delay: 20 ms, port: bottleneck}
flows:
%(flows)s
run: {duration: %(duration)s, warm_up: 40 s}
"""
MEDIA = "  {name}: {{agent: udp, from: S, to: D, media: {{{keys}}}}}"


def simulate(
    *flows: str,
    rate: str = "1 Mbit/s",
    port: str = "{queue: {limit: 100 packets}}",
    duration: str = "120 s",
    more: str = "",
) -> Results:
    keys = {"port": port, "rate": rate, "flows": "\n".join(flows), "duration": duration}
    return run(loads(ONE_LINK % keys + more))


def row(results: Results, table: str, **where: str) -> dict[str, Any]:
    return dict(results.tables[table].where(**where))


def test_rfc8698_s4_3_a_flow_alone_fills_its_link_with_the_queue_of_the_equilibrium() -> None:
    """x = PRIO * XREF * RMAX / r: 10 ms * 2.5 / 1 at a link of 1 Mbit/s."""
    results = simulate(MEDIA.format(name="film", keys="max_rate: 2.5 Mbit/s"))
    port = row(results, "ports", link="R->D")
    assert port["utilisation"] > 0.99
    assert port["packets_dropped"] == 0
    # The controller takes the least of 15 delays, the mean wait is a packet or so above or below.
    assert port["wait_mean_s"] == pytest.approx(0.025, abs=0.004)
    film = row(results, "videos", flow="film")
    assert film["stalls"] == 0
    assert film["bit_rate_bit_s"] == pytest.approx(1e6, rel=0.05)


def test_rfc8698_s4_3_priorities_share_a_bottleneck_in_their_ratio() -> None:
    """With one signal x for both, r is as PRIO * RMAX."""
    flows = (
        MEDIA.format(name="one", keys="max_rate: 2.5 Mbit/s"),
        MEDIA.format(name="two", keys="max_rate: 2.5 Mbit/s, priority: 2"),
    )
    results = simulate(*flows, rate="3 Mbit/s", duration="200 s")
    rates = [row(results, "flows", flow=name)["throughput_bit_s"] for name in ("one", "two")]
    assert rates[1] / rates[0] == pytest.approx(2, rel=0.1)


def test_marks_in_place_of_drops_keep_the_picture_moving() -> None:
    codel = "{queue: {limit: 1000 packets, aqm: codel}}"
    stalled, marks, lost = [], [], []
    for ecn in ("off", "on"):
        results = simulate(
            MEDIA.format(name="film", keys=f"max_rate: 2.5 Mbit/s, ecn: {ecn}"), port=codel
        )
        stalled.append(row(results, "videos", flow="film")["stall_ratio"])
        marks.append(row(results, "flows", flow="film")["packets_ce"])
        lost.append(row(results, "flows", flow="film")["packets_dropped"])
    assert stalled[0] > 0.02
    assert stalled[1] < 0.002
    assert marks[0] == 0 < marks[1]
    assert lost[0] > 0 == lost[1]


def test_the_picture_stands_still_while_a_link_is_down() -> None:
    """Of 3 s of failure; frames that wait at the cut or behind it come late, too."""
    results = simulate(
        MEDIA.format(name="film", keys="ladder: [300 kbit/s, 700 kbit/s]"),
        more="failures: {cut: {link: R-D, at: 60 s, repair: 63 s}}\n",
    )
    film = row(results, "videos", flow="film")
    assert 3.0 <= film["stalled_s"] < 3.6
    # The upper rung fits before and after: the rate falls and comes back.
    assert film["switches"] <= 4
    assert film["bit_rate_bit_s"] > 650e3


def test_rfc8888_s5_without_reports_the_rate_falls_to_the_least_and_comes_back() -> None:
    """A cut of 5 s: 1 Mbit/s, a half each 420 ms, is 150 kbit/s after three steps."""
    results = simulate(
        MEDIA.format(name="film", keys="max_rate: 2.5 Mbit/s"),
        more="failures: {cut: {link: R-D, at: 60 s, repair: 65 s}}\n"
        "probes: [{link: S->R, measure: utilisation, every: 1 s}]\n",
    )
    series = zip(results.series["time_ns"], results.series["value"], strict=True)
    rates = {int(str(time)) // 10**9: float(str(share)) * 100e6 for time, share in series}
    assert rates[60] == pytest.approx(1e6, rel=0.1)
    assert [rates[second] for second in (63, 64, 65)] == pytest.approx([150e3] * 3, rel=0.1)
    assert rates[100] == pytest.approx(1e6, rel=0.1)


def test_rfc8888_s3_1_a_report_on_each_packet_comes_every_100_ms() -> None:
    results = simulate(MEDIA.format(name="film", keys="ladder: 500 kbit/s"))
    flow, port = row(results, "flows", flow="film"), row(results, "ports", link="D->R")
    assert flow["acks_sent"] == pytest.approx(80 / 0.1, rel=0.08)
    # IP and UDP 28 B, 20 B, and 2 B for each packet of two intervals.
    packets = flow["packets_sent"] / flow["acks_sent"]
    assert port["bytes_sent"] / port["packets_sent"] == pytest.approx(48 + 4 * packets, abs=2)

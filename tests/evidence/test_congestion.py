"""Controls of congestion against the laws of those who devised them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trunkline as tl

RFC = {"timestamps": True}
LINUX = {"preset": "linux"}
SHORT = {"rate": "10 Mbit/s", "delay": "20 ms"}


def run(
    tcp: dict[str, Any], flows: int, link: dict[str, Any], aqm: dict[str, Any], seconds: int
) -> tl.Results:
    """Endless flows of one control over one link; its queue every 50 us in the last second."""
    sources = [f"S{each}" for each in range(flows)]
    access = {"rate": "10 Gbit/s", "delay": "0 ms"}
    common = {"agent": "tcp", "to": "D", "variant": "sack", "window": "10000 packets"} | tcp
    scenario = tl.Scenario.model_validate(
        {
            "nodes": [*sources, "A", "D"],
            "links": {"A-D": link | {"forward": {"port": "q"}}}
            | {f"{source}-A": access for source in sources},
            "ports": {"q": {"queue": {"limit": "1000 packets"} | aqm}},
            "flows": {
                f"f{each}": common | {"from": source, "start": f"{7 * each} ms"}
                for each, source in enumerate(sources)
            },
            "probes": [{"link": "A->D", "measure": "queue-packets", "every": "50 us"}],
            "run": {"duration": f"{seconds} s", "warm_up": f"{seconds // 4} s"},
        }
    )
    return tl.run(scenario, seed=1)


def queue(results: tl.Results) -> np.ndarray[Any, Any]:
    """Segments in the queue, the first quarter left out."""
    found = results.series.to_numpy()["value"]
    return found[len(found) // 4 :]


def goodput(results: tl.Results) -> float:
    """Of all flows [bit/s]."""
    return sum(row["goodput_bit_s"] for row in results.flows.rows() if row["flow"] != "all")


@pytest.mark.parametrize(("stack", "burst"), [(RFC, 1), (LINUX, 2)])
def test_alizadeh2010_s3_3_the_queue_of_dctcp_swings_about_its_threshold(stack, burst):
    # 1 Gbit/s, 400 us, two flows, K = 20 segments of 12 us each. W* = (C RTT + K) / N = (33.3 + 20)
    # / 2 = 26.67, alpha = sqrt(2 / W*) = 0.274: it swings by N (W* + 1) alpha / 2 = 7.6 below
    # Qmax = K + N = 22: from 14.4 to 22 segments. It is never empty: 1460 of 1500 B are goodput.
    # What one acknowledgement lets go comes at once: a segment, two where it is delayed.
    aqm = {"aqm": {"kind": "codel", "target": "50 ms", "ce_threshold": "240 us"}}
    tcp = stack | {"congestion": "dctcp", "ecn": True}
    results = run(tcp, 2, {"rate": "1 Gbit/s", "delay": "200 us"}, aqm, 4)
    low, high = np.percentile(queue(results), [1, 99])
    assert low >= 14.4 - burst
    assert high <= 22 + burst
    assert queue(results).mean() == pytest.approx((14.4 + 22) / 2, abs=1.5)
    assert goodput(results) == pytest.approx(1e9 * 1460 / 1500, rel=0.001)


@pytest.mark.parametrize("stack", [RFC, LINUX])
def test_cardwell2016_bbr_fills_the_link_but_for_its_probes(stack):
    # 10 Mbit/s and 40 ms are 33.3 segments. The pace is 1 % below the rate that was found, and once
    # in 10 s the window is 4 for 0.2 s: 1.8 %. So 97 to 99 % of what fits, without a loss, and the
    # queue holds less than the path.
    results = run(stack | {"congestion": "bbr"}, 1, SHORT, {}, 60)
    assert 0.97 <= goodput(results) / (10e6 * 1460 / 1500) <= 0.99
    assert sum(row["packets_dropped"] for row in results.flows.rows()) == 0
    assert queue(results).mean() < 33.3


@pytest.mark.parametrize("stack", [RFC, LINUX])
def test_brakmo1995_s3_2_two_to_four_segments_of_vegas_wait(stack):
    # The segment in service counts in the queue too.
    results = run(stack | {"congestion": "vegas"}, 1, SHORT, {}, 30)
    assert 2 <= queue(results).mean() <= 5
    assert goodput(results) == pytest.approx(10e6 * 1460 / 1500, rel=0.001)

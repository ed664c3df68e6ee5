"""Small queues: what of a TCP sender waits in its own host, as in a Linux kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from trunkline.api import run_many
from trunkline.results import Results
from trunkline.scenario import load

SCENARIO = (Path(__file__).parent / "linux" / "own-link.yaml").read_text()
PORTS = ("fifo", "priority", "drr", "fq-codel")


def run(overrides: dict[str, str], stack: str = "linux", threads: int = 1) -> Results:
    scenario = load(
        SCENARIO.replace("preset: linux", "preset: linux" if stack == "linux" else "stack: rfc"),
        overrides=overrides,
    )
    return run_many(scenario, seeds=[1], threads=threads)[0]


def longest_queue(results: Results) -> int:
    ports = results.ports
    waiting = zip(ports["link"], ports["queue_max_packets"], strict=True)
    return max(int(most) for link, most in waiting if link == "sender->router")


@pytest.mark.parametrize("port", PORTS)
def test_tcp_small_queue_check_two_segments_wait_at_the_senders_own_link(port: str) -> None:
    # At 10 Mbit/s 2^-10 s are fewer bytes than two segments' memory: two wait, and a packet of the call.
    results = run({"parameters.port": port})
    assert 2 <= longest_queue(results) <= 3
    # Its link is never idle for that: 1460 of 1514 B, less the call's 85.6 kbit/s.
    goodput = float(results.flows.where(flow="data")["goodput_bit_s"])
    assert goodput == pytest.approx((10e6 - 400 * 214) * 1460 / 1514, rel=2e-3)


def test_tcp_small_queue_check_does_not_hold_the_rfcs_sender_back() -> None:
    assert longest_queue(run({}, stack="rfc")) > 20

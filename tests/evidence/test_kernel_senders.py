"""TCP senders of the simulator of today against those of a Linux kernel, where nothing is drawn."""

from __future__ import annotations

import kernel_senders
import pytest
from kernel_senders import FOLDER, Case, read_kernel_record, run_simulator

from trunkline.api import run_many
from trunkline.results import Results
from trunkline.scenario import load

TOLERANCES = {
    "own link": (10e-6, 0.001),
    "hystart": (0.0, 1e-9),
    "transfer": (1e-3, 0.0),
    # Probes of each millisecond find some 470 of 8,000 times a packet at 10 Mbit/s and 1 ms.
    "dctcp": (0.008, 1e-4),
}
"""How far apart, of each of the two values: [s] and a share; none; [s] and none; two shares."""
SHARES = {"own link": (False, True), "dctcp": (True, True)}


@pytest.mark.parametrize("case", kernel_senders.CASES, ids="-".join)
def test_a_sender_does_what_the_kernels_did(case: Case) -> None:
    pairs = zip(run_simulator(case), read_kernel_record()[case], strict=True)
    shares = SHARES.get(case[0], (False, False))
    for (ours, theirs), share, tolerance in zip(pairs, shares, TOLERANCES[case[0]], strict=True):
        assert abs(ours - theirs) <= tolerance * (theirs if share else 1)


@pytest.mark.parametrize("case", kernel_senders.DCTCP[1:], ids="-".join)
def test_linux_dctcp_has_the_kernels_mean_queue(case: Case) -> None:
    """1.4 to 3.1 % apart where writes began after two segments, whatever room the host had; up to
    4 % where the acknowledgement that ends a window counted in the next one."""
    ours, theirs = run_simulator(case)[0], read_kernel_record()[case][0]
    assert ours == pytest.approx(theirs, rel=0.003)


def longest_queue(results: Results) -> int:
    ports = results.ports
    waiting = zip(ports["link"], ports["queue_max_packets"], strict=True)
    return max(int(most) for link, most in waiting if link == "sender->router")


@pytest.mark.parametrize("port", ["fifo", "priority", "drr", "fq-codel"])
def test_tcp_small_queue_check_two_segments_wait_at_the_senders_own_link(port: str) -> None:
    # At 10 Mbit/s 2^-10 s are fewer bytes than the memory of two segments: they wait, and a packet
    # of the call.
    scenario = load(FOLDER / "own-link.yaml", overrides={"parameters.port": port})
    first, second = (run_many(scenario, seeds=[1], threads=threads)[0] for threads in (1, 2))
    assert 2 <= longest_queue(first) <= 3
    assert first.hash() == second.hash()


def test_tcp_small_queue_check_does_not_hold_the_rfcs_sender_back() -> None:
    text = (FOLDER / "own-link.yaml").read_text().replace("preset: linux", "stack: rfc")
    assert longest_queue(run_many(load(text), seeds=[1])[0]) > 20

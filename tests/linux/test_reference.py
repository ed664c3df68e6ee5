"""Kernel TCP in our guests against runs of the same kernel that were recorded with other tools.

Recorded with user-mode Linux 6.1.192 and QEMU under shell scripts and a traffic generator in C, on
another build of the kernel: a dumbbell s-a-b-r, segments of 1460 bytes without time stamps, HTB on
a-b, netem 20 ms each way on b, 60 s. Between builds goodput went from 8.966 to 8.992 Mbit/s and
drops from 131 to 140, by the phase of timers alone.
"""

import json
from dataclasses import replace

import pytest
from line_plans import SECOND_NS, make_line_plan, make_tcp_flow

from trunkline.linux.guest.readiness import examine_runner
from trunkline.linux.guest.runner import execute_plan
from trunkline.linux.plan.guest_plan import TCP_INFO_RECORD

RUNNERS = ["uml", pytest.param("qemu", marks=pytest.mark.guests)]


@pytest.fixture(params=RUNNERS)
def kernel(request):
    """User-mode Linux in `./dev test`, the emulated machine with --linux."""
    state = examine_runner(request.param)
    if not state.is_ready:
        pytest.skip(f"the runner {request.param} is not ready: {state.reason}")
    return request.param


def dumbbell(flows, rate, queue, sack=0):
    """The recorded set-up."""
    plan = make_line_plan(
        4,
        tc={
            "n1": (
                "qdisc add dev l1a root handle 1: htb default 1",
                f"class add dev l1a parent 1: classid 1:1 htb rate {rate} ceil {rate} "
                "burst 1514 cburst 1514 quantum 1514",
                f"qdisc add dev l1a parent 1:1 handle 10: {queue}",
            ),
            "n2": (
                "qdisc add dev l2a root netem delay 20ms limit 100000",
                "qdisc add dev l1b root netem delay 20ms limit 100000",
            ),
        },
        tcp=flows,
        duration_ns=60 * SECOND_NS,
    )
    keys = (("tcp_sack", sack), ("tcp_dsack", sack), ("tcp_ecn", 0), ("tcp_no_metrics_save", 1))
    for node in plan.nodes:
        sysctls = node.sysctls + tuple((f"net/ipv4/{key}", str(value)) for key, value in keys)
        object.__setattr__(node, "sysctls", sysctls)
    return plan


def outcome(plan, folder, runner):
    """Goodput of each flow [bit/s], drops of the queue, samples of the first flow."""
    execute_plan(plan, {}, folder, runner)
    goodputs = []
    for flow in plan.tcp:
        totals = json.loads((folder / f"tcp-{flow.id}.json").read_text())
        goodputs.append(totals["received_bytes"] * 8 / 60)
    statistics = json.loads((folder / "stats.json").read_text())
    (queue,) = [q for q in statistics[0]["nodes"]["n1"]["qdiscs"] if q.get("parent") == "1:1"]
    first = plan.tcp[0].id
    samples = list(TCP_INFO_RECORD.iter_unpack((folder / f"tcp-{first}.bin").read_bytes()))
    return goodputs, queue["drops"], samples


def test_newreno_through_drop_tail(kernel, tmp_path):
    plan = dumbbell((make_tcp_flow(4),), "10mbit", "pfifo limit 50")
    (goodput,), drops, samples = outcome(plan, tmp_path, kernel)
    # Both kernels: with 64 B more room for headers, and so twice the buffer (`tcp_sndbuf_expand`),
    # the sender loses 116 and has 9.112 Mbit/s.
    assert goodput == pytest.approx(8.970e6, rel=0.002)
    assert 129 <= drops <= 133
    # After the two recoveries of the start: a saw-tooth between 42 and 84 segments.
    windows = [sample[1] for sample in samples if sample[0] > 10 * SECOND_NS]
    assert max(windows) in range(79, 87)
    assert min(windows) in range(40, 44)
    # Slow start ended at 165 segments, at 0.31 s.
    start = [sample for sample in samples if sample[0] < SECOND_NS]
    highest = max(start, key=lambda sample: sample[1])
    assert highest[1] in range(155, 176)
    assert highest[0] == pytest.approx(0.31e9, abs=0.03e9)


@pytest.mark.guests
def test_sack_through_drop_tail(kernel, tmp_path):
    plan = dumbbell((make_tcp_flow(4),), "10mbit", "pfifo limit 50", sack=1)
    (goodput,), drops, _ = outcome(plan, tmp_path, kernel)
    assert goodput == pytest.approx(9.6235e6, rel=0.005)
    assert 105 <= drops <= 120


@pytest.mark.guests
def test_eight_newreno_flows_through_red(kernel, tmp_path):
    flows = tuple(
        make_tcp_flow(4, number, start_ns=(number - 1) * SECOND_NS // 10) for number in range(1, 9)
    )
    red = "red limit 225000 min 15140 max 45420 avpkt 1514 burst 17 bandwidth 10mbit "
    totals, losses = [], []
    for seed in (1, 2, 3):
        plan = replace(dumbbell(flows, "10mbit", f"{red}probability 0.1"), seed=seed)
        goodputs, drops, _ = outcome(plan, tmp_path / str(seed), kernel)
        totals.append(sum(goodputs))
        losses.append(drops)
    # From seed to seed drops go from 1812 to 2125 here, that is by 8 % of their mean (one standard
    # deviation), and the recorded run is one more draw: 15 % are two deviations of the difference.
    assert sum(totals) / 3 == pytest.approx(9.4267e6, rel=0.015)
    assert sum(losses) / 3 == pytest.approx(1872, rel=0.15)


@pytest.mark.guests
def test_24_newreno_flows_through_half_the_rate(kernel, tmp_path):
    # Which flow meets the full queue is a matter of phase: with starts 1 to 250 ms apart drops go
    # from 2382 to 2925 and Jain's index from 0.908 to 0.991. Recorded were 2522 and 0.931.
    losses, fairness = [], []
    for gap in (10, 37, 100):
        starts = [number * gap * SECOND_NS // 1000 for number in range(24)]
        flows = tuple(
            make_tcp_flow(4, number + 1, start_ns=start) for number, start in enumerate(starts)
        )
        plan = dumbbell(flows, "5mbit", "pfifo limit 50")
        goodputs, drops, _ = outcome(plan, tmp_path / str(gap), kernel)
        losses.append(drops)
        fairness.append(sum(goodputs) ** 2 / (24 * sum(rate * rate for rate in goodputs)))
        assert sum(goodputs) == pytest.approx(4.7652e6, rel=0.01)
    assert sum(losses) / 3 == pytest.approx(2522, rel=0.1)
    assert sum(fairness) / 3 == pytest.approx(0.931, abs=0.04)

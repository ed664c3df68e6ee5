"""Guests do what the rules of their queues and protocols say, and the same each time."""

import itertools
import json
from dataclasses import replace

import pytest
from line_plans import SECOND_NS, make_line_plan, make_schedule, make_tcp_flow, make_udp_flow

from trunkline.linux.guest.process import GuestFailed
from trunkline.linux.guest.runner import execute_plan
from trunkline.linux.plan.guest_plan import (
    ARRIVAL_RECORD,
    GOODPUT_RECORD,
    TCP_INFO_RECORD,
    PlannedNode,
)

# A payload of 972 bytes is 1014 on an Ethernet link, which HTB counts: 811.2 us at 10 Mbit/s.
SERVICE_NS = 1014 * 8 * 100
BOTTLENECK = (
    "qdisc add dev l1a root handle 1: htb default 1",
    "class add dev l1a parent 1: classid 1:1 htb rate 10mbit burst 1014 cburst 1014",
    "qdisc add dev l1a parent 1:1 handle 10: pfifo limit 50",
)
RED = (
    *BOTTLENECK[:2],
    "qdisc add dev l1a parent 1:1 handle 10: red limit 100000 min 5000 max 20000 avpkt 1000 "
    "burst 10 bandwidth 10mbit probability 0.1",
)


def received(folder, flow=0):
    return list(ARRIVAL_RECORD.iter_unpack((folder / f"udp-{flow}.bin").read_bytes()))


def test_a_burst_loses_all_but_the_queue_and_what_is_left_leaves_in_service_times(kernel, tmp_path):
    plan = make_line_plan(3, tc={"n1": BOTTLENECK}, udp=(make_udp_flow(),))
    execute_plan(plan, {"udp-0": make_schedule([0] * 100)}, tmp_path, kernel)
    assert (tmp_path / "udp-0.sent").read_text() == "100\n"
    packets = received(tmp_path)
    numbers = [packet[0] for packet in packets]
    # HTB lets a packet go while it has tokens, that is one for the burst and one into debt, the
    # queue holds 50, and the clock stands still meanwhile. An emulated kernel takes time to send,
    # in which the link takes another few.
    least, most = (51, 52) if kernel == "uml" else (51, 54)
    assert least <= len(numbers) <= most
    assert numbers[:51] == list(range(51))
    statistics = json.loads((tmp_path / "stats.json").read_text())
    (queue,) = [q for q in statistics[0]["nodes"]["n1"]["qdiscs"] if q["kind"] == "pfifo"]
    assert queue["drops"] == 100 - len(numbers)
    assert queue["packets"] == len(numbers)
    (leaf,) = statistics[0]["nodes"]["n1"]["classes"]["l1a"]
    assert (leaf["handle"], leaf["bytes"]) == ("1:1", 1014 * len(numbers))
    # From then on they leave one service time apart. The clock of uml counts in steps of 256 ns; an
    # emulated processor takes time to forward.
    arrivals = [packet[5] for packet in packets[4:]]
    gaps = [later - earlier for earlier, later in itertools.pairwise(arrivals)]
    tolerance = 1_000 if kernel == "uml" else 40_000
    assert all(abs(gap - SERVICE_NS) <= tolerance for gap in gaps)
    assert abs((arrivals[-1] - arrivals[0]) / len(gaps) - SERVICE_NS) < 2_000


def test_marks_and_times_come_back_with_every_packet(guest, tmp_path):
    plan = make_line_plan(4, udp=(make_udp_flow(4, tos=184),))
    times = [0, 7_000_001, 500_000_000]
    execute_plan(plan, {"udp-0": make_schedule(times)}, tmp_path, guest)
    packets = received(tmp_path)
    assert [packet[4] for packet in packets] == times
    # RFC 791 section 3.2: each router takes one from the time to live; there are two.
    assert [packet[1:3] for packet in packets] == [(184, 62)] * 3
    if guest == "uml":
        assert all(0 <= packet[5] - packet[4] < 2_000 for packet in packets)


def test_a_transfer_is_complete_and_its_samples_agree_with_its_totals(kernel, tmp_path):
    # 500 segments through 10 Mbit/s and 20 ms: no loss at a queue of 1000.
    size = 500 * 1460
    queue = BOTTLENECK[2].replace("50", "1000")
    delay = ("qdisc add dev l1b root netem delay 20ms limit 10000",)
    plan = make_line_plan(
        3,
        tc={"n1": (*BOTTLENECK[:2], queue), "n2": delay},
        tcp=(make_tcp_flow(start_ns=50_000_000, bytes=size),),
        duration_ns=2 * SECOND_NS,
    )
    execute_plan(plan, {}, tmp_path, kernel)
    totals = json.loads((tmp_path / "tcp-1.json").read_text())
    assert (totals["received_bytes"], totals["acked_bytes"]) == (size, size)
    assert (totals["data_segments_sent"], totals["retransmitted_segments"]) == (500, 0)
    # The handshake takes one round trip; 500 frames of 1514 bytes take 605.6 ms at 10 Mbit/s.
    assert 70_000_000 <= totals["established_ns"] < 71_500_000
    assert totals["established_ns"] + 605_600_000 <= totals["finished_ns"] < SECOND_NS
    samples = list(TCP_INFO_RECORD.iter_unpack((tmp_path / "tcp-1.bin").read_bytes()))
    assert samples[0][0] == 50_000_000
    assert all(
        later[0] - earlier[0] == 10_000_000 for earlier, later in itertools.pairwise(samples)
    )
    assert samples[-1][9:11] == (size, 500)
    # RFC 6928 section 2: the initial window is ten segments.
    assert next(sample for sample in samples if sample[10] > 0)[1] >= 10
    goodput = list(GOODPUT_RECORD.iter_unpack((tmp_path / "tcp-1.goodput").read_bytes()))
    assert goodput[-1][1] == size
    assert [b for _, b in goodput] == sorted(b for _, b in goodput)


def test_labels_are_pushed_swapped_and_popped(kernel, tmp_path):
    plan = make_line_plan(4, udp=(make_udp_flow(4),))
    labels = (("net/mpls/platform_labels", "1000"),)
    n0, n1, n2, n3 = plan.nodes
    ingress = [route for route in n0.ip if not route.startswith("route add 10.0.2.0")]
    n0 = replace(
        n0,
        sysctls=(*n0.sysctls, *labels),
        ip=(*ingress, "route add 10.0.2.0/24 encap mpls 100 via 10.0.0.2"),
    )
    n1 = replace(
        n1,
        sysctls=(*n1.sysctls, *labels, ("net/mpls/conf/l0b/input", "1")),
        mpls=("route add 100 as 200 via inet 10.0.1.2",),
        ip=tuple(route for route in n1.ip if not route.startswith("route add 10.0.2.0")),
    )
    n2 = replace(
        n2,
        sysctls=(*n2.sysctls, *labels, ("net/mpls/conf/l1b/input", "1")),
        mpls=("route add 200 via inet 10.0.2.2 dev l2a",),
    )
    execute_plan(
        replace(plan, nodes=(n0, n1, n2, n3)), {"udp-0": make_schedule([0, 1000])}, tmp_path, kernel
    )
    # n1 has no route for 10.0.2.0/24 any more: what arrives went by its labels.
    assert len(received(tmp_path)) == 2


COINS = make_line_plan(
    3,
    tc={"n1": RED},
    udp=(make_udp_flow(),),
    tcp=(make_tcp_flow(),),
    duration_ns=SECOND_NS // 2,
    seed=11,
)
GIVEN = {"udp-0": make_schedule([i * 600_000 for i in range(800)])}


def left(plan, folder, runner):
    """What a run leaves, by file."""
    execute_plan(plan, GIVEN, folder, runner)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_plan_leaves_the_same_bytes(kernel, tmp_path):
    first, second = (left(COINS, tmp_path / name, kernel) for name in ("one", "two"))
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] in ([], ["cost.json"])
    (red,) = [
        q for q in json.loads(first["stats.json"])[0]["nodes"]["n1"]["qdiscs"] if q["kind"] == "red"
    ]
    assert red["drops"] > 0


def test_another_seed_throws_other_coins(kernel, tmp_path):
    first, second = (
        left(replace(COINS, seed=seed), tmp_path / str(seed), kernel) for seed in (11, 12)
    )
    assert first["udp-0.bin"] != second["udp-0.bin"]


def test_an_order_that_the_kernel_refuses_fails_the_run_with_its_line(native, tmp_path):
    refused = "qdisc replace dev l1a root handle 1: hfcs default 1"
    plan = make_line_plan(3, tc={"n1": ("qdisc add dev l1a root pfifo limit 5", refused)})
    with pytest.raises(GuestFailed) as failed:
        execute_plan(plan, {}, tmp_path, native)
    assert failed.value.reason.startswith(f"node n1: tc {refused}: ")
    assert "hfcs" in failed.value.reason.removeprefix(f"node n1: tc {refused}: ")


def test_a_sysctl_that_is_not_there_fails_the_run(native, tmp_path):
    plan = make_line_plan(2)
    nodes = (replace(plan.nodes[0], sysctls=(("net/ipv4/no_such_key", "1"),)), plan.nodes[1])
    with pytest.raises(GuestFailed, match=r"node n0: sysctl net/ipv4/no_such_key = 1"):
        execute_plan(replace(plan, nodes=nodes), {}, tmp_path, native)


def test_a_line_feed_cannot_come_into_an_order(tmp_path):
    plan = replace(
        make_line_plan(2), nodes=(PlannedNode("n0", ip=("link set lo up\nnode n9",)),), links=()
    )
    with pytest.raises(ValueError, match="printable"):
        execute_plan(plan, {}, tmp_path, "native")

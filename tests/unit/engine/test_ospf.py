"""OSPF in simulated time: flooding, back-off and micro-loops by hand; RFC 2328 by clause."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

import trunkline as tl
from trunkline.results.results import Results

MS = 1_000_000
# The way from S to T is A-B-T; when B-T is cut it is A-C-D-T.
CUT = """\
trunkline: 1
nodes: [S, A, B, C, D, T]
defaults: {link: {rate: 100 Mbit/s, delay: 2 ms}}
links: {S-A: {}, A-B: {}, B-T: {}, A-C: {metric: 2}, C-D: {metric: 2}, D-T: {metric: 2}}
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B}}
failures: {cut: {link: B-T, at: 1 s}}
routing: {ospf: {hello: 0 s}}
run: {duration: 3 s, trace: true}
"""
# An LSA of a router with k neighbours and its own address: header 20 B, 4 B, k + 1 links of 12 B
# (RFC 2328 section A.4.2); in an update with 24 + 4 B before it and an IP header of 20 B.
UPDATE = {neighbours: 20 + 28 + 24 + 12 * (neighbours + 1) for neighbours in range(5)}


def moments(results: Results, event: str) -> dict[str, list[int]]:
    """Times of an event by node [ns]."""
    found: dict[str, list[int]] = {}
    for row in results.timeline.rows():
        if row["event"] == event:
            found.setdefault(row["node"], []).append(row["time_ns"])
    return found


def line(routers: int, options: str = "") -> str:
    nodes = [f"R{index}" for index in range(routers)]
    links = ", ".join(f"{a}-{b}: {{}}" for a, b in pairwise(nodes))
    return f"""\
trunkline: 1
nodes: [X, {", ".join(nodes)}]
defaults: {{link: {{rate: 10 Mbit/s, delay: 3 ms}}}}
links: {{X-R0: {{}}, {links}}}
failures: {{cut: {{link: X-R0, at: 1 s}}}}
routing: {{ospf: {{hello: 0 s, processing: 1 ms, detection: {{kind: fixed, delay: 0 s}}{options}}}}}
run: {{duration: 2 s}}
"""


def test_rfc2328_s13_news_cross_a_line_of_routers_hop_by_hop() -> None:
    learnt = moments(tl.run(tl.load(line(8))), "lsa-learnt")
    # R0 has one neighbour left: 96 B at 10 Mbit/s are 76.8 us; with 3 ms of delay and 1 ms of
    # processing the router h hops away knows after h * 4.0768 ms.
    assert UPDATE[1] == 96
    for hop in range(1, 8):
        assert learnt[f"R{hop}"] == [1000 * MS + hop * 4_076_800]


def test_rfc2328_s13_5_each_update_is_acknowledged_by_the_header_of_its_lsa() -> None:
    results = tl.run(tl.load(line(4)))
    sent = {(row["link"], row["message"]): row for row in results.tables["control"].rows()}
    assert sent["R0->R1", "LS Update"]["bytes"] == 96
    # IP 20 B, OSPF 24 B, one LSA header of 20 B (section A.3.6).
    assert sent["R1->R0", "LS Acknowledgment"]["bytes"] == 64
    assert sum(row["messages"] for row in sent.values()) == 3 + 3


@pytest.mark.parametrize("repair", ["", ", repair: 1500 ms"])
def test_rfc2328_s12_4_the_next_lsa_of_a_router_waits_for_min_ls_interval(repair: str) -> None:
    text = line(3, ", lsa_interval: 2 s").replace("at: 1 s", f"at: 1 s{repair}")
    originated = moments(
        tl.run(tl.load(text.replace("duration: 2 s", "duration: 9 s"))), "lsa-originated"
    )["R0"]
    assert originated == [1000 * MS, *([3000 * MS] if repair else [])]


def test_packets_are_lost_until_the_neighbour_of_the_cut_has_new_routes() -> None:
    results = tl.run(tl.load(CUT))
    # B detects after 10 ms, computes 50 ms later and turns packets back at once: those that come to
    # B in 60 ms are lost. One comes every 4 ms: 15.
    assert [(row["cause"], row["packets"]) for row in results.drops.rows()] == [("link_down", 15)]
    rerouted = moments(results, "rerouted")
    assert rerouted["B"] == [1060 * MS]
    # A has the LSA after 96 B at 100 Mbit/s and 2 ms, and computes 50 ms later.
    assert UPDATE[1] == 96
    assert rerouted["A"] == [1062 * MS + 7_680]


def test_a_micro_loop_lasts_until_the_slower_router_is_done() -> None:
    """B sends to A from 1,060 ms on, A to B until it has its routes, 32 ms later at 1,092 ms."""
    text = CUT.replace("hello: 0 s", "hello: 0 s, fib_updates: {A: 30 ms}")
    results = tl.run(tl.load(text))
    assert moments(results, "rerouted")["A"] == [1092 * MS + 7_680]
    crossed: Counter[int] = Counter()
    for row in results.packets.rows():
        if row["event"] == "queued" and row["link"] == "A->B" and row["flow"] == "f":
            crossed[row["seq"]] += 1
    looped = [seq for seq, times in crossed.items() if times > 1]
    # Packets come to A every 4 ms, 2.04 ms after they left S. Those that A sends to B from
    # 1,058 ms on (2.04 ms before B turns them back) to 1,092 ms loop: 8 of them. None dies: the
    # first has gone round A and B for 34 ms at 4.08 ms a round, 17 hops of its 64.
    assert len(looped) == 8
    assert max(crossed.values()) == 9
    assert sum(row["packets"] for row in results.drops.rows()) == 15


def test_rfc1812_s5_3_1_packets_that_loop_for_too_long_die_by_their_ttl() -> None:
    text = CUT.replace("hello: 0 s", "hello: 0 s, fib_updates: {A: 400 ms}")
    results = tl.run(tl.load(text))
    lost = {(row["cause"], row["node"]): row["packets"] for row in results.drops.rows()}
    # The loop lasts until 1,462.008 ms. A TTL of 64 takes a packet over 63 links of 2.04 ms: one
    # that is at A at t ends at B at t + 128.52 ms. The first that loops is at A at 1,058.04 ms and
    # ends at 1,186.56; the last that A still sends to B ends there by 1,464.048: 1,186.56 +
    # 69 * 4 = 1,462.56. So 70 end there; the next goes to C with its last hop.
    assert lost == {("link_down", "B"): 15, ("ttl_expired", "B"): 70, ("ttl_expired", "C"): 1}


def test_routes_that_have_settled_are_those_of_the_network_without_the_link() -> None:
    results = tl.run(tl.load(CUT))
    text = CUT.replace("B-T: {}, ", "").replace("routing: {ospf: {hello: 0 s}}\n", "")
    static = tl.run(tl.load(text.replace("failures: {cut: {link: B-T, at: 1 s}}\n", "")))

    def settled(results: Results) -> list[tuple[object, ...]]:
        return [
            (row["time_ns"], row["event"], row["seq"], row["link"], row["node"], row["ttl"])
            for row in results.packets.rows()
            if row["flow"] == "f" and row["seq"] >= 500
        ]

    assert settled(results) == settled(static)
    assert len(settled(static)) > 1000


def test_without_a_failure_nothing_differs_but_the_messages() -> None:
    text = CUT.replace("failures: {cut: {link: B-T, at: 1 s}}\n", "")
    flows = [
        next(tl.run(tl.load(each)).flows.rows())
        for each in (text, text.replace("routing: {ospf: {hello: 0 s}}\n", ""))
    ]
    assert flows[0] == flows[1]


def test_rfc2328_s13_6_updates_that_are_lost_are_sent_again() -> None:
    """Half of all packets between R0 and R1 are lost; in the end all know the same."""
    text = line(3, ", resend: 100 ms").replace("R0-R1: {}", "R0-R1: {loss: 50 %}")
    results = tl.run(tl.load(text.replace("duration: 2 s", "duration: 5 s")), seed=3)
    learnt = moments(results, "lsa-learnt")
    late = learnt["R1"][0] - 1000 * MS - 4_076_800
    # k copies lost: k * 100 ms later.
    assert late % (100 * MS) == 0
    sent = {(row["link"], row["message"]): row for row in results.tables["control"].rows()}
    again = sent["R0->R1", "LS Update"]["messages"]
    assert again > 1
    assert moments(results, "lsa-learnt")["R2"] == [learnt["R1"][0] + 4_076_800]


def test_rfc2328_s9_5_a_silent_neighbour_is_lost_after_the_dead_interval() -> None:
    """The link fails without a sign: hellos every 100 ms, the neighbour is dead after 400 ms."""
    text = line(3).replace("hello: 0 s", "hello: 100 ms, dead: 400 ms")
    text = text.replace("{kind: fixed, delay: 0 s}", "{kind: fixed, delay: 10 s}")
    originated = moments(tl.run(tl.load(text.replace("at: 1 s", "at: 1 s"))), "lsa-originated")
    # The last hello came at most 100 ms before the cut.
    assert 1300 * MS <= originated["R0"][0] <= 1404 * MS


def test_all_equal_paths_are_used_again_after_the_repair() -> None:
    text = """\
trunkline: 1
nodes: [A, B, C, D]
defaults: {link: {rate: 100 Mbit/s, delay: 1 ms}}
links: {A-B: {}, A-C: {}, B-D: {}, C-D: {}}
flows: {f: {agent: udp, from: A, to: D, rate: 100 kbit/s, size: 500 B, replicate: 40}}
failures: {cut: {link: B-D, at: 1 s, repair: 2 s}}
routing: {ecmp: flow, ospf: {hello: 0 s, lsa_interval: 0 s}}
run: {duration: 4 s, trace: true}
"""
    ways: dict[int, set[str]] = {0: set(), 1: set(), 3: set()}
    for row in tl.run(tl.load(text)).packets.rows():
        # From 200 ms into each second on, when routes have settled.
        second, rest = divmod(row["time_ns"], 1000 * MS)
        leaves = row["event"] == "queued" and str(row["link"]).startswith("A->")
        if leaves and row["flow"] != "ospf" and second in ways and rest > 200 * MS:
            ways[second].add(row["link"])
    assert ways == {0: {"A->B", "A->C"}, 1: {"A->C"}, 3: {"A->B", "A->C"}}


def test_the_kernel_refuses_with_a_reason() -> None:
    from trunkline.linux.plan.command_script import UnsupportedError
    from trunkline.linux.plan.compiled_plan import compile_plan as plan
    from trunkline.network import compile

    with pytest.raises(UnsupportedError, match="no routing protocol"):
        plan(compile(tl.load(CUT)).to_json())

"""Repair lists and labels of segments while OSPF converges: losses and times worked out by hand."""

from __future__ import annotations

import pytest

import trunkline as tl
from trunkline.network import compile
from trunkline.results.results import Results

MS = 1_000_000
# T is two hops behind A over B, and 6 away over C and D. A takes new routes 400 ms late.
CUT = """\
trunkline: 1
nodes: [S, A, B, C, D, T]
defaults: {link: {rate: 100 Mbit/s, delay: 2 ms}}
links: {S-A: {}, A-B: {}, B-T: {}, A-C: {metric: 2}, C-D: {metric: 2}, D-T: {metric: 2}}
paths: {p: {from: S, segments: T}}
trunks: {t: {path: p, flows: f}}
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B}}
failures: {cut: {link: B-T, at: 1 s}}
routing: {ospf: {hello: 0 s, fib_updates: {A: 400 ms}}}
run: {duration: 3 s, trace: true}
"""
REPAIR = """\
protections: {r: {path: p, kind: ti-lfa, backup: auto, link: B-T,
  detection: {kind: fixed, delay: 10 ms}}}
"""
DELAY = ("hello: 0 s", "hello: 0 s, local_delay: 1 s")


def lost(results: Results) -> dict[tuple[str, str], int]:
    return {(row["cause"], row["node"]): row["packets"] for row in results.drops.rows()}


def rerouted(results: Results) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in results.timeline.rows():
        if row["event"] == "rerouted":
            found.setdefault(row["node"], []).append(row["time_ns"])
    return found


def links_of(results: Results, seq: int) -> list[str]:
    rows = results.packets.rows()
    return [
        row["link"]
        for row in rows
        if row["flow"] == "f" and row["seq"] == seq and row["event"] == "queued"
    ]


# A packet leaves S each 4 ms and takes 40.32 us (504 B) and 2 ms a link: that of 4 k ms is at A
# 2.04032 ms later, at B 4.08064 ms later. The cut is at 1,000 ms; B knows at 1,010 and has its
# routes at 1,060. The LSA (96 B) is at A at 1,012.00768: routes at 1,462.00768 ms.
A_HAS_ROUTES = 1462 * MS + 7_680


def test_rfc8402_s3_1_labels_of_nodes_follow_the_routes_of_each_router() -> None:
    """Without repair, B loses what comes until 1,060 ms; then A and B disagree."""
    results = tl.run(tl.load(CUT))
    assert rerouted(results) == {
        **rerouted(results),
        "B": [1060 * MS],
        "A": [A_HAS_ROUTES],
    }
    # At B from 1,000 to 1,060 ms: k = 249 to 263. Then packets loop between A and B: a TTL of 64
    # lasts for 63 links behind A, 128.54016 ms, and ends at B. Those from k = 264 on whose last
    # turn at A (62 links behind the first) is before A has its routes: 4 k + 128.54016 <
    # 1,462.00768, so k <= 333: 70. That of k = 334 goes to C with its last hop.
    assert lost(results) == {
        ("link_down", "B"): 15,
        ("ttl_expired", "B"): 70,
        ("ttl_expired", "C"): 1,
    }
    # The last ones have the label of T, over C and D, as they would from the start.
    assert links_of(results, 700) == ["S->A", "A->C", "C->D", "D->T"]


def test_rfc9855_s2_the_repair_list_carries_packets_until_b_has_its_routes() -> None:
    """B uses the list from 1,010 ms to 1,060: k = 249, 250 and 251 alone are lost before."""
    results = tl.run(tl.load(CUT + REPAIR))
    assert lost(results) == {
        ("link_down", "B"): 3,
        ("ttl_expired", "B"): 70,
        ("ttl_expired", "C"): 1,
    }
    # k = 252 is at B at 1,012.08: back to A and with the labels of C and D around the loop.
    assert links_of(results, 252) == ["S->A", "A->B", "B->A", "A->C", "C->D", "D->T"]


def test_rfc8333_s5_4_local_delay_leaves_no_loop_at_the_point_of_local_repair() -> None:
    """B keeps its routes until 2,060 ms, 1 s after it has new ones; nothing more is lost."""
    results = tl.run(tl.load((CUT + REPAIR).replace(*DELAY)))
    assert lost(results) == {("link_down", "B"): 3}
    assert rerouted(results)["B"] == [2060 * MS]
    # The last packet that A sends to B: 4 k + 2.04032 < 1,462.00768, k = 364.
    assert links_of(results, 364)[1:3] == ["A->B", "B->A"]
    assert links_of(results, 365) == ["S->A", "A->C", "C->D", "D->T"]


def test_rfc8333_local_delay_without_repair_loses_packets_for_as_long() -> None:
    """The RFC asks for fast reroute beside it: what comes to B is lost, k = 249 to 364."""
    results = tl.run(tl.load(CUT.replace(*DELAY)))
    assert lost(results) == {("link_down", "B"): 116}


def test_rfc8333_s5_4_another_change_ends_the_delay_at_once() -> None:
    """A loses Z at 1,100 ms and says so 10 ms later: 120 B, 9.6 us and 2 ms to B.

    The LSA of T about the cut comes to B at 1,018 ms by D, C and A, and ends nothing.
    """
    text = (CUT + REPAIR).replace(*DELAY).replace("D, T]", "D, T, Z]")
    text = text.replace("links: {", "links: {A-Z: {}, ")
    text = text.replace("failures: {", "failures: {other: {link: A-Z, at: 1100 ms}, ")
    results = tl.run(tl.load(text))
    assert rerouted(results)["B"][0] == 1112 * MS + 9_600


def test_rfc8333_s5_3_two_links_of_one_router_are_not_one_failure() -> None:
    """B has its routes after 50 ms, as without the delay, when a second link of it is gone."""
    text = (CUT + REPAIR).replace(*DELAY).replace("D, T]", "D, T, Z]")
    text = text.replace("links: {", "links: {B-Z: {}, ")
    text = text.replace("cut: {link: B-T,", "cut: {link: [B-T, B-Z],")
    assert rerouted(tl.run(tl.load(text)))["B"][0] == 1060 * MS


def test_after_the_repair_packets_take_the_first_route_again() -> None:
    text = (CUT + REPAIR).replace(*DELAY).replace("at: 1 s", "at: 1 s, repair: 2500 ms")
    # A is no later than the others here, or A and C would disagree: the RFC is for lost links.
    text = text.replace("duration: 3 s", "duration: 12 s").replace(", fib_updates: {A: 400 ms}", "")
    results = tl.run(tl.load(text))
    assert lost(results) == {("link_down", "B"): 3}
    assert links_of(results, 2990) == ["S->A", "A->B", "B->T"]


def test_a_destination_that_is_cut_off_has_no_route() -> None:
    """S hears of B's LSA at 1,014.01536 ms by A and has no route 50 ms later: k = 267 to 749."""
    results = tl.run(tl.load(CUT.replace("link: B-T, at: 1 s", "node: T, at: 1 s")))
    # B has no route from 1,060 ms on, when k = 264, 265 and 266 are still to come.
    drops = {key: count for key, count in lost(results).items() if key[1] != "T"}
    assert drops == {("node_down", "B"): 15, ("no_route", "B"): 3, ("no_route", "S"): 483}


def test_rfc8660_s2_10_every_router_knows_the_labels_of_nodes_with_ospf() -> None:
    data = compile(tl.load(CUT)).data
    # T is node 5: all but T itself, S by its FTN besides.
    known = {row["node"] for row in data["ilm"] if row["label"] == 16005}
    assert known == {0, 1, 2, 3, 4}
    follows = data["routing"]["segments"]
    assert [(row["node"], row["destination"]) for row in follows].count((0, 5)) == 2


def test_without_ospf_nothing_follows() -> None:
    text = CUT.replace("routing: {ospf: {hello: 0 s, fib_updates: {A: 400 ms}}}\n", "")
    assert "routing" not in compile(tl.load(text)).data


# S reaches T over A and over B at the same cost; Z is behind T, so that labels stay on at A and B.
EQUAL = """\
trunkline: 1
nodes: [S, A, B, T, Z]
defaults: {link: {rate: 100 Mbit/s, delay: 2 ms}}
links: {S-A: {}, S-B: {}, A-T: {}, B-T: {}, T-Z: {}}
paths: {p: {from: S, segments: Z}}
trunks: {t: {path: p, flows: all}}
flows: {f: {agent: udp, from: S, to: Z, rate: 100 kbit/s, size: 500 B, replicate: 40}}
failures: {cut: {link: A-T, at: 1 s, repair: 3 s}}
routing: {ecmp: HASH, ospf: {hello: 0 s, lsa_interval: 0 s}}
run: {duration: 6 s, trace: true}
"""


@pytest.mark.parametrize("chosen_by", ["flow", "entropy"])
def test_rfc8402_s3_1_labels_of_nodes_follow_all_routes_of_equal_cost(chosen_by: str) -> None:
    """As unlabelled packets do: the same flows go over A, lose as much, go over B, and go back."""
    text = EQUAL.replace("HASH", chosen_by)
    plain = text.replace("paths: {p: {from: S, segments: Z}}\n", "")
    results = tl.run(tl.load(text))
    unlabelled = tl.run(tl.load(plain.replace("trunks: {t: {path: p, flows: all}}\n", "")))

    def ways(value: Results, since: int, until: int) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for row in value.packets.rows():
            at_s = row["event"] == "queued" and row["link"] in ("S->A", "S->B")
            if at_s and row["flow"].startswith("f") and since * MS <= row["time_ns"] < until * MS:
                found.setdefault(row["flow"], set()).add(row["link"])
        return found

    before = ways(results, 0, 1000)
    assert {link for (link,) in before.values()} == {"S->A", "S->B"}
    assert len(before) == 40
    # S has its routes 60 ms after the cut and the LSA's 2 ms later, and after the repair again.
    assert set().union(*ways(results, 1070, 3000).values()) == {"S->B"}
    assert ways(results, 4000, 6000) == before
    over_a = sum(link == {"S->A"} for link in before.values())
    lost_of = [
        {row["flow"]: row["packets_dropped"] for row in value.flows.rows() if row["flow"] != "ospf"}
        for value in (results, unlabelled)
    ]
    if chosen_by == "flow":
        assert ways(unlabelled, 0, 1000) == before
        assert lost_of[0] == lost_of[1]
    # 25 packets a second for some 62 ms.
    assert over_a <= sum(lost_of[0].values()) <= 2 * over_a

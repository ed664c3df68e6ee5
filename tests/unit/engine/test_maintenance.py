"""Maintenance windows in packets, against times worked by hand, and in the fluid engine."""

from __future__ import annotations

from collections import Counter

import pytest

import trunkline as tl

IP_NETWORK = """\
trunkline: 1
nodes: [S, A, B, C, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}}
links: {S-A: {}, A-B: {}, B-T: {}, A-C: {metric: 3}, C-T: {metric: 3}}
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B}}
maintenance: {work: {link: A-B, from: 2 s, to: 3 s}}
rerouting: {}
run: {duration: 5 s}
"""
PATHS = """\
trunkline: 1
nodes: [S, A, B, C, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}}
links: {S-A: {}, A-B: {}, B-T: {}, A-C: {metric: 3}, C-T: {metric: 3}}
paths: {working: {route: [A, B, T]}, spare: {route: [A, C, T]}}
trunks: {t: {path: working, flows: f}}
protections: {p: {path: working, kind: backup, backup: spare}}
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B}}
maintenance: {work: {link: A-B, from: 2 s, to: 3 s, lead: 100 ms}}
run: {duration: 5 s}
"""
PACKET_NS = 4_000_000
MS = 1_000_000


def list_times(results, event: str) -> list[int]:
    return sorted({int(row["time_ns"]) for row in results.timeline.rows() if row["event"] == event})


def count_lost(results) -> Counter[str]:
    lost: Counter[str] = Counter()
    for row in results.tables["drops"].rows():
        lost[row["cause"]] += row["packets"]
    return lost


def test_packets_leave_by_the_metric_before_the_cut_and_none_is_lost() -> None:
    results = tl.run(tl.load(IP_NETWORK))
    # Ends know at once; routes are in use after 100 ms of delay of the computation, at T, 2 ms
    # away, 2 ms later. After the repair the signal must be back for 10 ms.
    assert list_times(results, "drained") == [1500 * MS]
    assert list_times(results, "rerouted") == [1600 * MS, 1602 * MS, 3110 * MS, 3112 * MS]
    assert list_times(results, "failed") == [2000 * MS]
    assert count_lost(results) == {}
    use = {row["link"]: row["packets_sent"] for row in results.ports.rows()}
    # The first packet is at A after 2.4 ms, then one every 4 ms: until 1600 ms that is 400, and
    # 3110 to 5000 ms has the rest.
    assert use["A->C"] == pytest.approx(1510 / 4, abs=1)


def test_without_a_drain_packets_are_lost_until_routes_follow() -> None:
    results = tl.run(tl.load(IP_NETWORK.replace("to: 3 s}", "to: 3 s, drain: none}")))
    # 10 ms of detection and 100 ms of delay of the computation: 27 or 28 packets of 4 ms.
    lost = count_lost(results)
    assert sum(lost.values()) == pytest.approx(110 * MS / PACKET_NS, abs=1)
    assert set(lost) == {"failed_in_flight", "link_down"}
    assert list_times(results, "drained") == []


def test_a_lead_that_is_too_short_loses_what_comes_before_the_new_routes() -> None:
    results = tl.run(tl.load(IP_NETWORK.replace("to: 3 s}", "to: 3 s, lead: 40 ms}")))
    # New routes come 100 ms after the drain, 60 ms after the cut.
    assert sum(count_lost(results).values()) == pytest.approx(60 * MS / PACKET_NS, abs=1)


def test_a_drained_link_still_carries_what_has_no_other_way() -> None:
    only = IP_NETWORK.replace("A-C: {metric: 3}, ", "")
    results = tl.run(tl.load(only))
    # RFC 6987 section 2: the largest metric, not no link. Packets are lost in the cut alone, and
    # until routes are back 110 ms after it.
    assert sum(count_lost(results).values()) == pytest.approx(1110 / 4, abs=2)


def test_ospf_floods_the_largest_metric_and_no_packet_is_lost() -> None:
    text = IP_NETWORK.replace("rerouting: {}", "routing: {ospf: {lsa_interval: 100 ms}}")
    results = tl.run(tl.load(text))
    # RFC 2328: originated at once by both ends, computed there after 50 ms.
    assert list_times(results, "lsa-originated")[0] == 1500 * MS
    assert list_times(results, "rerouted")[0] == 1550 * MS
    assert count_lost(results) == {}
    # The cut and the repair, noticed 10 ms later, make an LSA each.
    assert {2010 * MS, 3010 * MS} <= set(list_times(results, "lsa-originated"))
    before = IP_NETWORK.replace("rerouting: {}", "routing: {ospf: {}}")
    cut = tl.run(tl.load(before.replace("to: 3 s}", "to: 3 s, drain: none}")))
    assert sum(count_lost(cut).values()) == pytest.approx(60 / 4, abs=1)


@pytest.mark.parametrize("kind", ["backup", "restoration"])
def test_paths_move_make_before_break_and_come_back(kind: str) -> None:
    text = PATHS
    if kind == "restoration":
        text = PATHS.replace("kind: backup, backup: spare", "kind: restoration")
    results = tl.run(tl.load(text))
    # A is at the link; a computed path is signalled over two hops of 2 ms, there and back.
    switched = 1900 if kind == "backup" else 1908
    assert list_times(results, "switched") == [switched * MS]
    assert list_times(results, "reverted")[0] >= 3010 * MS
    assert count_lost(results) == {}
    cut = tl.run(tl.load(text.replace("lead: 100 ms", "drain: none")))
    assert sum(count_lost(cut).values()) >= 10 // 4


def test_a_drain_without_room_beside_it_loses_there() -> None:
    # 6 Mbit/s move to a link of 3 Mbit/s.
    text = IP_NETWORK.replace("rate: 1 Mbit/s", "rate: 6 Mbit/s").replace(
        "A-C: {metric: 3}", "A-C: {metric: 3, rate: 3 Mbit/s}"
    )
    lost = list(tl.run(tl.load(text)).tables["drops"].rows())
    assert {row["link"] for row in lost} == {"A->C"}
    assert sum(row["packets"] for row in lost) > 100


def test_a_failure_beside_the_window_takes_what_was_moved() -> None:
    text = IP_NETWORK.replace(
        "rerouting", "failures: {cut: {link: A-C, at: 2.5 s, repair: 3 s}}\nrerouting"
    )
    lost = count_lost(tl.run(tl.load(text)))
    # Both ways are down for half a second, and until routes follow the repair.
    assert sum(lost.values()) == pytest.approx(610 / 4, abs=2)


@pytest.mark.parametrize("text", [IP_NETWORK, PATHS])
@pytest.mark.parametrize("drain", ["both", "none"])
def test_the_fluid_engine_follows_the_drain(text: str, drain: str) -> None:
    scenario = tl.load(
        text.replace("to: 3 s", f"to: 3 s, drain: {drain}").replace(
            "drain: none, lead: 100 ms", "drain: none"
        )
    )
    packets, fluid = tl.run(scenario), tl.run(scenario, engine="fluid")
    for mine, theirs in zip(packets.ports.rows(), fluid.ports.rows(), strict=True):
        assert theirs["utilisation"] == pytest.approx(mine["utilisation"], abs=0.001)
    assert bool(count_lost(packets)) == (drain == "none")


SIGNALLED = """\
trunkline: 1
nodes: [S, A, B, C, D, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}}
links:
  S-A: {}
  A-B: {}
  B-T: {}
  A-C: {metric: 3}
  C-T: {metric: 3}
  A-D: {metric: 5}
  D-T: {metric: 5}
paths: {p: {route: [S, A, B, T], bandwidth: 6 Mbit/s}}
trunks: {t: {path: p, flows: f}}
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B, start: 200 ms}}
maintenance: {work: {link: A-B, from: 2 s, to: 3 s, drain: lsp}}
signalling: {kind: rsvp-te}
run: {duration: 5 s}
"""


def list_moves(text: str) -> list[tuple[int, str, list[str]]]:
    moves = tl.loads(text).resolve().drain_moves
    return [(each.at // MS, each.path, [arc[-1] for arc in each.arcs]) for each in moves]


def test_rfc5817_4_the_head_moves_a_path_before_the_cut_and_back_and_loses_nothing() -> None:
    results = tl.run(tl.loads(SIGNALLED))
    moved = [
        row["time_ns"] for row in results.tables["signalling"].rows() if row["event"] == "moved"
    ]
    # Path and Resv over three links of 2 ms; of other times each is below 1 ms.
    assert [time // MS for time in moved] == [1512, 3512]
    assert results.flows["packets_dropped"][0] == 0
    # Cut with its traffic the path loses what it sends while the link is out.
    cut = tl.run(tl.loads(SIGNALLED.replace("drain: lsp", "drain: none")))
    assert cut.flows["packets_dropped"][0] > 0


def test_a_path_moves_to_the_shortest_route_with_room_round_all_windows_at_the_time() -> None:
    assert list_moves(SIGNALLED) == [(1500, "p", ["A", "C", "T"]), (3500, "p", ["A", "B", "T"])]
    # The way by C is full, so the next is by D.
    full = SIGNALLED.replace("paths: {", "paths: {q: {route: [A, C, T], bandwidth: 5 Mbit/s}, ")
    assert list_moves(full) == [(1500, "p", ["A", "D", "T"]), (3500, "p", ["A", "B", "T"])]
    # A second window takes the way by C from 2.2 s on, while A-B is still out.
    two = SIGNALLED.replace("maintenance: {", "maintenance: {c: {link: A-C, from: 2700 ms}, ")
    assert list_moves(two) == [
        (1500, "p", ["A", "C", "T"]),
        (2200, "p", ["A", "D", "T"]),
        (3500, "p", ["A", "B", "T"]),
    ]


@pytest.mark.parametrize(
    "other",
    [
        # A protection moves the path itself.
        "protections: {r: {path: p, kind: restoration}}\n",
        "protections: {b: {path: p, kind: facility-bypass, backup: auto}}\n",
        # An operator's event decides of the path.
        "events: [{at: 1 s, move: p, to: [S, A, D, T]}]\nrerouting: {}\n",
    ],
)
def test_a_path_that_something_else_moves_is_left_to_it(other: str) -> None:
    text = SIGNALLED.replace("drain: lsp", "drain: both") + other
    assert list_moves(text) == []


def test_a_path_without_another_route_is_said_and_cut() -> None:
    text = SIGNALLED.replace("  A-C: {metric: 3}\n", "").replace("  A-D: {metric: 5}\n", "")
    (warning,) = tl.loads(text).warnings
    assert "path p has no other route with room: it is cut with the link" in str(warning)
    assert list_moves(text) == []

"""Segment routing: labels by RFC 8402 and RFC 8660 worked by hand, and what packets do."""

from __future__ import annotations

import pytest

import trunkline as tl
from trunkline.network import compile
from trunkline.planning import write_explicit_scenario

# A is node 0, so that B to F have 16001 to 16005. C-E is the seventh link, its first direction 12.
NETWORK = """\
trunkline: 1
nodes: [A, B, C, D, E, F]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, C-F: {}, A-D: {}, D-E: {}, E-F: {}, C-E: {metric: 5}}
paths:
  nodes: {from: A, segments: [E, F]}
  link: {from: A, segments: [C, C-E, F]}
  one: {from: A, segments: F}
trunks: {t: {path: nodes, flows: x}, u: {path: link, flows: y}, v: {path: one, flows: z}}
flows:
  x: {agent: udp, from: A, to: F, rate: 1 Mbit/s}
  y: {agent: udp, from: A, to: F, rate: 1 Mbit/s}
  z: {agent: udp, from: A, to: F, rate: 1 Mbit/s}
run: {duration: 1 s}
"""
A, B, C, D, E = range(5)


def test_rfc8660_s2_10_the_first_node_pushes_a_label_for_each_segment() -> None:
    data = compile(tl.load(NETWORK)).data
    pushed = [data["nhlfe"][each["nhlfe"]]["push"] for each in data["ftn"]]
    # From the bottom: E, F; C, C-E, F; F.
    assert pushed == [[16005, 16004], [16005, 15012, 16002], [16005]]


def test_rfc8402_s3_routers_share_entries_and_take_labels_off_before_their_node() -> None:
    data = compile(tl.load(NETWORK)).data
    entries = {
        (each["node"], each["label"]): data["nhlfe"][each["nhlfe"]]["push"] for each in data["ilm"]
    }
    assert entries == {
        (D, 16004): [],
        (E, 16005): [],
        (B, 16002): [],
        (C, 15012): [],
        (B, 16005): [16005],
        (C, 16005): [],
    }


def test_rfc8402_s3_an_entry_may_follow_the_routes_of_its_node_over_each_of_its_links() -> None:
    """On each link with the row of its port for the path that pushes the label."""
    text = NETWORK.replace("delay: 1 ms}}", "delay: 1 ms, port: p}}")
    text += (
        "ports: {p: {classify: [{path: nodes, class: a}], classes: {a: {}, default: {}},"
        " scheduler: drr}}\nrouting: {ospf: {}}\n"
    )
    data = compile(tl.load(text)).data
    segments = data["routing"]["segments"]
    assert segments
    for each in segments:
        leaving = [i for i, link in enumerate(data["links"]) if link["from"] == each["node"]]
        assert [link for link, _ in each["rows"]] == leaving
    rows = {each["label"]: {row for _, row in each["rows"]} for each in segments}
    # E's label is that of `nodes` alone; those of C and F others push too.
    assert rows[16004] == {1}
    assert rows[16002] == {0}


def test_packets_follow_segments_with_their_labels_on() -> None:
    results = tl.run(tl.load(NETWORK))
    assert all(row["packets_delivered"] == 125 for row in results.flows.rows())
    use = {row["link"]: row["utilisation"] for row in results.ports.rows()}
    # 125 packets a second of 1000 B and 4 B a label: two of nodes, three of link, one of one.
    assert use["A->D"] == pytest.approx(0.1008)
    assert use["A->B"] == pytest.approx(0.1012 + 0.1004)
    assert use["B->C"] == pytest.approx(0.1008 + 0.1004)
    assert use["C->E"] == pytest.approx(0.1004)
    assert use["E->F"] == pytest.approx(0.2)


def test_a_policy_has_a_backup_from_end_to_end() -> None:
    text = NETWORK + "protections: {p: {path: one, kind: backup, backup: auto, protect: node}}\n"
    text += "failures: {cut: {link: B-C, at: 500 ms}}\n"
    scenario = tl.load(text)
    assert scenario.resolve().paths["p.one"].route == ("A", "D", "E", "F")
    rows = {row["flow"]: row for row in tl.run(scenario).flows.rows()}
    # 10 ms until it is noticed, 1 ms back to A, 2 ms on the way: 2 or 3 of a packet each 8 ms.
    assert 1 <= rows["z"]["packets_sent"] - rows["z"]["packets_delivered"] <= 3


def test_a_policy_is_written_out_as_it_is() -> None:
    scenario = tl.load(NETWORK)
    again = tl.load(write_explicit_scenario(scenario))
    assert compile(again).data == compile(scenario).data


def test_a_srgb_of_its_own() -> None:
    data = compile(tl.load(NETWORK + "te: {srgb: 400000}\n")).data
    assert data["nhlfe"][data["ftn"][2]["nhlfe"]]["push"] == [400005]


RING = """\
trunkline: 1
nodes: [N1, N2, N3, N4, N5, N6]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {N1-N2: {}, N2-N3: {}, N3-N4: {}, N4-N5: {metric: 10}, N5-N6: {}, N6-N1: {}}
paths: {p: {from: N1, segments: [N2, N3]}, q: {from: N6, segments: [N2]}}
trunks: {t: {path: p, flows: x}, u: {path: q, flows: y}}
flows:
  x: {agent: udp, from: N1, to: N3, rate: 1 Mbit/s}
  y: {agent: udp, from: N6, to: N2, rate: 1 Mbit/s}
failures: {cut: {link: N1-N2, at: 500 ms}}
run: {duration: 1 s}
"""
TI_LFA = "protections: {tilfa: {path: all, kind: ti-lfa, backup: auto, link: N1-N2,\n"
TI_LFA += "  detection: {kind: fixed, delay: 10 ms}}}\n"


def test_rfc9855_s6_a_repair_list_carries_packets_before_routing_converges() -> None:
    """Ring of six, 10 on N4-N5, N1-N2 fails: node 5, then the link 5-4, then the segment's end."""
    scenario = tl.load(RING + TI_LFA)
    resolved = scenario.resolve()
    assert resolved.paths["tilfa.N1-N2.N2"].segments == ("N1->N6", "N5", "N5->N4", "N2")
    data = compile(scenario).data
    spare = [
        data["nhlfe"][switch["alternative"]]["push"]
        for each in data["recovery"]["protections"]
        for switch in each["switches"]
    ]
    # Links N4-N5 and back are 6 and 7 of the twelve directions: N5->N4 has 15007. At N1 p has the
    # label of N3 below; the packet of q comes with that of N2, which is taken off first.
    assert spare == [[16002, 16001, 15007, 16004], [16001, 15007, 16004]]
    rows = {row["flow"]: row for row in tl.run(scenario).flows.rows()}
    for name in ("x", "y"):
        # 125 packets a second; none for 10 ms, and those on the 1 ms of the link.
        assert 1 <= rows[name]["packets_sent"] - rows[name]["packets_delivered"] <= 3


def test_a_repair_list_written_out_is_the_same() -> None:
    scenario = tl.load(RING + TI_LFA)
    again = tl.load(write_explicit_scenario(scenario))
    assert compile(again).data == compile(scenario).data


def test_a_list_with_more_labels_than_a_packet_carries_is_a_gap() -> None:
    text = RING.replace("segments: [N2, N3]}", "segments: [N2, N3, N4]}")
    gaps = tl.load(text + TI_LFA).resolve().computed_backups.gaps
    assert [(gap.path, gap.reason) for gap in gaps] == [("p", "the repair list makes 5 labels")]


SQUARE = """\
trunkline: 1
nodes: [A, B, C, D, E]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {E-A: {}, A-B: {}, A-C: {}, B-D: {}, C-D: {}}
paths: {p: {from: E, segments: [D]}}
trunks: {t: {path: p, flows: x}}
flows: {x: {agent: udp, from: E, to: D, rate: 1 Mbit/s}}
run: {duration: 1 s}
"""


@pytest.mark.parametrize(("routing", "count"), [("", 1), ("routing: {ecmp: flow}\n", 2)])
def test_rfc8402_s3_1_a_node_segment_has_one_next_hop_or_all_of_equal_cost(
    routing: str, count: int
) -> None:
    """A reaches D over B and C alike; without ECMP it takes the first link."""
    data = compile(tl.loads(SQUARE + routing)).data
    of_a = [each["nhlfe"] for each in data["ilm"] if each["node"] == 0]
    links = [data["links"][data["nhlfe"][each]["link"]]["name"] for each in of_a]
    assert links == ["A->B", "A->C"][:count]

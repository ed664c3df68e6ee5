"""LDP in runs: times by hand, label control, sessions, withdrawals, the static network, tshark."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from trunkline.network import compile
from trunkline.trace import write_capture

CHAIN = """
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 10 Mbit/s, delay: 4 ms}}
links: {S-A: {}, A-B: {}, B-T: {}}
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B}}
routing: {ldp: {}}
run: {duration: 1 s}
"""
SQUARE = """
trunkline: 1
nodes: [S, A, B, C, T]
defaults: {link: {rate: 10 Mbit/s, delay: 4 ms}}
links: {S-A: {}, A-B: {}, B-T: {}, A-C: {metric: 3}, C-T: {metric: 3}}
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B}}
failures: {cut: {link: B-T, at: 1 s}}
routing: {ospf: {}, ldp: {}}
run: {duration: 3 s, trace: true}
"""
# Octets on the wire: IP 20 and UDP 8 or TCP 20; PDU header 10, message header 8, TLV header 4.
HELLO = 20 + 8 + 10 + 8 + (4 + 4) + (4 + 4)
BARE = 20 + 20
INITIALIZATION = BARE + 10 + 8 + (4 + 14)
KEEPALIVE = BARE + 10 + 8
ADDRESS = BARE + 10 + 8 + (4 + 2 + 4)
MAPPING = 8 + (4 + 8) + (4 + 4)


def run(text: str, **overrides: Any) -> tl.Results:
    return tl.run(tl.loads(text, overrides=overrides))


def moments(results: tl.Results, event: str, node: str) -> list[int]:
    rows = results.timeline.rows()
    return [row["time_ns"] for row in rows if (row["event"], row["node"]) == (event, node)]


def sent(results: tl.Results) -> Counter[str]:
    total: Counter[str] = Counter()
    for row in results.control.rows():
        if row["protocol"] == "ldp":
            total[row["message"]] += row["messages"]
    return total


def drops(results: tl.Results) -> dict[tuple[str, str], int]:
    rows = [row for row in results.drops.rows() if row["flow"] == "f"]
    return {(row["node"] or row["link"], row["cause"]): row["packets"] for row in rows}


def took(*sizes: int) -> int:
    """Time of packets over links of 10 Mbit/s and 4 ms, one after the other [ns]."""
    return sum(size * 800 + 4_000_000 for size in sizes)


def test_rfc5036_s2_5_a_session_comes_up_and_its_labels_are_used_at_the_times_by_hand() -> None:
    """Hello; SYN and its answer; Initialization of the active node, the one with the higher
    address; Initialization and KeepAlive of the passive one, one behind the other."""
    results = run(CHAIN)
    at_active = took(HELLO, BARE, BARE, INITIALIZATION, INITIALIZATION) + KEEPALIVE * 800
    assert moments(results, "ldp-session-up", "T") == [at_active]
    # T sends its KeepAlive at the Initialization, then Address and the labels of all four FECs.
    at_passive = at_active - KEEPALIVE * 800 + took(KEEPALIVE)
    assert moments(results, "ldp-session-up", "B")[-1] == at_passive
    labels = at_active + ADDRESS * 800 + took(BARE + 10 + 4 * MAPPING)
    assert labels in moments(results, "ldp-labels", "B")


def test_rfc5036_s3_5_as_many_messages_as_needed_and_no_more() -> None:
    results = run(CHAIN)
    # Three sessions: two hellos a link; each end one message of each kind, its labels in one PDU.
    expected = {"hello": 6, "initialization": 6, "keepalive": 6, "address": 6, "label-mapping": 6}
    counted = sent(results)
    counted.pop("tcp")
    assert counted == expected


def test_a_settled_ldp_network_equals_the_static_one() -> None:
    measured = CHAIN.replace("run: {", "run: {warm_up: 500 ms, ")
    static = measured.replace(
        "routing: {ldp: {}}",
        "paths: {p: {route: [S, A, B, T]}}\ntrunks: {t: {path: p, flows: all}}",
    )
    by_ldp, by_hand = run(measured), run(static)
    for name in ("packets_sent", "packets_delivered", "delay_min_ns", "delay_max_ns"):
        assert by_ldp.flows[name][0] == by_hand.flows[name][0]
    for name in ("packets_sent", "bytes_sent"):
        assert by_ldp.ports[name] == by_hand.ports[name]
    plain = run(measured.replace("routing: {ldp: {}}", ""))
    assert plain.ports["bytes_sent"] != by_hand.ports["bytes_sent"]


@pytest.mark.parametrize("control", ["independent", "ordered"])
def test_rfc5036_s2_6_1_ordered_control_gives_no_label_before_the_next_hop_has_one(
    control: str,
) -> None:
    """A tells S of T before B has told A where control is independent: what S labels is lost."""
    text = CHAIN.replace("A-B: {}", "A-B: {delay: 40 ms}")
    results = run(text.replace("ldp: {}", f"ldp: {{control: {control}}}"))
    lost = drops(results)
    if control == "ordered":
        assert lost == {}
        # From B over 40 ms, then from A over 4 ms: labels of B and of T.
        lines = BARE + 10 + 2 * MAPPING
        (from_b, *_) = [at for at in moments(results, "ldp-labels", "A") if at > 200_000_000]
        assert from_b + took(lines) in moments(results, "ldp-labels", "S")
    else:
        assert set(lost) == {("A", "no_label")}


def test_rfc5036_s2_6_2_2_retained_labels_are_used_at_the_instant_of_the_new_routes() -> None:
    results = run(SQUARE)
    for node in ("A", "S", "C"):
        after = [at for at in moments(results, "rerouted", node) if at > 1_000_000_000]
        assert set(after) <= set(moments(results, "ldp-labels", node))
    stacks = [
        row["stack"]
        for row in results.packets.rows()
        if row["flow"] == "f" and row["event"] == "queued" and row["link"] == "C->T"
    ]
    # The last but one takes the label off.
    assert len(stacks) > 400
    assert not any(stacks)
    # Until B has its new routes it has no label of T to switch to.
    assert ("B", "no_label") in drops(results)


def test_rfc5036_s2_5_5_a_neighbour_is_lost_when_its_hellos_stay_away_for_the_hold_time() -> None:
    text = SQUARE.replace(
        "routing: {ospf: {}, ldp: {}}",
        "routing: {ldp: {hello: 300 ms, hello_hold: 900 ms, "
        "detection: {kind: loss-of-signal, delay: 1 h}}}",
    )
    results = run(text)
    # The last hello that crosses is that of 900 ms; one at the last instant would count.
    lost = 900_000_000 + took(HELLO) + 900_000_000 + 1
    assert moments(results, "ldp-session-down", "T") == [lost]
    assert moments(results, "ldp-session-down", "B") == [lost]
    assert sent(results)["notification"] == 2


def test_rfc5036_s2_5_6_a_session_is_lost_without_messages_for_the_keepalive_time() -> None:
    text = SQUARE.replace(
        "routing: {ospf: {}, ldp: {}}",
        "routing: {ldp: {keepalive: 300 ms, detection: {kind: loss-of-signal, delay: 1 h}}}",
    )
    results = run(text)
    for node in ("T", "B"):
        (lost,) = moments(results, "ldp-session-down", node)
        assert 1_200_000_000 < lost <= 1_300_000_000 + took(KEEPALIVE)
    # A message each 100 ms from either end of four sessions that stay, 3 s long.
    assert 8 * 29 <= sent(results)["keepalive"] <= 10 * 31


FLAP = SQUARE.replace("at: 1 s}", "at: 1 s, repair: 2 s}").replace("3 s, trace", "25 s, trace")
FLAP = FLAP.replace(
    "ospf: {}",
    "ospf: {lsa_interval: 0 s, spf: {kind: backoff, initial: 1 ms, second: 5 ms, maximum: 50 ms}}",
)


@pytest.mark.parametrize("sync", ["off", "on"])
def test_rfc5443_s2_a_link_is_not_used_again_before_its_session_is_up(sync: str) -> None:
    """Without it routes go back at once, ahead of labels; with it they wait for the session.

    B floods the link when it is there again, with the metric 65,535, and of its own metric in
    the instant in which the session is up: two LSAs in place of one.
    """
    results = run(
        FLAP.replace("ldp: {}", f"ldp: {{hello: 1 s, hello_hold: 3 s, igp_sync: {sync}}}")
    )
    session = next(at for at in moments(results, "ldp-session-up", "B") if at > 2_000_000_000)
    back = [at for at in moments(results, "rerouted", "A") if at > 2_000_000_000]
    assert session > 2_010_000_000
    assert len(back) == 1
    assert (back[0] > session) == (sync == "on")
    origins = [at for at in moments(results, "lsa-originated", "B") if at > 2_000_000_000]
    assert len(origins) == (2 if sync == "on" else 1)
    if sync == "on":
        assert origins[1] == session
    # B has no label for T before the session is up, and loses what comes with one.
    lost = [
        row
        for row in results.packets.rows()
        if row["cause"] == "no_label" and row["time_ns"] > 2_000_000_000
    ]
    assert bool(lost) == (sync == "off")


def test_rfc6720_s2_2_a_session_waits_for_routes_over_its_link_and_for_the_next_attempt() -> None:
    """The link is back at 2.01 s and its hellos 62 bytes and 4 ms later, when T opens TCP.

    Its route still leads around, so that B would discard the segment; the next comes 1 s later,
    over the link. Meanwhile routes lead over it and B has no label for T: what comes with one is
    lost.
    """
    on = FLAP.replace("ldp: {}", "ldp: {gtsm: on}")
    heard = 2_010_000_000 + took(HELLO)
    opened = took(BARE, BARE, INITIALIZATION, INITIALIZATION) + KEEPALIVE * 800
    assert moments(run(FLAP), "ldp-session-up", "T")[-1] < heard + opened + 1_000_000
    results = run(on)
    # A segment may wait for a packet of 500 bytes.
    up = moments(results, "ldp-session-up", "T")[-1] - heard - 1_000_000_000
    assert opened <= up <= opened + 400_000
    # At 250 packets a second, from the routes at some 2.02 s to the labels at some 3.04 s.
    lost = [
        row["time_ns"]
        for row in results.packets.rows()
        if row["cause"] == "no_label" and row["time_ns"] > 2_000_000_000
    ]
    assert 250 <= len(lost) <= 260
    assert max(lost) < heard + 1_000_000_000 + opened + took(ADDRESS, BARE + 10 + 5 * MAPPING)


def test_rfc5036_s3_5_10_labels_of_lost_routes_are_withdrawn_and_released() -> None:
    """T is cut off: S and A withdraw its label from each other, and tell it again afterwards."""
    text = """
trunkline: 1
nodes: [S, A, T]
defaults: {link: {rate: 10 Mbit/s, delay: 4 ms}}
links: {S-A: {}, A-T: {}}
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B}}
failures: {cut: {link: A-T, at: 1 s, repair: 2 s}}
routing: {ospf: {lsa_interval: 0 s}, ldp: {}}
run: {duration: 9 s}
"""
    results = run(text)
    messages = sent(results)
    assert (messages["label-withdraw"], messages["label-release"]) == (2, 2)
    assert [len(moments(results, "ldp-session-up", node)) for node in ("T", "S")] == [2, 1]
    assert len(moments(results, "ldp-session-down", "T")) == 1


def test_rfc5036_s2_2_3_tcp_brings_labels_through_links_that_lose_a_fifth() -> None:
    text = CHAIN.replace("delay: 4 ms}", "delay: 4 ms, loss: 20 %}").replace("1 s}", "30 s}")
    text = text.replace("ldp: {}", "ldp: {hello: 1 s}")
    for seed in range(1, 6):
        results = run(text.replace("run: {", "run: {trace: true, "), **{"run.seed": seed})
        last: dict[str, str | None] = {}
        for row in results.packets.rows():
            if row["flow"] == "f" and row["event"] == "queued":
                last[row["link"]] = row["stack"]
        assert last["S->A"]
        assert last["A->B"]
        assert not last["B->T"]


def test_ldp_shares_traffic_over_paths_of_equal_cost() -> None:
    text = SQUARE.replace("metric: 3", "metric: 1").replace(
        "failures: {cut: {link: B-T, at: 1 s}}\n", ""
    )
    text = text.replace("routing: {", "routing: {ecmp: flow, ")
    text = text.replace(
        "rate: 1 Mbit/s, size: 500 B", "rate: 10 kbit/s, size: 500 B, replicate: 64"
    )
    results = run(text)
    assert sum(results.flows["packets_dropped"][:64]) == 0
    stacks = {
        (row["link"], bool(row["stack"]))
        for row in results.packets.rows()
        if row["time_ns"] > 100_000_000 and row["event"] == "queued" and row["flow"].startswith("f")
    }
    assert {("A->B", True), ("A->C", True)} <= stacks
    assert not {("A->B", False), ("A->C", False)} & stacks


def test_ldp_labels_what_rides_no_trunk_beside_rsvp_te() -> None:
    text = CHAIN.replace("run: {", "run: {trace: true, ") + (
        "paths: {p: {route: [S, A, B, T]}}\n"
        "trunks: {t: {path: p, flows: [g]}}\n"
        "signalling: {kind: rsvp-te}\n"
    )
    text = text.replace(
        "flows: {", "flows: {g: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B}, "
    )
    results = run(text)
    labels = {
        (row["flow"], int(row["stack"].split("/")[0]) >= 300_000)
        for row in results.packets.rows()
        if row["event"] == "queued" and row["stack"] and row["time_ns"] > 500_000_000
    }
    assert labels == {("f", True), ("g", False)}


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark not installed")
def test_tshark_dissects_every_message_with_its_checksum(tmp_path: Path) -> None:
    scenario = tl.loads(SQUARE.replace("link: B-T, at: 1 s", "link: B-T, at: 1 s, repair: 2 s"))
    results = tl.run(scenario)
    capture = tmp_path / "ldp.pcapng"
    write_capture(results, compile(scenario).data, capture)
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    command = ["tshark", *checks, "-V", "-r", capture, "-Y", "tcp.port == 646 or udp.port == 646"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Malformed" not in lines
    messages = sent(results)
    statuses = re.findall(r"\[Checksum Status: (\w+)\]", lines)
    lost = sum(row["packets"] for row in results.drops.rows() if row["flow"] == "ldp")
    assert Counter(statuses) == {"Good": sum(messages.values()) - lost}
    kinds = Counter(re.findall(r"Message Type: (.+) \(0x", lines))
    assert kinds["Hello Message"] == messages["hello"]
    assert kinds["Initialization Message"] == messages["initialization"]
    assert kinds["Address Message"] == messages["address"]
    assert kinds["Label Mapping Message"] >= 5 * messages["label-mapping"]
    assert kinds["Keep Alive Message"] == messages["keepalive"]
    assert "Destination Address: 224.0.0.2" in lines
    assert "Generic Label: 300003" in lines

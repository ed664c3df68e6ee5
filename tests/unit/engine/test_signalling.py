"""RSVP-TE in runs: arithmetic of moves, Erlang B, the static network, a backbone, tshark."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import subprocess
import time
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import load
from trunkline.trace import write_capture

MOVE = """
trunkline: 1
nodes: [S, A, B, C, D, T]
links:
  S-A: {rate: 100 Mbit/s, delay: 1 ms}
  A-B: {rate: 10 Mbit/s, delay: 4 ms}
  B-D: {rate: 10 Mbit/s, delay: 4 ms}
  A-C: {rate: 10 Mbit/s, delay: 6 ms}
  C-D: {rate: 10 Mbit/s, delay: 6 ms}
  D-T: {rate: 100 Mbit/s, delay: 1 ms}
paths:
  p: {route: [A, B, D], bandwidth: 8 Mbit/s}
  lower: {route: [A, C, D]}
trunks: {t: {path: p, flows: all}}
flows: {f: {agent: udp, from: S, to: T, rate: 8 Mbit/s, size: 1000 B, start: 100 ms}}
signalling: {kind: rsvp-te, when_down: discard}
events:
  - {at: 1 s, move: t, to: lower}
run: {duration: 3 s}
"""


def run(text: str, seed: int = 1, **overrides: Any) -> Results:
    network = compile(load(text, overrides=overrides))
    return simulate(network, seeds=[seed])[0]


def events(results: Results, name: str) -> list[dict[str, Any]]:
    return [row for row in results.tables["signalling"].rows() if row["event"] == name]


def lsp(results: Results, name: str) -> dict[str, Any]:
    return next(row for row in results.tables["lsps"].rows() if row["path"] == name)


def test_rfc3209_s2_5_make_before_break_moves_a_loaded_trunk_without_loss() -> None:
    results = run(MOVE)
    assert results.flows["packets_dropped"][0] == 0
    assert [row["time_ns"] for row in events(results, "moved")] == [1_024_448_000]
    assert not events(results, "down")
    # The longer way: 12 ms in place of 8, all but what is on its way still arrives.
    row = next(results.flows.rows())
    assert row["delay_max_ns"] - row["delay_min_ns"] == 4_000_000


def test_break_before_make_loses_what_arrives_until_the_first_resv() -> None:
    """Path 156 and 148 B, Resv 128 and 128 B at 10 Mbit/s: 0.448 ms, and four times 6 ms.

    Packet k leaves S at 100 ms + k ms, is at A 0.08 + 1 ms later: 25 of them come in the 24.448 ms
    from 1 s on, the first at 1000.08 ms, the last at 1024.08 ms.
    """
    text = MOVE.replace("when_down: discard", "when_down: discard, make_before_break: off")
    results = run(text)
    (down,), (_, up) = events(results, "down"), events(results, "up")
    assert up["time_ns"] - down["time_ns"] == 24_448_000
    assert results.flows["packets_dropped"][0] == 25
    (drop,) = [row for row in results.drops.rows() if row["flow"] == "f"]
    assert (drop["node"], drop["cause"], drop["packets"]) == ("A", "switching", 25)
    # Set up once in 16.448 ms and once in 24.448 ms.
    assert lsp(results, "p")["out_ns"] == 16_448_000 + 24_448_000


@pytest.mark.parametrize(("first", "lost"), [("on", 0), ("off", 25)])
def test_the_example_make_before_break_loses_what_it_says(first: str, lost: int) -> None:
    """Its name of seven letters makes each Path 4 B longer: 24.448 ms and 6.4 us."""
    text = files("trunkline").joinpath("examples/make-before-break.yaml").read_text("utf-8")
    results = run(text, first=first)
    assert results.flows["packets_dropped"][0] == lost
    up = [row["time_ns"] for row in events(results, "moved" if first == "on" else "up")]
    assert up[-1] == 1_000_000_000 + 24_448_000 + 6_400


def test_a_settled_signalled_network_equals_the_static_one() -> None:
    """From the warm-up on the same packets take the same time, message packets apart."""
    text = MOVE[: MOVE.index("signalling")] + "run: {duration: 3 s, warm_up: 500 ms}\n"
    static = run(text)
    signalled = run(text.replace("run:", "signalling: {kind: rsvp-te}\nrun:"))
    assert len(events(signalled, "up")) == 2
    for name in ("packets_sent", "packets_delivered", "delay_min_ns", "delay_max_ns"):
        assert signalled.flows[name][0] == static.flows[name][0]
    assert signalled.paths["packets"] == static.paths["packets"]
    assert signalled.ports["packets_sent"] == static.ports["packets_sent"]
    assert static.tables["signalling"]["event"] == []


def erlang_b(load: float, servers: int) -> float:
    blocked = 1.0
    for busy in range(1, servers + 1):
        blocked = load * blocked / (busy + load * blocked)
    return blocked


SHARED_LINK = """
trunkline: 1
nodes: [A, B, C]
links:
  A-B: {rate: 10 Mbit/s}
  A-C: {rate: 10 Mbit/s}
  C-B: {rate: 10 Mbit/s}
paths:
  early: {from: A, to: B, route: auto, bandwidth: 8 Mbit/s}
  late: {from: A, to: B, route: auto, bandwidth: 8 Mbit/s}
signalling: {kind: rsvp-te}
events: [{at: 1 s, tear: early}, {at: 2 s, set_up: late}]
run: {duration: 4 s}
"""


def test_rfc3209_s2_2_a_path_is_computed_for_the_moment_at_which_it_is_set_up() -> None:
    """The path torn before leaves the shortest route; one that stays sends it the other way."""
    # A Path and a Resv a link of 10 Mbit/s: one link in 220.8 us, two in more.
    assert lsp(run(SHARED_LINK), "late")["setup_mean_s"] == pytest.approx(220.8e-6)
    stays = SHARED_LINK.replace("{at: 1 s, tear: early}, ", "")
    late = lsp(run(stays), "late")
    assert late["setup_mean_s"] > 400e-6
    assert late["refused"] == 0


def test_rfc3209_s2_2_a_path_without_room_at_the_start_can_be_asked_for_later() -> None:
    """Ten Mbit/s hold one path of eight: the other is up if, and only if, the first was torn."""
    one_link = SHARED_LINK.replace("  A-C: {rate: 10 Mbit/s}\n  C-B: {rate: 10 Mbit/s}\n", "")
    text = one_link.replace("nodes: [A, B, C]", "nodes: [A, B]")
    late = lsp(run(text), "late")
    assert (late["up"], late["refused"]) == (1, 0)
    late = lsp(run(text.replace("{at: 1 s, tear: early}, ", "")), "late")
    # Its head knows of no route with room, and asks for none.
    assert (late["up"], late["refused"]) == (0, 0)


def test_erlang_1917_requests_on_one_link_are_blocked_by_the_b_formula() -> None:
    """16 units, 12 Erlang: B = 0.0604. Poisson in, exponential holding, those blocked are gone.

    40,000 requests; a run's estimate errs by some sqrt(2 B / n) x the correlation of a busy link:
    below 0.006 at four deviations.
    """
    text = """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 16 Mbit/s, delay: 1 us}}
flows: {f: {agent: udp, from: A, to: B, rate: 1 bit/s, size: 1000 B}}
signalling: {kind: rsvp-te, refresh: 1 h}
requests:
  calls: {from: A, to: B, bandwidth: 1 Mbit/s, every: 1 s, holding: 12 s}
run: {duration: 41000 s, warm_up: 1000 s}
"""
    row = lsp(run(text), "calls")
    assert abs(row["asked"] - 40_000) < 4 * math.sqrt(40_000)
    assert row["blocking_ratio"] == pytest.approx(erlang_b(12.0, 16), abs=0.006)


def test_kelly_1986_two_links_are_blocked_as_the_product_form_says() -> None:
    """Requests over both links and over each alone, 4 Erlang each, 10 units a link.

    Exact: states (a, b, c) with a + b <= 10 and a + c <= 10, weight 4^(a+b+c) / (a! b! c!).
    """
    states = [(a, b, c) for a in range(11) for b in range(11 - a) for c in range(11 - a)]
    weight = {
        value: math.prod(4.0**each / math.factorial(each) for each in value) for value in states
    }
    total = sum(weight.values())
    both = sum(w for (a, b, c), w in weight.items() if a + max(b, c) == 10) / total
    one = sum(w for (a, b, _), w in weight.items() if a + b == 10) / total
    text = """
trunkline: 1
nodes: [A, B, C]
links: {A-B: {rate: 10 Mbit/s, delay: 1 us}, B-C: {rate: 10 Mbit/s, delay: 1 us}}
flows: {f: {agent: udp, from: A, to: B, rate: 1 bit/s, size: 1000 B}}
signalling: {kind: rsvp-te, refresh: 1 h}
requests:
  both: {from: A, to: C, bandwidth: 1 Mbit/s, every: 1 s, holding: 4 s}
  first: {from: A, to: B, bandwidth: 1 Mbit/s, every: 1 s, holding: 4 s}
  second: {from: B, to: C, bandwidth: 1 Mbit/s, every: 1 s, holding: 4 s}
run: {duration: 21000 s, warm_up: 1000 s}
"""
    results = run(text)
    assert lsp(results, "both")["blocking_ratio"] == pytest.approx(both, abs=0.012)
    assert lsp(results, "first")["blocking_ratio"] == pytest.approx(one, abs=0.012)


def test_kelly_1991_the_reduced_load_of_a_chain_is_near_what_is_blocked() -> None:
    """Four links of 10 units: 2 Erlang over all of them and 4 over each alone.

    Reduced load: B = E(4 + 2 (1 - B)^3, 10) on each link, 1 - (1 - B)^4 on all: 0.0369 and
    0.1395. Exact by the product form: 0.0358 and 0.1282. A run of 10,000 and 20,000 requests errs
    by less than 0.02 and 0.008: four deviations, and half as much again since blocked requests
    come in bunches.
    """
    single = 0.1
    for _ in range(200):
        single = erlang_b(4 + 2 * (1 - single) ** 3, 10)
    full = 1 - (1 - single) ** 4

    def room(units: int) -> float:
        return sum(4.0**busy / math.factorial(busy) for busy in range(units + 1))

    weight = [2.0**busy / math.factorial(busy) for busy in range(11)]
    total = sum(each * room(10 - busy) ** 4 for busy, each in enumerate(weight))
    through = 1 - sum(weight[busy] * room(9 - busy) ** 4 for busy in range(10)) / total
    one = (
        1
        - sum(w * room(10 - b) ** 3 * (room(9 - b) if b < 10 else 0) for b, w in enumerate(weight))
        / total
    )
    names = "ABCDE"
    links = ", ".join(f"{a}-{b}: {{rate: 10 Mbit/s, delay: 1 us}}" for a, b in pairwise(names))
    local = "\n".join(
        f"  on{a}: {{from: {a}, to: {b}, bandwidth: 1 Mbit/s, every: 1 s, holding: 4 s}}"
        for a, b in pairwise(names)
    )
    text = f"""
trunkline: 1
nodes: [A, B, C, D, E]
links: {{{links}}}
flows: {{f: {{agent: udp, from: A, to: B, rate: 1 bit/s, size: 1000 B}}}}
signalling: {{kind: rsvp-te, refresh: 1 h}}
requests:
  all: {{from: A, to: E, bandwidth: 1 Mbit/s, every: 2 s, holding: 4 s}}
{local}
run: {{duration: 21000 s, warm_up: 1000 s}}
"""
    results = run(text)
    measured = lsp(results, "all")["blocking_ratio"]
    assert measured == pytest.approx(through, abs=0.02)
    assert abs(measured - full) < abs(full - through) + 0.02
    for name in ("onA", "onB", "onC", "onD"):
        measured = lsp(results, name)["blocking_ratio"]
        assert measured == pytest.approx(one, abs=0.008)
        assert abs(measured - single) < abs(single - one) + 0.008


RING = """
trunkline: 1
nodes: [A, B, C, D]
links:
  A-B: {rate: 10 Mbit/s, delay: 4 ms}
  B-D: {rate: 10 Mbit/s, delay: 4 ms}
  A-C: {rate: 10 Mbit/s, delay: 6 ms, metric: 2}
  C-D: {rate: 10 Mbit/s, delay: 6 ms}
paths: {p: {from: A, to: D, route: auto, bandwidth: 4 Mbit/s}}
trunks: {t: {path: p, flows: all}}
flows: {f: {agent: udp, from: A, to: D, rate: 4 Mbit/s, size: 1000 B}}
failures: {cut: {link: B-D, at: 1 s, repair: 3 s}}
signalling: {kind: rsvp-te, when_down: discard, reoptimise: 1500 ms, cleanup: 100 ms}
run: {duration: 6 s}
"""


def test_rfc4920_the_head_goes_around_a_cut_and_back_when_it_is_repaired() -> None:
    """B sees the cut 10 ms after it, its PathErr is at A 4 ms and its 104 bytes later.

    Of the new path Path has 156 + 148 B, Resv twice 128 B, and four times 6 ms pass. The first
    look for a shorter route after the repair is at 4.5 s.
    """
    results = run(RING)
    (down,), ups, (moved,) = (events(results, name) for name in ("down", "up", "moved"))
    # PathErr: IP 20, header 8, SESSION 16, ERROR_SPEC 12, SENDER_TEMPLATE 12, TSPEC 36 = 104 B.
    assert down["time_ns"] == 1_010_000_000 + 4_000_000 + 104 * 8 * 100
    assert down["error"] == "24/5"
    assert ups[1]["time_ns"] - down["time_ns"] == 24_000_000 + (156 + 148 + 256) * 8 * 100
    assert 4_500_000_000 < moved["time_ns"] < 4_520_000_000
    # On the cut link, at B while it knows nothing, at B without a label, at A without a path.
    lost = {row["cause"]: row["packets"] for row in results.drops.rows() if row["flow"] == "f"}
    assert lost.keys() == {"failed_in_flight", "link_down", "no_label", "switching"}
    # 500 packets a second, at the head for 16.448 ms and 24.448 ms: 8 or 9, and 12 or 13.
    assert 20 <= lost["switching"] <= 22


def backbone(nodes: int, lsps: int) -> str:
    """A ring with chords, LSPs between nodes a prime apart."""
    links = [f"  L{i}: {{between: [N{i}, N{(i + 1) % nodes}]}}" for i in range(nodes)]
    links += [f"  X{i}: {{between: [N{i}, N{(i + 7) % nodes}]}}" for i in range(0, nodes, 2)]
    paths = [
        f"  p{i}: {{from: N{i % nodes}, to: N{(i * 17 + 11 + i // nodes) % nodes}, "
        "route: auto, bandwidth: 10 Mbit/s}"
        for i in range(lsps)
        if (i * 17 + 11 + i // nodes) % nodes != i % nodes
    ]
    return "\n".join(
        [
            "trunkline: 1",
            f"nodes: [{', '.join(f'N{i}' for i in range(nodes))}]",
            "defaults: {link: {rate: 10 Gbit/s, delay: 2 ms}}",
            "links:",
            *links,
            "paths:",
            *paths,
            "flows: {f: {agent: udp, from: N0, to: N1, rate: 10 kbit/s, size: 1000 B}}",
            "failures: {cut: {link: L3, at: 60 s, repair: 120 s}}",
            "signalling: {kind: rsvp-te, processing: 100 us, reliable: on, summary: on,",
            "  flooding: 100 ms, reoptimise: 60 s}",
            "run: {duration: 200 s}",
        ]
    )


@pytest.mark.parametrize("routing", ["", "routing: {ospf: {}}\n"], ids=["flooding", "ospf"])
def test_a_thousand_lsps_on_fifty_routers_survive_a_cut_and_go_back(routing: str) -> None:
    text = backbone(50, 1020) + "\n" + routing
    if routing:
        text = text.replace("  flooding: 100 ms, ", "  ")
    network = compile(load(text))
    begun = time.process_time()
    results = simulate(network, seeds=[1], threads=1)[0]
    assert time.process_time() - begun < 10
    table = results.tables["lsps"]
    asked = len(table)
    assert asked == 1000
    assert min(table["up"]) >= 1
    hit = sum(count > 0 for count in table["down"])
    assert hit > 10
    # Up at first, and again after the cut, in less than 100 ms in all.
    assert max(out for out in table["out_ns"] if out is not None) < 100_000_000
    # The repair brings those back whose way around is longer.
    assert 10 < sum(table["moved"]) <= hit


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_dissects_every_message(tmp_path: Path) -> None:
    text = RING.replace(
        "reoptimise: 1500 ms",
        "reliable: on, summary: on, refresh: 500 ms, hello: 300 ms, reoptimise: 1500 ms",
    )
    text = text.replace("duration: 6 s", "duration: 6 s, trace: on")
    text = text.replace("signalling:", "events: [{at: 5500 ms, tear: p}]\nsignalling:")
    network = compile(load(text))
    results = simulate(network, seeds=[1])[0]
    capture = tmp_path / "run.pcapng"
    write_capture(results, json.loads(network.to_json()), capture)
    fields = (
        "rsvp.msg",
        "_ws.malformed",
        "ip.len",
        "_ws.expert.severity",
        "rsvp.session.tunnel_id",
    )
    command = ["tshark", "-r", str(capture), "-Y", "ip.proto == 46", "-T", "fields"]
    command += [part for each in fields for part in ("-e", each)]
    command += ["-E", "header=y", "-E", "separator=,", "-E", "occurrence=f"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = list(csv.DictReader(io.StringIO(output)))
    assert all(not row["_ws.malformed"] for row in rows)
    kinds = {row["rsvp.msg"] for row in rows}
    # Path, Resv, PathErr, PathTear, Ack, Srefresh, Hello.
    assert kinds >= {"1", "2", "3", "5", "13", "15", "20"}
    sent = next(row for row in results.flows.rows() if row["flow"] == "rsvp-te")
    lost_before = sum(row["packets"] for row in results.drops.rows() if row["flow"] == "rsvp-te")
    assert sent["packets_sent"] - lost_before <= len(rows) <= sent["packets_sent"]


PROTECTED = """
trunkline: 1
nodes: [A, B, C, D]
links:
  A-B: {rate: 10 Mbit/s, delay: 4 ms}
  B-D: {rate: 10 Mbit/s, delay: 4 ms}
  B-C: {rate: 10 Mbit/s, delay: 2 ms, metric: 5}
  A-C: {rate: 10 Mbit/s, delay: 6 ms, metric: 2}
  C-D: {rate: 10 Mbit/s, delay: 6 ms}
paths:
  p: {from: A, to: D, route: auto, bandwidth: 4 Mbit/s}
  bypass: {route: [B, C, D]}
trunks: {t: {path: p, flows: all}}
flows: {f: {agent: udp, from: A, to: D, rate: 4 Mbit/s, size: 1000 B, start: 100 ms}}
failures: {cut: {link: B-D, at: 1 s}}
protections:
  frr: {path: p, kind: KIND, backup: bypass}
signalling: {kind: rsvp-te, when_down: discard}
run: {duration: 6 s}
"""


@pytest.mark.parametrize("kind", ["facility-bypass", "detour"])
def test_rfc4090_s6_5_the_head_hears_of_the_repair_and_moves_the_path(kind: str) -> None:
    """Only what is on the link or sent on it for 10 ms is lost; the head gets 25/3 and moves."""
    results = run(PROTECTED.replace("KIND", kind))
    repaired = [row for row in events(results, "repaired") if row["path"] == "p"]
    assert [(row["time_ns"], row["node"]) for row in repaired] == [(1_010_000_000, "B")]
    (moved,) = (row for row in events(results, "moved") if row["path"] == "p")
    # To Path and Resv over three nodes, 156 + 148 + 256 B, come FAST_REROUTE 24 twice and RRO of 8
    # a node passed, 12 + 20, and of 16, 20 + 36. Before the PathErr of 104 B goes a Resv that says
    # that protection is in use: 164 B.
    shown_text = 1_010_000_000 + 4_000_000 + (164 + 104) * 800
    sizes = 156 + 148 + 256 + 2 * 24 + 12 + 20 + 20 + 36
    waited = moved["time_ns"] - (shown_text + 24_000_000 + sizes * 800)
    # At C the Path waits for one packet of the backup at most, 1008 B.
    assert 0 <= waited <= 1008 * 800
    assert not [row for row in events(results, "down") if row["path"] == "p"]
    lost = {row["cause"] for row in results.drops.rows() if row["flow"] == "f"}
    assert lost == {"failed_in_flight", "link_down"}


@pytest.mark.parametrize("kind", ["facility-bypass", "detour"])
def test_rfc4090_s3_a_signalled_repair_loses_the_packets_of_a_static_one(kind: str) -> None:
    """The same flow, cut and detection time; with and without messages."""
    text = PROTECTED.replace("KIND", kind)
    static = run(text.replace("signalling: {kind: rsvp-te, when_down: discard}\n", ""))
    signalled = run(text)
    lost = [
        sorted(
            (row["link"], row["cause"], row["packets"])
            for row in each.drops.rows()
            if row["flow"] == "f"
        )
        for each in (static, signalled)
    ]
    assert lost[0] == lost[1]
    # 2 on the wire of 4 ms, 5 in 10 ms of 2 ms each.
    assert sum(row[2] for row in lost[0]) == 7


@pytest.mark.parametrize(("kind", "objects"), [("facility-bypass", {205}), ("detour", {205, 63})])
def test_tshark_dissects_the_messages_of_local_repair(
    kind: str, objects: set[int], tmp_path: Path
) -> None:
    """FAST_REROUTE is class 205, DETOUR 63, RECORD_ROUTE 21; a Path goes under a label."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    text = PROTECTED.replace("KIND", kind).replace("duration: 6 s", "duration: 6 s, trace: on")
    # The head cannot move: the path stays on its way around, and goes back at 3 s.
    text = text.replace("{from: A, to: D, route: auto,", "{route: [A, B, D],")
    text = text.replace("at: 1 s}", "at: 1 s, repair: 3 s}")
    text = text.replace("kind: rsvp-te,", "kind: rsvp-te, refresh: 500 ms,")
    network = compile(load(text))
    results = simulate(network, seeds=[1])[0]
    (reverted,) = events(results, "reverted")
    assert reverted["time_ns"] > 3_000_000_000
    capture = tmp_path / "run.pcapng"
    write_capture(results, json.loads(network.to_json()), capture)
    fields = ("rsvp.msg", "_ws.malformed", "rsvp.object", "mpls.label")
    command = ["tshark", "-r", str(capture), "-Y", "rsvp", "-T", "fields"]
    command += [part for each in fields for part in ("-e", each)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in output.splitlines()]
    assert len(rows) > 60
    assert not [row for row in rows if row[1]]
    assert {"1", "2", "3"} <= {row[0] for row in rows}
    classes = {int(number, 0) for row in rows for number in row[2].split(",")}
    assert classes >= objects | {21}
    assert any(row[0] == "1" and row[3] for row in rows) == (kind == "facility-bypass")


def test_rfc8733_automatic_bandwidth_follows_the_load() -> None:
    """1 Mbit/s reserved, 4 Mbit/s and 4 bytes of label for each 1000 sent: 4.016 Mbit/s asked."""
    text = RING.replace("bandwidth: 4 Mbit/s", "bandwidth: 1 Mbit/s")
    text = text.replace("failures: {cut: {link: B-D, at: 1 s, repair: 3 s}}\n", "")
    auto = "auto_bandwidth: {p: {sample: 1 s, adjust: 2 s}}, reoptimise: 1500 ms"
    results = run(text.replace("reoptimise: 1500 ms", auto))
    (moved,) = events(results, "moved")
    assert moved["bandwidth_bit_s"] == pytest.approx(4_016_000, rel=0.01)
    assert results.flows["packets_dropped"][0] == 8 + 1  # before the first Resv, 16.448 ms


def test_rsvp_te_and_ospf_run_side_by_side_and_each_answers_to_a_cut() -> None:
    """The head moves by its PathErr as without OSPF; what rides no path moves with the routes."""
    alone = RING.replace("repair: 3 s", "repair: 5500 ms")
    alone = alone.replace("flows: all", "flows: [f]")
    alone = alone.replace(
        "size: 1000 B}}",
        "size: 1000 B}, g: {agent: udp, from: A, to: D, rate: 1 Mbit/s, size: 1000 B}}",
    )
    both = run(alone + "routing: {ospf: {}}\n")
    before = run(alone)
    # Messages of RSVP-TE may wait behind those of OSPF, for less than 2 ms in all.
    at = [row["time_ns"] for row in events(both, "up")]
    plain = [row["time_ns"] for row in events(before, "up")]
    assert len(at) == len(plain) == 2
    assert all(0 <= late - soon < 2_000_000 for late, soon in zip(at, plain, strict=True))
    causes = {row["cause"] for row in both.drops.rows() if row["flow"] == "g"}
    assert causes == {"failed_in_flight", "link_down"}
    lost = {
        name: dict(zip(value.flows["flow"], value.flows["packets_dropped"], strict=True))["g"]
        for name, value in (("both", both), ("alone", before))
    }
    # The routes follow after 60 ms; without OSPF they stay until the repair.
    assert lost["both"] < 12
    assert lost["alone"] > 500
    protocols = {row["protocol"] for row in both.tables["control"].rows()}
    assert protocols == {"rsvp-te", "ospf"}

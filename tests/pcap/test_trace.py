"""The packet trace against the other tables of the same run, and what a capture makes of losses."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import load
from trunkline.trace import UnknownPlaceError, UntracedRunError, write_capture

# Link A-B is down from 50 to 100 ms: packets wait for it, are on it, and come to it.
CUT = """
trunkline: 1
nodes: [S, A, B]
links:
  S-A: {rate: 100 Mbit/s, delay: 1 ms}
  A-B: {rate: 4 Mbit/s, delay: 10 ms, loss: 5 %}
flows:
  f: {agent: udp, from: S, to: B, rate: 5 Mbit/s, size: 500 B}
failures:
  cut: {link: A-B, at: 50 ms, repair: 100 ms}
run: {duration: 200 ms, trace: on}
"""
POLICED = """
trunkline: 1
nodes: [S, A, B]
links:
  S-A: {rate: 100 Mbit/s, delay: 1 ms, forward: {ingress: police}}
  A-B: {rate: 100 Mbit/s, delay: 1 ms}
conditioners:
  police:
    rules: [{profile: p}]
    profiles: {p: {meter: {kind: token-bucket, rate: 1 Mbit/s, burst: 2 kB}, red: drop}}
flows:
  f: {agent: udp, from: S, to: B, rate: 5 Mbit/s, size: 500 B}
run: {duration: 200 ms, trace: on}
"""
CLASSES = """
trunkline: 1
nodes: [S, A, B]
links:
  S-A: {rate: 100 Mbit/s, delay: 1 ms}
  A-B: {rate: 4 Mbit/s, delay: 5 ms, port: two}
ports:
  two:
    scheduler: SCHEDULER
    classify: [{dscp: EF, class: voice}]
    classes: {voice: {}, default: {}}
flows:
  voice: {agent: udp, from: S, to: B, rate: 1 Mbit/s, arrivals: poisson, dscp: EF}
  rest: {agent: udp, from: S, to: B, rate: 2.8 Mbit/s, arrivals: poisson}
run: {duration: 4 s, trace: on}
"""


def run(text: str) -> tuple[Results, Any]:
    network = compile(load(text))
    return simulate(network, seeds=[1])[0], json.loads(network.to_json())


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and body of each block, read by the lengths at both of its ends."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        yield kind, data[at + 8 : at + length - 4]
        at += length


def comments(path: Path) -> list[tuple[int, str]]:
    """Interface and comment of each packet."""
    found = []
    for kind, body in blocks(path.read_bytes()):
        if kind != 6:
            continue
        interface, _, _, kept, _ = struct.unpack_from("<5I", body)
        at = 20 + (kept + 3) // 4 * 4
        while at < len(body):
            code, length = struct.unpack_from("<HH", body, at)
            if code == 1:
                found.append((interface, body[at + 4 : at + 4 + length].decode()))
            at += 4 + (length + 3) // 4 * 4
    return found


def test_losses_on_the_wire_and_in_the_queue_are_told_as_the_table_counts_them(
    tmp_path: Path,
) -> None:
    results, network = run(CUT)
    path = tmp_path / "cut.pcapng"
    write_capture(results, network, path, at=("A->B",))
    counts = Counter(text.rpartition("; ")[2] for _, text in comments(path))
    counted = {row["cause"]: row["packets"] for row in results.drops.rows()}
    assert set(counted) == {"corrupted", "failed_in_flight", "failed_queued", "link_down"}
    for cause, before in (
        ("corrupted", "lost on the link"),
        ("failed_in_flight", "lost on the link"),
        ("failed_queued", "dropped"),
        ("link_down", "dropped"),
    ):
        assert counts[f"{before}: {cause}"] == counted[cause] > 0
    offered = results.ports.where(link="A->B")["packets_offered"]
    # Those still waiting when the run ended are in neither.
    events = results.packets.to_polars()
    queued = events.filter((events["event"] == "queued") & (events["link"] == "A->B"))
    lost_waiting = counted["failed_queued"]
    still = queued["wait_ns"].null_count() - int(lost_waiting or 0)
    down = counted["link_down"]
    assert len(comments(path)) == int(offered or 0) + int(down or 0) - still


def test_a_wait_that_never_ended_is_null() -> None:
    results, _ = run(CUT)
    rows = list(results.packets.rows())
    lost = {row["packet"] for row in rows if row["cause"] == "failed_queued"}
    assert lost
    for row in rows:
        if row["event"] == "queued" and row["link"] == "A->B" and row["packet"] in lost:
            assert row["wait_ns"] is None


def test_a_policer_at_the_far_end_drops_what_had_arrived(tmp_path: Path) -> None:
    results, network = run(POLICED)
    path = tmp_path / "policed.pcapng"
    write_capture(results, network, path, at=("A",))
    policed = results.drops["packets"][0]
    counts = [(number, text) for number, text in comments(path) if "dropped: policed" in text]
    assert len(counts) == policed
    names = [
        body[12 : 12 + struct.unpack_from("<H", body, 10)[0]].decode()
        for kind, body in blocks(path.read_bytes())
        if kind == 1
    ]
    assert {names[number] for number, _ in counts} == {"S->A in"}


@pytest.mark.parametrize("scheduler", ["priority", "drr", "wfq"])
def test_waits_of_all_packets_are_those_of_the_ports(scheduler: str) -> None:
    """Sum and greatest of the waits of each class; who still waits at the end is in none."""
    results, _ = run(CLASSES.replace("SCHEDULER", scheduler))
    waits: dict[str, list[int]] = {"voice": [], "default": []}
    for row in results.packets.rows():
        if row["event"] == "queued" and row["link"] == "A->B" and row["wait_ns"] is not None:
            waits[str(row["class"])].append(int(row["wait_ns"]))
    for name, each in waits.items():
        port = results.ports.where(**{"link": "A->B", "class": name})
        assert max(each) == port["wait_max_ns"]
        assert sum(each) / len(each) == pytest.approx(float(port["wait_mean_ns"] or 0), rel=1e-9)
    if scheduler == "priority":
        assert max(waits["voice"]) < max(waits["default"])


def test_copies_of_1_plus_1_have_numbers_of_their_own() -> None:
    text = """
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 8 Mbit/s, delay: 5 ms}}
links: {S-A: {}, A-T: {}, S-B: {}, B-T: {}}
paths: {one: {route: [S, A, T], php: false}, two: {route: [S, B, T], php: false}}
trunks: {all: {path: one, flows: f}}
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 1000 B}}
protections: {p: {path: one, kind: one-plus-one, backup: two}}
run: {duration: 80 ms, trace: on}
"""
    results, _ = run(text)
    rows = list(results.packets.rows())
    made = [row for row in rows if row["event"] in ("sent", "copied")]
    assert [row["packet"] for row in made] == list(range(len(made)))
    copies = {row["packet"] for row in made if row["event"] == "copied"}
    assert len(copies) * 2 == len(made)
    first = {row["link"] for row in rows if row["event"] == "queued" and row["packet"] in copies}
    assert first == {"S->B", "B->T"}
    causes = {row["cause"] for row in rows if row["event"] == "dropped"}
    assert causes == {"unselected"}


def test_a_trace_changes_no_other_table() -> None:
    traced, _ = run(CUT)
    untraced, _ = run(CUT.replace("trace: on", "trace: off"))
    for name, table in untraced.tables.items():
        if name != "packets":
            assert list(table.rows()) == list(traced.tables[name].rows()), name


def test_without_a_trace_or_with_a_wrong_place_there_is_no_file(tmp_path: Path) -> None:
    results, network = run(CUT.replace("trace: on", "trace: off"))
    with pytest.raises(UntracedRunError):
        write_capture(results, network, tmp_path / "x")
    results, network = run(CUT)
    with pytest.raises(UnknownPlaceError, match="did you mean 'A->B'"):
        write_capture(results, network, tmp_path / "x", at=("A-B",))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--pcap-at", "S"], "need --pcap"),
        (["--pcap", "x.pcapng", "--runs", "2"], "one run"),
        (["--pcap", "x.pcapng", "--pcap-at", "Q"], "no node or link is called"),
        (["--pcap", "nowhere/x.pcapng"], "no writable folder"),
        (["--pcap", "x.pcapng", "--set", "run.trace=off"], "no packet trace"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    words: list[str], expected: str, trunkline: Any, tmp_path: Path
) -> None:
    (tmp_path / "s.yaml").write_text(CUT)
    done = trunkline("run", str(tmp_path / "s.yaml"), *words)
    assert done.returncode == 2
    assert expected in " ".join(done.stderr.split())

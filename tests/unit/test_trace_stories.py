"""Stories of packets, flows and paths, against what the same run's tables say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.results import Results
from trunkline.results.number_format import format_duration
from trunkline.scenario import load
from trunkline.trace import UntracedRunError, flow_story, packet_story, path_story
from trunkline.trace.phrases import DROP_CAUSE_PHRASES, describe_label_change

# 8 Mbit/s and 1000 B: 1 ms each. Two datagrams at once every 10 ms: the second waits 1 ms. The
# trunk takes both from A to C by a label that B, the last but one, pops.
TEXT = """
trunkline: 1
nodes: [A, B, C]
links:
  A-B: {rate: 8 Mbit/s, delay: 2 ms, header: 0 B}
  B-C: {rate: 8 Mbit/s, delay: 3 ms, header: 0 B}
paths:
  lsp: {route: [A, B, C]}
trunks:
  t: {path: lsp, flows: [one, two]}
flows:
  one: {agent: udp, from: A, to: C, rate: 0.8 Mbit/s, size: 996 B, dscp: EF}
  two: {agent: udp, from: A, to: C, rate: 0.8 Mbit/s, size: 996 B}
run: {duration: 95 ms, trace: TRACE}
"""


def run(text: str) -> tuple[Results, Any]:
    network = compile(load(text))
    return simulate(network, seeds=[1])[0], json.loads(network.to_json())


@pytest.fixture(scope="module")
def traced() -> tuple[Results, Any]:
    return run(TEXT.replace("TRACE", "on"))


def test_a_packets_story_has_its_wait_its_labels_and_its_time(traced: tuple[Results, Any]) -> None:
    """1000 B on A-B with its label, 996 B on B-C: 1 ms + 0.996 ms; 2 + 3 ms on the way."""
    results, network = traced
    lines = packet_story(results, network, 1)
    assert lines[0] == (
        "Packet 1 is datagram 0 of flow two (A to C); 996 B of IP, DSCP DF, Not-ECT."
    )
    assert "A queued it for A->B, class default; waited 1 ms; label 16 (TC 0" in lines[3]
    assert lines[4].startswith("  0.004000000 s  arrived at B over A->B")
    assert lines[5].endswith("B queued it for B->C, class default; sent at once; label 16 popped")
    assert lines[7] == "  0.007996000 s  delivered at C"
    assert lines[-1] == (
        "It took 7.996 ms over 2 links: 1 ms waiting in queues, 1.996 ms being transmitted, "
        "5 ms under way."
    )
    assert "label 16 (TC 5" in packet_story(results, network, 0)[3]


def test_parts_of_the_time_of_every_packet_add_up(traced: tuple[Results, Any]) -> None:
    for row in traced[0].packets.rows():
        if row["event"] == "delivered":
            assert packet_story(*traced, int(row["packet"] or 0))[-1].startswith("It took")


def test_a_flows_story_has_its_ways_waits_and_counts(traced: tuple[Results, Any]) -> None:
    text = "\n".join(flow_story(*traced, "two"))
    assert "sent 10 packets" in text
    assert "10 packets over A->B, B->C" in text or "9 packets over A->B, B->C" in text
    assert "A->B: mean 1 ms, longest 1 ms" in text


def test_a_paths_story_has_its_label_operations(traced: tuple[Results, Any]) -> None:
    lines = path_story(*traced, "lsp")
    assert lines[0].startswith("Path lsp runs over 2 links: A, B, C; 5 ms of propagation, 8 Mbit/s")
    assert "  B, label 16: pop, send on B->C" in lines
    carried = traced[0].paths["packets"][0]
    assert f"It carried {carried} packets" in "\n".join(lines)


def test_without_a_trace_the_flow_is_told_and_the_packet_is_not() -> None:
    untraced = run(TEXT.replace("TRACE", "off"))
    assert "run: {trace: on}" in flow_story(*untraced, "one")[-1]
    with pytest.raises(UntracedRunError, match="trace: on"):
        packet_story(*untraced, 0)


@pytest.mark.parametrize(
    ("story", "name"), [(flow_story, "three"), (path_story, "lps"), (packet_story, 10**6)]
)
def test_a_name_that_nothing_has_is_said(story: Any, name: Any, traced: tuple[Any, Any]) -> None:
    with pytest.raises(LookupError, match=r"no (flow|path|packet) "):
        story(*traced, name)


def test_every_cause_of_a_drop_has_its_words() -> None:
    from trunkline import _core

    assert tuple(DROP_CAUSE_PHRASES) == _core.CAUSES


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, "16/0/64", "label 16 (TC 0, TTL 64) pushed"),
        ("16/5/64", "17/5/63", "label 16 swapped for 17 (TC 5, TTL 63)"),
        ("16/5/64", None, "label 16 popped"),
        ("30/0/9 16/5/64", "16/5/8", "label 30 popped"),
        ("16/5/64", "30/5/255 17/5/63", "label 16 swapped for 17 (TC 5, TTL 63), "
         "label 30 (TC 5, TTL 255) pushed"),
        ("30/5/9 17/0/63", "31/5/8 17/0/63", "label 30 swapped for 31 (TC 5, TTL 8)"),
        ("16/5/64", "16/5/64", ""),
    ],
)  # fmt: skip
def test_rfc3031_s3_10_operations_are_told(before: str, after: str, expected: str) -> None:
    assert describe_label_change(before, after) == expected


def test_spans_are_told_in_their_unit() -> None:
    output = [format_duration(value) for value in (0, 999, 1500, 2_000_000, 1.23456e9)]
    assert output == ["0 s", "999 ns", "1.5 µs", "2 ms", "1.235 s"]


def test_inspect_tells_stories_from_a_folder(trunkline: Any, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(TEXT.replace("TRACE", "on"))
    folder = str(tmp_path / "out")
    assert trunkline("run", str(tmp_path / "s.yaml"), "--out", folder).returncode == 0
    output = trunkline("inspect", folder, "--packet", "1")
    assert output.stdout.startswith("Packet 1 is datagram 0 of flow two")
    assert "# Label tables" in trunkline("inspect", folder).stdout
    assert (
        json.loads(trunkline("inspect", folder, "--flow", "one", "--json").stdout)["flow"] == "one"
    )
    wrong = trunkline("inspect", folder, "--flow", "on")
    assert wrong.returncode == 2
    assert "did you mean 'one'" in wrong.stderr
    wrong = trunkline("inspect", str(tmp_path / "s.yaml"), "--packet", "1")
    assert wrong.returncode == 2
    assert "folder of results" in wrong.stderr

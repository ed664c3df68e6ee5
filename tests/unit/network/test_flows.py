"""Agents of flows in the compiled network: what absent keys mean, and which keys bound others."""

from __future__ import annotations

from typing import Any

import pytest

import trunkline as tl
from trunkline.network import compile


def compile_flow(keys: str) -> dict[str, Any]:
    """Compile the first flow of a network of one link."""
    text = f"""\
trunkline: 1
nodes: [A, B]
links: {{A-B: {{rate: 10 Mbit/s}}}}
flows: {{f: {{from: A, to: B, {keys}}}}}
run: {{duration: 1 s}}
"""
    flow: dict[str, Any] = compile(tl.loads(text)).data["flows"][0]
    return flow


@pytest.mark.parametrize(
    ("keys", "start_s", "reservoir_s", "cushion_s"),
    [
        ("", 4, 7.5, 15),
        (", chunk: 5 s, buffer: 20 s", 5, 5, 10),
        (", start: 8 s, reservoir: 2 s, cushion: 9 s", 8, 2, 9),
        (", reservoir: 0 s", 4, 0, 15),
    ],
)
def test_a_player_starts_with_a_chunk_and_its_line_takes_a_quarter_and_half_of_the_buffer(
    keys: str, start_s: float, reservoir_s: float, cushion_s: float
) -> None:
    """By default a chunk is 4 s and the buffer 30 s."""
    flow = compile_flow(f"agent: tcp, video: {{rule: buffer{keys}}}")
    players = flow["transfers"]["opened"]["video"]["players"]
    assert players["start_ns"] == start_s * 1e9
    line = {"reservoir_ns": reservoir_s * 1e9, "cushion_ns": cushion_s * 1e9}
    assert players["rule"] == {"buffer": line}


@pytest.mark.parametrize(
    ("memory", "window", "initial", "most"),
    [
        ("4096 131072 6291456", 100, 131_072, 2 * 100 * 1000),
        ("4096 131072 200000", 100, 131_072, 200_000),
        ("4096 131072 199999", 100, 131_072, 199_999),
        ("4096 131072 6291456", 10, 131_072, 131_072),
    ],
)
def test_a_receivers_memory_grows_to_twice_the_window_and_is_never_below_the_first(
    memory: str, window: int, initial: int, most: int
) -> None:
    """Half of the memory is window, here of segments of 1000 bytes."""
    agent = compile_flow(
        f"agent: tcp, stack: linux, mss: 1000 B, window: {window} packets, receive_buffer: {memory}"
    )["agent"]
    assert agent["receive_buffer"] == {"initial_bytes": initial, "max_bytes": most}


@pytest.mark.parametrize(("window", "first"), [(9, 9), (10, 10), (11, 10)])
def test_rfc6928_the_first_window_is_10_segments_and_never_above_that_of_the_receiver(
    window: int, first: int
) -> None:
    agent = compile_flow(f"agent: tcp, window: {window} packets")["agent"]
    assert agent["initial_window"] == first


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ("", None),
        (", stack: rfc, congestion: cubic", "standard"),
        (", stack: linux, congestion: cubic", "hystart"),
        (", stack: linux, congestion: cubic, slow_start: standard", "standard"),
        (", stack: rfc, timestamps: true, congestion: cubic, slow_start: hystart++", "hystart++"),
    ],
)
def test_slow_start_of_cubic_is_by_default_that_of_its_stack(keys: str, found: str | None) -> None:
    congestion = compile_flow(f"agent: tcp{keys}")["agent"].get("congestion")
    assert congestion == (None if found is None else {"kind": "cubic", "slow_start": found})


@pytest.mark.parametrize(
    ("keys", "gaps"),
    [
        ("spacing: poisson", {"exponential": {"mean_ns": 50_000_000}}),
        ("spacing: periodic", {"fixed": {"gap_ns": 50_000_000}}),
        ("", {"fixed": {"gap_ns": 50_000_000}}),
    ],
)
@pytest.mark.parametrize(("reply", "reply_bytes"), [("", 200), ("protocol: udp, reply: 90 B", 90)])
def test_requests_of_an_echo_are_periodic_or_poisson_and_answers_as_large_unless_written(
    keys: str, gaps: dict[str, Any], reply: str, reply_bytes: int
) -> None:
    words = ["agent: echo", "interval: 50 ms", "size: 200 B", keys, reply]
    flow = compile_flow(", ".join(filter(None, words)))
    assert flow["agent"]["arrivals"] == {"gaps": gaps}
    assert flow["echo"]["reply_bytes"] == reply_bytes


def test_a_schedule_has_the_least_rate_as_it_says_when_each_datagram_leaves() -> None:
    datagrams = "[{time: 0 s, size: 100 B}, {time: 1 ms, size: 90 B}]"
    agent = compile_flow(f"agent: udp, arrivals: schedule, datagrams: {datagrams}")["agent"]
    assert agent["arrivals"] == {"schedule": {"times_ns": [0, 1_000_000], "sizes": [100, 90]}}
    assert agent["rate_bit_s"] == 1

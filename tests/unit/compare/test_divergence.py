"""The first packet that differs, where the cause is known by construction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from trunkline.compare import ComparisonOperand, find_divergence
from trunkline.compare.network_difference import group_differences, list_network_differences
from trunkline.results import store
from trunkline.scenario import load

# 100 packets/s of 1250 B from each of two flows into a link that takes 1 ms for each.
TWO = """
trunkline: 1
parameters: {limit: 50 packets, rate: 10 Mbit/s, delay: 5 ms, start: 0 s, far: 10 Mbit/s}
nodes: [A, B, C]
links:
  A-B: {rate: $rate, delay: $delay, port: p}
  B-C: {rate: $far}
ports: {p: {queue: {limit: $limit}}}
flows:
  steady: {agent: udp, from: A, to: C, rate: 8 Mbit/s, size: 1250 B}
  burst: {agent: udp, from: A, to: C, rate: 4 Mbit/s, size: 1250 B, start: $start}
run: {duration: 1 s}
"""


def side(text: str = TWO, **values: str) -> ComparisonOperand:
    return ComparisonOperand.from_scenario(load(text, overrides=values), "two")


def test_the_same_scenario_never_diverges() -> None:
    assert find_divergence(side(), side(), 1) is None


def test_a_shorter_queue_drops_the_first_packet_that_does_not_fit() -> None:
    # 12 Mbit/s into 10: 1200 - 1000 = 200 packets/s stay. The queue holds 10 after about 50 ms, and
    # the same packet is queued in the other run.
    found = find_divergence(side(), side(limit="10 packets"), 1)
    assert found is not None
    assert (found.side, found.place) == ("A", "link A->B")
    assert found.event["event"] == "queued"
    assert 0.045e9 < found.time_ns < 0.06e9
    assert found.other.startswith("has it dropped (queue_full) at link A->B")
    assert found.why[0] == "links[A->B].port.classes[0].queue.limit_packets: 50 in A, 10 in B"
    assert found.before is not None


def test_a_longer_link_delays_the_first_arrival_by_as_much() -> None:
    # First bit at 0, 1 ms on the wire, 5 or 6 ms of delay: 6 ms in A, 7 in B.
    found = find_divergence(side(), side(delay="6 ms"), 1)
    assert found is not None
    assert (found.time_ns, found.side) == (6_000_000, "A")
    assert found.event["event"] == "arrived"
    assert found.other == "does so 1000 us later"
    assert found.why[0] == "links[A->B].delay_ns: 5000000 in A, 6000000 in B"


def test_a_late_difference_is_found_as_exactly() -> None:
    late = TWO.replace("run:", "failures:\n  cut: {link: B-C, at: 900 ms}\nrun:")
    found = find_divergence(side(), side(late), 1)
    assert found is not None
    # The packet that would arrive at that very instant is lost with the link.
    assert (found.time_ns, found.side) == (900_000_000, "A")
    assert "dropped (failed_in_flight) at link B->C at 0.900000000 s" in found.other
    assert any("recovery" in text for text in found.why)


def test_a_flow_that_starts_later_is_a_difference_of_that_flow() -> None:
    found = find_divergence(side(), side(start="300 ms"), 1)
    assert found is not None
    assert found.packet.startswith("burst, forward, number 0")
    assert found.why[0].startswith("flows[burst].start_ns: 0 in A, 300000000 in B")


def test_different_seeds_are_the_cause_of_all_that_is_random() -> None:
    random = TWO.replace("rate: 8 Mbit/s", "arrivals: poisson, rate: 8 Mbit/s")
    found = find_divergence(side(random), side(random), 1, 2)
    assert found is not None
    assert found.why == ["the seeds differ, 1 and 2: so does all that is random"]


def test_traces_on_disk_are_read_and_nothing_is_run(tmp_path: Path) -> None:
    traced = TWO.replace("run: {", "run: {trace: on, ")
    for name, values in (("a", {}), ("b", {"delay": "6 ms"})):
        store.write_results(side(traced, **values).get_runs([1]), tmp_path / name)
    a, b = (ComparisonOperand.read_folder(tmp_path / name) for name in "ab")
    assert a.network is None
    found = find_divergence(a, b, 1)
    again = find_divergence(side(), side(delay="6 ms"), 1)
    assert found is not None
    assert again is not None
    assert found.time_ns == 6_000_000
    assert replace(found, why=[]) == replace(again, why=[])


def test_names_are_compared_and_not_their_numbers() -> None:
    # The same network with its flows and links listed in another order moves packets alike, until
    # one is dropped.
    lines = TWO.split("\n")
    steady = next(i for i, line in enumerate(lines) if line.startswith("  steady:"))
    lines[steady], lines[steady + 1] = lines[steady + 1], lines[steady]
    link = next(i for i, line in enumerate(lines) if line.startswith("  A-B:"))
    lines[link], lines[link + 1] = lines[link + 1], lines[link]
    # Which of two packets of one instant is first follows the order of the flows, so they are
    # kept apart.
    apart = "\n".join(lines)
    found = find_divergence(side(start="1 us"), side(apart, start="1 us", limit="10 packets"), 1)
    assert found is not None
    assert found.other.startswith("has it dropped (queue_full) at link A->B")


def test_without_trace_and_network_it_cannot_be_told(tmp_path: Path) -> None:
    store.write_results(side().get_runs([1]), tmp_path / "a")
    with pytest.raises(ValueError, match="neither a trace nor the network"):
        find_divergence(ComparisonOperand.read_folder(tmp_path / "a"), side(delay="6 ms"), 1)


def test_probes_and_seeds_are_no_differences_of_networks() -> None:
    probed = TWO + "probes: [{flow: steady, measure: goodput, every: 100 ms}]\n"
    a, b = side(), side(probed)
    assert a.network is not None
    assert b.network is not None
    assert list_network_differences(a.network, b.network) == []
    assert find_divergence(a, b, 1) is None


def test_what_differs_alike_in_many_places_is_said_once() -> None:
    links = [(f"links[{a}->B].delay_ns", f"links[{a}->B].delay_ns: 1 in A, 2 in B") for a in "ACD"]
    other = ("links[E->B].delay_ns", "links[E->B].delay_ns: 1 in A, 3 in B")
    gone = [(f"flows[{f}]", f"flows[{f}]: absent in A, {{}} in B") for f in "xy"]
    top = ("run.duration_ns", "run.duration_ns: 1 in A, 2 in B")
    assert group_differences([*links, other, *gone, top]) == [
        "3 links, delay_ns: 1 in A, 2 in B",
        other[1],
        *(text for _, text in gone),
        top[1],
    ]

"""What a guest leaves, written by hand, as tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from table_invariants import find_invalid_values

from trunkline.linux.outcome import run_results
from trunkline.linux.outcome.records import (
    Arrival,
    BrokenRecordsError,
    list_lost_datagrams,
    read_arrivals,
)
from trunkline.linux.plan.compiled_plan import CompiledPlan, compile_plan as plan_of
from trunkline.linux.plan.guest_plan import ARRIVAL_RECORD, GOODPUT_RECORD, TCP_INFO_RECORD
from trunkline.network import compile
from trunkline.results import Provenance, Results
from trunkline.scenario import load

SCENARIO = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s, delay: 1 ms}}
flows: {cbr: {agent: udp, from: A, to: B, rate: 80 kbit/s, size: 100 B}}
probes: [{flow: cbr, measure: [throughput, delay-max], every: 20 ms}]
run: {duration: 100 ms}
"""
MS = 1_000_000


@pytest.fixture
def compiled() -> CompiledPlan:
    return plan_of(compile(load(SCENARIO)).to_json())


def guest(folder: Path, compiled: CompiledPlan, arrived: list[tuple[int, int]]) -> None:
    """Ten datagrams each 10 ms; `arrived`: number and delay [ns]."""
    records = [(number, 0, 64, 0, number * 10 * MS, number * 10 * MS + d) for number, d in arrived]
    (folder / "udp-0.bin").write_bytes(b"".join(ARRIVAL_RECORD.pack(*each) for each in records))
    nodes = {}
    for node in compiled.plan.nodes:
        qdiscs = []
        for link, leaves in enumerate(compiled.leaves):
            side = compiled.wiring.sending_ends[link]
            if f"n{side.node}" == node.name:
                qdiscs += [
                    {
                        "kind": leaf.kind,
                        "dev": side.device,
                        "handle": leaf.handle,
                        "packets": 8 if link == 0 else 0,
                        "bytes": 800 if link == 0 else 0,
                        "drops": 2 if link == 0 else 0,
                    }
                    for leaf in leaves.values()
                ]
        nodes[node.name] = {"qdiscs": qdiscs, "classes": {}, "filters": {}, "netstat": {}}
    (folder / "stats.json").write_text(
        json.dumps([{"time_ns": time, "nodes": nodes} for time in compiled.plan.snapshots_ns])
    )


def read(folder: Path, compiled: CompiledPlan) -> Results:
    about = Provenance.for_network(scenario="", network_json="{}", version="test", seed=1)
    return run_results.read_results(compiled, folder, about)


def test_counts_and_delays_of_datagrams(tmp_path: Path, compiled: CompiledPlan) -> None:
    # Numbers 3 and 7 of 0 to 9 are lost; the others take 2 ms, number 5 takes 3 ms.
    delays = [(n, 3 * MS if n == 5 else 2 * MS) for n in range(10) if n not in (3, 7)]
    guest(tmp_path, compiled, delays)
    row = read(tmp_path, compiled).flows.where(flow="cbr")
    assert (row["packets_sent"], row["packets_delivered"], row["packets_dropped"]) == (10, 8, 2)
    assert (row["bytes_sent"], row["goodput_bytes"]) == (1000, 8 * 72)
    assert (row["delay_min_ns"], row["delay_max_ns"]) == (2 * MS, 3 * MS)
    assert row["delay_mean_ns"] == (7 * 2 + 3) * MS / 8
    assert row["delay_p50_ns"] == 2 * MS
    # RFC 3550 section 6.4.1: up by 1 ms, J = 1/16; down, J = 1/16 + (1 - 1/16) / 16 = 31/256; then
    # numbers 8 and 9 differ by nothing from the one before, and J goes to 15/16 twice.
    assert row["jitter_ns"] == pytest.approx(MS * 31 / 256 * (15 / 16) ** 2)


def test_what_no_datagram_arrived_of_has_no_delay(tmp_path: Path, compiled: CompiledPlan) -> None:
    """And one datagram has a delay, and nothing before it that the jitter could compare."""
    guest(tmp_path, compiled, [])
    none = read(tmp_path, compiled)
    assert find_invalid_values(none) == []
    assert none.flows.where(flow="cbr")["delay_p99_s"] is None
    assert none.aggregates.where(dscp="DF")["delay_mean_s"] is None
    json.dumps(none.to_json(), allow_nan=False)
    guest(tmp_path, compiled, [(3, 2 * MS)])
    (row,) = read(tmp_path, compiled).flows.rows()
    assert (row["delay_mean_s"], row["jitter_s"], row["packets_timed"]) == (0.002, None, 1)


def test_drops_are_told_by_queue(tmp_path: Path, compiled: CompiledPlan) -> None:
    guest(tmp_path, compiled, [(n, 2 * MS) for n in range(10) if n not in (3, 7)])
    results = read(tmp_path, compiled)
    (drop,) = results.drops.rows()
    assert (drop["link"], drop["flow"], drop["cause"], drop["packets"]) == (
        "A->B",
        None,
        "queue_full",
        2,
    )
    assert results.ports.where(link="A->B", **{"class": "default"})["packets_offered"] == 10


def test_series_are_means_over_the_step_that_ends(tmp_path: Path, compiled: CompiledPlan) -> None:
    guest(tmp_path, compiled, [(n, 2 * MS) for n in range(10) if n != 3])
    rows = [
        (row["time_ns"], row["value"])
        for row in read(tmp_path, compiled).series.rows()
        if row["measure"] == "throughput"
    ]
    # Two datagrams of 800 bit arrive in each step of 20 ms, one where number 3 is lost.
    rates = [80e3, 40e3, 80e3, 80e3, 80e3]
    assert rows == [(20 * MS * step, rate) for step, rate in enumerate(rates, start=1)]


def test_what_is_under_way_at_the_end_is_not_lost() -> None:
    sent = [(k * 10, 100) for k in range(10)]
    arrived = [Arrival(k, 0, 64, k * 10, k * 10 + 25) for k in range(8) if k != 4]
    # Number 4 is lost: later ones came. 8 and 9 left at 80 and 90 and would come at 105 and 115.
    assert list_lost_datagrams(sent, arrived, 0, 100) == [4]
    # With the end at 110, number 8 is lost too.
    assert list_lost_datagrams(sent, arrived, 0, 110) == [4, 8]


@pytest.mark.parametrize("lost_segments", [0, 3])
@pytest.mark.parametrize("warm_up", ["0 s", "40 ms"])
def test_segments_between_sender_and_receiver_are_not_lost(
    warm_up: str, lost_segments: int, tmp_path: Path
) -> None:
    """At each moment: sent = arrived + lost + under way."""
    text = SCENARIO.partition("flows:")[0] + (
        "flows: {bulk: {agent: tcp, from: A, to: B, preset: linux}}\n"
        f"run: {{duration: 100 ms, warm_up: {warm_up}}}\n"
    )
    written = compile(load(text)).to_json()
    compiled, mss = plan_of(written), json.loads(written)["flows"][0]["agent"]["mss_bytes"]
    guest(tmp_path, compiled, [])
    # At the end of the warm-up 40 are sent, of the last 10 3 have arrived; at the end 100 are sent
    # and of the last 12 2 have arrived.
    sample = (40 * MS, 10, 7, 0, 0, 10, 0, 0, 0, 30 * mss, 40, 0, 0, 0)
    (tmp_path / "tcp-0.bin").write_bytes(TCP_INFO_RECORD.pack(*sample))
    (tmp_path / "tcp-0.goodput").write_bytes(GOODPUT_RECORD.pack(40 * MS, 33 * mss))
    arrived = 90 - lost_segments
    totals = {
        "established_ns": 0,
        "finished_ns": None,
        "received_bytes": arrived * mss,
        "acked_bytes": (arrived - 2) * mss,
        "data_segments_sent": 100,
        "data_segments_received": arrived,
        "retransmitted_segments": lost_segments,
        "receiver_segments_sent": 50,
        "unacked_segments": 12,
    }
    (tmp_path / "tcp-0.json").write_text(json.dumps(totals))
    assert read(tmp_path, compiled).flows.where(flow="bulk")["packets_dropped"] == lost_segments


def test_drops_behind_the_last_arrival_are_those_that_the_queues_tell() -> None:
    # 12 drops told, 4 + 2 of them known by later arrivals: 6 are among the undecided. Of the first
    # flow half was lost before, of the last a quarter, so of 6 and 6 undecided 3 and 1.5 would be:
    # 4 and 2. The second has lost nothing: its 5 were on their way. Where all are known nothing is
    # added, nor more than is undecided.
    for shown_text, expected in ((12, [8, 0, 4]), (6, [4, 0, 2]), (3, [4, 0, 2]), (99, [10, 0, 8])):
        flows = [
            run_results.FlowCounts(packets_dropped=4, packets_delivered=4, undecided=6),
            run_results.FlowCounts(packets_delivered=90, undecided=5),
            run_results.FlowCounts(packets_dropped=2, packets_delivered=6, undecided=6),
        ]
        run_results.share_drops(flows, shown_text)
        assert [each.packets_dropped for each in flows] == expected


def test_torn_records_are_refused(tmp_path: Path) -> None:
    (tmp_path / "udp-0.bin").write_bytes(b"\0" * 25)
    with pytest.raises(BrokenRecordsError, match="25 B"):
        read_arrivals(tmp_path, 0)
    with pytest.raises(BrokenRecordsError, match=r"no udp-1\.bin"):
        read_arrivals(tmp_path, 1)

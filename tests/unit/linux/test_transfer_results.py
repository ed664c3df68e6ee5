"""Transfers in the kernel: their plan, their records by hand, and the verdict on them."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.linux.judge import verification
from trunkline.linux.outcome import transfer_results
from trunkline.linux.outcome.records import BrokenRecordsError
from trunkline.linux.plan.agent_orders import write_orders
from trunkline.linux.plan.command_script import UnsupportedError
from trunkline.linux.plan.compiled_plan import CompiledPlan, compile_plan as plan_of
from trunkline.linux.plan.guest_plan import (
    EXCHANGE_RECORD,
    TRANSFER_RECORD,
    TRANSFER_RESULT_RECORD,
    TRANSFER_TOTALS_RECORD,
)
from trunkline.network import compile
from trunkline.scenario import load, loads

LINE = """\
trunkline: 1
nodes: [S, D]
links: {S-D: {rate: RATE, delay: 5 ms}}
flows:
  web: {agent: tcp, preset: linux, connect: true, from: S, to: D, transfers: TRANSFERS}
run: {duration: 2 s}
"""
MS = 1_000_000
NEVER = 2**64 - 1


@pytest.fixture
def compiled(tmp_path: Path) -> CompiledPlan:
    (tmp_path / "sizes.csv").write_text("time,size\n0.1 s,5 kB\n0.2 s,50 kB\n1.9 s,1 MB\n")
    scheduled = "{arrivals: schedule, schedule: sizes.csv, record: true}"
    written = tmp_path / "line.yaml"
    written.write_text(LINE.replace("RATE", "10 Mbit/s").replace("TRANSFERS", scheduled))
    return plan_of(compile(load(written)).to_json())


def ints(table: dict[str, tuple[str, bytes]], name: str) -> list[int]:
    found = array("q")
    found.frombytes(table[name][1])
    return list(found)


def test_the_guest_is_given_times_and_sizes(compiled: CompiledPlan) -> None:
    listed = list(TRANSFER_RECORD.iter_unpack(compiled.schedules["transfers-0.schedule"]))
    assert listed == [(100 * MS, 5_000), (200 * MS, 50_000), (1_900 * MS, 1_000_000)]
    assert b"transfers transfers-0.schedule 0 n0 n1 " in write_orders(compiled.plan)


def test_records_become_the_simulators_tables(compiled: CompiledPlan, tmp_path: Path) -> None:
    """30 and 60 ms, and one that is not complete: it has no time and is counted."""
    fates = [(100, 130, 150), (200, 260, 280), (1_900, None, None)]
    packed = [
        TRANSFER_RESULT_RECORD.pack(*(NEVER if at is None else at * MS for at in each))
        for each in fates
    ]
    (tmp_path / "transfers-0.bin").write_bytes(b"".join(packed))
    raw = transfer_results.make_transfer_tables(compiled, tmp_path)
    rows = raw["completions"]
    # All, to 10 kB, to 100 kB, to 1 MB, to 10 MB, above.
    assert ints(rows, "started") == [3, 1, 1, 1, 0, 0]
    assert ints(rows, "finished") == [2, 1, 1, 0, 0, 0]
    assert ints(rows, "fct_p50_ns")[:4] == [30 * MS, 30 * MS, 60 * MS, -1]
    assert array("d", rows["fct_mean_ns"][1])[0] == 45 * MS
    assert ints(raw["transfers"], "finish_ns") == [130 * MS, 260 * MS, -1]
    # Segments of 1460 B: 4 and 35, with 40 B each at 10 Mbit/s, 5 ms, and a SYN of 48 B each way.
    least = [5_000 + 4 * 40, 50_000 + 35 * 40]
    opening = 2 * (5 * MS + 48 * 800)
    assert ints(raw["transfers"], "floor_ns")[:2] == [opening + 5 * MS + 800 * b for b in least]


def test_counts_begin_at_the_end_of_the_warm_up(compiled: CompiledPlan, tmp_path: Path) -> None:
    compiled.network["run"]["warmup_ns"] = 1_000 * MS
    tallies = [(500, 10, 1, 2, 8, 5, 9_000), (2_000, 50, 3, 4, 45, 25, 60_000)]
    packed = [TRANSFER_TOTALS_RECORD.pack(at * MS, *rest) for at, *rest in tallies]
    (tmp_path / "transfers-0.tally").write_bytes(b"".join(packed))
    found = transfer_results.count_transfer_flow(compiled, tmp_path, 0)
    assert (found.packets_sent, found.retransmissions, found.packets_delivered) == (40, 2, 37)
    assert (found.goodput_bytes, found.bytes_delivered) == (51_000, 51_000 + 37 * 40)
    # Of 3 that have not arrived 2 more than before are not acknowledged.
    assert found.packets_dropped == 1


def test_times_fall_into_the_simulators_buckets() -> None:
    text = LINE.replace("RATE", "10 Mbit/s")
    law = "{every: 20 ms, size: {exponential: 10 kB}, record: true}"
    run = simulate(compile(loads(text.replace("TRANSFERS", law))).to_json(), seeds=[1])[0]
    times = [round(1e9 * float(str(at))) for at in run.transfers["fct_s"] if at is not None]
    ends = sorted({transfer_results.find_bucket_end(at) for at in times})
    rows = [row for row in run.tables["completion_times"].rows() if row["sizes"] == "all"]
    assert [row["upper_ns"] for row in rows] == ends


def test_a_slower_link_is_noticed_by_the_times_of_transfers() -> None:
    """A link of 6 in place of 10 Mbit/s, in the simulator in the kernel's place; 8 seeds."""
    law = "{every: 10 ms, size: {exponential: 5 kB}}"
    ours, other = (
        compile(loads(LINE.replace("RATE", rate).replace("TRANSFERS", law))).to_json()
        for rate in ("10 Mbit/s", "6 Mbit/s")
    )
    runs = [(ours, seed) for seed in range(1, 9)]
    verdict = verification.run_until_decided(
        runs, verification.make_simulator_runner(ours, other, "slower")
    )
    rows = {row.measure: row.outcome for row in verdict.rows}
    assert rows["completion time p50"] == rows["mean completion time"] == "differs"
    same = verification.run_until_decided(
        runs, verification.make_simulator_runner(ours, ours, "same")
    )
    assert {row.outcome for row in same.rows} == {"agrees"}


KEPT = "{arrivals: periodic, every: 500 ms, size: 5 kB, connections: kept}"
PAGES = """\
trunkline: 1
nodes: [S, D]
links: {S-D: {rate: 10 Mbit/s, delay: 5 ms}}
flows:
  user:
    {agent: tcp, preset: linux, connect: true, from: S, to: D, stop: 1500 ms,
     pages: {users: 1, objects: 0, request: 300 B, main: 5 kB, reading: 100 ms, connections: kept}}
run: {duration: 2 s}
"""


def test_an_application_writes_over_one_connection_and_the_last_segment_goes_at_once() -> None:
    """Its own word of the orders, behind the connection's; `true` is TCP_NODELAY."""
    text = LINE.replace("RATE", "10 Mbit/s").replace("TRANSFERS", KEPT)
    plan = plan_of(compile(loads(text)).to_json())
    orders = write_orders(plan.plan).decode().splitlines()
    (connection,) = [line for line in orders if line.startswith("tcp ")]
    assert connection.split()[-2:] == ["true", "100000000"]
    assert "writes 0 transfers-0.schedule" in orders
    assert not any(line.startswith("transfers ") for line in orders)
    listed = list(TRANSFER_RECORD.iter_unpack(plan.schedules["transfers-0.schedule"]))
    assert listed == [(at * MS, 5_000) for at in (0, 500, 1_000, 1_500)]


def test_tcp_slow_start_after_idle_is_off_where_the_window_is_kept() -> None:
    text = LINE.replace("RATE", "10 Mbit/s").replace("TRANSFERS", KEPT)
    for key, values in (("", set()), ("after_idle: keep, ", {"0"})):
        plan = plan_of(compile(loads(text.replace("connect:", f"{key}connect:"))).to_json())
        settings = {key: value for node in plan.plan.nodes for key, value in node.sysctls}
        found = {value for key, value in settings.items() if key.endswith("_after_idle")}
        assert found == values
    validating = text.replace("preset: linux, connect:", "after_idle: validate, connect:")
    with pytest.raises(UnsupportedError, match="nearest: restart"):
        plan_of(compile(loads(validating)).to_json())


def test_requests_and_answers_come_with_the_simulators_pauses(tmp_path: Path) -> None:
    """The pause is from the answer to the next request, so that both engines wait as long."""
    network = compile(loads(PAGES)).to_json()
    plan = plan_of(network)
    requests, answers = plan.plan.exchanges[0].requests, plan.plan.exchanges[0].answers
    steps = list(EXCHANGE_RECORD.iter_unpack(plan.schedules[f"tcp-{requests}.exchange"]))
    assert {step[1:] for step in steps} == {(300, 5_000)}
    recorded = loads(PAGES.replace("connections: kept", "connections: kept, record: true"))
    rows = simulate(compile(recorded).to_json(), seeds=[1])[0].transfers.rows()
    asked, answered = (
        [row for row in rows if row["flow"] == name] for name in ("user.requests", "user")
    )
    starts = [round(float(str(row["start_s"])) * 1e9) for row in asked]
    ends = [0] + [
        round((float(str(row["start_s"])) + float(str(row["fct_s"]))) * 1e9) for row in answered
    ]
    pauses = [start - end for start, end in zip(starts, ends, strict=False)]
    # One 5 kB segment train more or less queues alike in both: the pauses are those drawn.
    assert [step[0] for step in steps][: len(pauses)] == pytest.approx(pauses, abs=2)
    # Three pages of 40 ms; the third is not answered before the end.
    times = {requests: [(100, 110), (300, 310), (500, 510)], answers: [(110, 140), (310, 340)]}
    for flow, pairs in times.items():
        pairs = [*pairs, (510, None)] if flow == answers else pairs
        packed = [
            TRANSFER_RESULT_RECORD.pack(
                began * MS, NEVER if arrived is None else arrived * MS, NEVER
            )
            for began, arrived in pairs
        ]
        (tmp_path / f"transfers-{flow}.bin").write_bytes(b"".join(packed))
    raw = transfer_results.make_transfer_tables(plan, tmp_path)["completions"]
    pages = [
        (started, finished, p50)
        for kind, started, finished, p50 in zip(
            *(ints(raw, name) for name in ("kind", "started", "finished", "fct_p50_ns")),
            strict=True,
        )
        if kind == 2
    ]
    assert pages == [(3, 2, 40 * MS)]


def test_a_user_who_has_used_up_what_was_drawn_is_an_error(tmp_path: Path) -> None:
    plan = plan_of(compile(loads(PAGES)).to_json())
    requests, answers = plan.plan.exchanges[0].requests, plan.plan.exchanges[0].answers
    record = TRANSFER_RESULT_RECORD.pack(1, 2, NEVER) * len(plan.dry_run.exchanges[answers])
    (tmp_path / f"transfers-{requests}.bin").write_bytes(record)
    with pytest.raises(BrokenRecordsError, match="has used up"):
        transfer_results.read_transfer_results(plan, tmp_path, requests)

"""Whatever averages nothing is null: in every table, in JSON, in agreements and in comparisons.

docs/reference/measures.md, "Null": a measure is null where what it averages is empty. Each scenario
leaves something empty, all together everything.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

import pytest
from table_invariants import find_invalid_values

import trunkline as tl
from trunkline.compare import ComparisonOperand, compare_operands
from trunkline.compare.comparison_table import render_comparison
from trunkline.results import SCHEMAS, Results, store
from trunkline.scenario.sla import LowerBounds, UpperBounds
from trunkline.stats.metric import Metric
from trunkline.stats.run_averages import KEY_COLUMNS
from trunkline.stats.run_tables import build_interval_json, render_run_averages

# The SYN and its ACK alone come through: the first segment is lost, and sent again after the end.
SYN_ALONE = """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s, lose: [{flow: bulk, segment: 0}]}}
flows: {bulk: {agent: tcp, from: A, to: B, connect: true, size: 1000 B}}
slas:
  bulk:
    flow: bulk
    at_most:
      {delay_mean: 9 s, delay_p50: 9 s, delay_p90: 9 s, delay_p95: 9 s, delay_p99: 9 s,
       delay_p999: 9 s, delay_max: 9 s, delay_range: 9 s, jitter: 9 s}
    at_least: {goodput: 1 bit/s}
  all: {dscp: DF, at_most: {delay_mean: 9 s, delay_p99: 9 s, delay_range: 9 s, jitter: 9 s}}
run: {duration: 500 ms, trace: on}
"""
# A flow of each kind, probes of all that they have, paths and a port that keep accounts, a link
# without use, and an agreement about each measure that no run without a value may keep.
EVERY_KIND = """
trunkline: 1
parameters: {start: 0 s, stop: 2 s, loss: 0 %, size: 20 kB, duration: 1 s, warm_up: 0 s, rate: 10 Mbit/s}
nodes: [A, M, B, C]
links:
  A-M: {rate: 10 Mbit/s, delay: 5 ms, account: true, conditioner: edge}
  M-B: {rate: $rate, delay: 5 ms, loss: $loss}
  M-C: {rate: 10 Mbit/s, delay: 5 ms}
conditioners:
  edge:
    rules: [{flow: cbr, profile: gold}]
    profiles: {gold: {meter: {kind: token-bucket, rate: 1 Mbit/s, burst: 10 kB}, red: drop}}
paths: {lsp: {route: [A, M, B], account: true}, idle: {route: [A, M, C], account: true}}
trunks: {t: {path: lsp, flows: [cbr]}}
flows:
  cbr: {agent: udp, from: A, to: B, rate: 100 kbit/s, size: 500 B, start: $start, stop: $stop}
  bulk: {agent: tcp, from: A, to: B, start: $start, stop: $stop}
  open: {agent: tcp, from: A, to: B, connect: true, size: $size, start: $start, stop: $stop}
  call: {agent: udp, from: A, to: B, dscp: EF, call: {codec: g729a}, start: $start, stop: $stop}
  ping: {agent: echo, from: A, to: B, start: $start, stop: $stop}
  twamp: {agent: echo, protocol: udp, from: A, to: B, start: $start, stop: $stop}
  film: {agent: tcp, from: A, to: B, video: {players: 2, rule: rate}, start: $start, stop: $stop}
  web: {agent: tcp, from: A, to: B, pages: {users: 2, reading: 1 s}, start: $start, stop: $stop}
  files: {agent: tcp, from: A, to: B, transfers: {every: 20 ms, size: $size, record: true}, start: $start, stop: $stop}
probes:
  - {flow: [cbr, bulk, open], measure: [throughput, goodput, delay, delay-max], every: 1 ms}
  - {flow: [bulk, open], measure: [cwnd, ssthresh, srtt, rtt, rto, state], every: 1 ms}
  - {flow: [film, web, files], measure: [transfers, goodput], every: 1 ms}
  - {link: A->M, measure: [utilisation, drops, queue-packets, queue-bytes], every: 1 ms}
slas:
  flows:
    flow: [cbr, bulk, open, call]
    at_most:
      {delay_mean: 9 s, delay_p50: 9 s, delay_p90: 9 s, delay_p95: 9 s, delay_p99: 9 s,
       delay_p999: 9 s, delay_max: 9 s, delay_range: 9 s, jitter: 9 s, loss: 50 %}
    at_least: {goodput: 1 bit/s, throughput: 1 bit/s}
  voice: {dscp: EF, at_most: {delay_mean: 9 s, delay_p99: 9 s, delay_max: 9 s, jitter: 9 s}}
  calls: {flow: call, at_least: {mos: 2}}
  echoes:
    flow: [ping, twamp]
    at_most: {rtt_mean: 9 s, rtt_p50: 9 s, rtt_p95: 9 s, rtt_p99: 9 s, rtt_max: 9 s, echo_loss: 50 %}
  films: {flow: film, at_most: {start_up: 9 s, stall: 100 %}}
  transfers:
    flow: files
    at_most: {fct_mean: 9 s, fct_p50: 9 s, fct_p90: 9 s, fct_p95: 9 s, fct_p99: 9 s, fct_max: 9 s}
  pages:
    flow: web
    at_most: {page_mean: 9 s, page_p50: 9 s, page_p90: 9 s, page_p95: 9 s, page_p99: 9 s, page_max: 9 s}
run: {duration: $duration, warm_up: $warm_up}
"""  # noqa: E501
# The run ends before the Resv is back at the head.
NO_SET_UP = """
trunkline: 1
nodes: [A, B, C]
links: {A-B: {rate: 1 Mbit/s, delay: 10 ms}, B-C: {rate: 1 Mbit/s, delay: 10 ms}}
paths: {lsp: {route: [A, B, C], bandwidth: 500 kbit/s}}
trunks: {t: {path: lsp, flows: [cbr]}}
flows: {cbr: {agent: udp, from: A, to: C, rate: 100 kbit/s, size: 500 B}}
signalling: {kind: rsvp-te, when_down: discard}
run: {duration: 30 ms}
"""
ONE_DATAGRAM = """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s, delay: 5 ms}}
flows: {one: {agent: udp, from: A, to: B, rate: 100 kbit/s, size: 1000 B, stop: 1 ms}}
run: {duration: 100 ms}
"""
ALTERED = {
    "as it is": {},
    "nothing is sent": {"start": "1 s"},
    "all is under way": {"duration": "3 ms", "stop": "3 ms"},
    "as short as the clock counts": {"duration": "1 ns", "stop": "1 ns"},
    "all is lost": {"loss": "99.9999 %"},
    "all ends before the warm-up": {"stop": "50 ms", "warm_up": "900 ms"},
    "the warm-up is all but 1 ns": {"warm_up": "999999999 ns"},
    "nothing is complete": {"size": "100 MB", "rate": "100 kbit/s"},
}
TEXTS = {
    "a SYN alone arrives": SYN_ALONE,
    "a path is not set up": NO_SET_UP,
    "one datagram": ONE_DATAGRAM,
}
SUBJECTS = [*ALTERED, *TEXTS]
EMPTY = {"nothing is sent", "all is lost", "the warm-up is all but 1 ns"}
"""Subjects of which no agreement is kept."""


def scenario_of(subject: str) -> tl.Scenario:
    if subject in TEXTS:
        return tl.load(TEXTS[subject])
    return tl.load(EVERY_KIND, overrides=ALTERED[subject])


@lru_cache
def runs_of(subject: str) -> list[Results]:
    return tl.run_many(scenario_of(subject), seeds=[1, 2])


@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_column_of_any_table_has_a_number_where_nothing_was_averaged(
    subject: str, tmp_path: Path
) -> None:
    runs = runs_of(subject)
    for run in (*runs, *store.read_results(store.write_results(runs, tmp_path / "out"))):
        assert find_invalid_values(run) == []


@pytest.mark.parametrize("subject", SUBJECTS)
def test_json_of_runs_and_intervals_holds_numbers_and_nulls_alone(subject: str) -> None:
    runs = runs_of(subject)
    for run in runs:
        json.dumps(run.to_json(), allow_nan=False)
    json.dumps(build_interval_json(runs), allow_nan=False)
    json.dumps([each.to_json() for each in tl.judge(scenario_of(subject), runs)], allow_nan=False)
    for text in (
        runs[0].render(width=200, show_all=True),
        render_run_averages(runs, width=200, show_all=True),
    ):
        assert re.findall(r"\bnan\b|\binf\b|-\d+ ns", text) == []


@pytest.mark.parametrize("subject", [*ALTERED, "a SYN alone arrives", "one datagram"])
def test_rates_without_packets_have_no_number_where_nothing_flows(subject: str) -> None:
    run = tl.run(scenario_of(subject), engine="fluid")
    assert find_invalid_values(run) == []
    json.dumps(run.to_json(), allow_nan=False)


def test_every_average_says_what_it_averages() -> None:
    """But for what is over the measured time or over a step, which are never empty."""
    over_time = {"ports.queue_mean_packets", "series.value", "summary.measured_s"}
    without = {
        f"{table}.{field.name}"
        for table, fields in SCHEMAS.items()
        for field in fields
        if field.origin == "averaged" and not field.base
    }
    assert without == over_time
    for table, fields in SCHEMAS.items():
        names = {field.name for field in fields}
        assert all(set(field.base) <= names for field in fields), table


def test_the_agreements_here_are_about_every_measure_there_is() -> None:
    bounds = {bound.measure for bound in tl.load(EVERY_KIND).list_sla_bounds()}
    assert bounds == {*UpperBounds.model_fields, *LowerBounds.model_fields}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_an_agreement_about_a_measure_without_a_value_is_broken(subject: str) -> None:
    for run in runs_of(subject):
        for level in tl.judge(scenario_of(subject), run):
            if level.worst is None:
                assert not level.met, level.bound
                assert level.margin is None
            assert not (level.met and subject in EMPTY), level.bound


def test_issue_faults_first_1_of_a_flow_whose_syn_alone_arrives() -> None:
    """Two packets arrive, the SYN and its ACK; neither has data, so no delay was measured."""
    (run, _), scenario = runs_of("a SYN alone arrives"), scenario_of("a SYN alone arrives")
    (row,) = run.flows.rows()
    assert (row["packets_delivered"], row["packets_timed"], row["delays_compared"]) == (2, 0, 0)
    measures = [name for name in row if re.match("delay_(?!s_)|jitter", name)]
    assert {name: row[name] for name in measures} == dict.fromkeys(measures)
    (total,) = run.aggregates.rows()
    measures = [name for name in total if re.match("delay_(?!s_)|jitter", name)]
    assert {name: total[name] for name in measures} == dict.fromkeys(measures)
    assert [level.bound.sla for level in tl.judge(scenario, run) if level.met] == []
    (shown,) = (line for line in run.render(width=120).splitlines() if line.startswith("  bulk"))
    assert " ".join(shown.split()) == "bulk DF 0 bit/s 1.408 kbit/s 33.3 % – – – 0"


def test_a_path_that_is_not_up_before_the_end_has_no_time_of_set_up() -> None:
    (row,) = runs_of("a path is not set up")[0].lsps.rows()
    assert (row["asked"], row["setups"]) == (1, 0)
    assert (row["setup_mean_s"], row["setup_max_s"], row["setup_max_ns"]) == (None, None, None)


def test_rfc3550_section_6_4_1_a_single_packet_has_a_delay_and_no_jitter() -> None:
    """D(i-1, i) is of two packets; 1000 B and 5 B of a link header at 10 Mbit/s, and 5 ms."""
    (row,) = runs_of("one datagram")[0].flows.rows()
    assert (row["packets_timed"], row["delays_compared"]) == (1, 0)
    assert row["delay_mean_s"] == pytest.approx(0.0058, abs=1e-4)
    assert row["jitter_s"] is None


def test_a_packet_after_the_warm_up_is_compared_with_the_one_before_it() -> None:
    """RFC 3550 section 6.4.1 has an estimate from the second packet of a source on."""
    text = ONE_DATAGRAM.replace("stop: 1 ms", "stop: 90 ms")
    text = text.replace("duration: 100 ms", "duration: 100 ms, warm_up: 10 ms")
    (row,) = tl.run(tl.load(text)).flows.rows()
    assert (row["packets_timed"], row["delays_compared"]) == (1, 1)
    assert row["jitter_s"] == 0


def test_means_of_an_aggregate_leave_out_flows_without_a_delay() -> None:
    """As a SYN of another flow of the DSCP arrives, it weighs nothing."""
    beside = "flows: {other: {agent: udp, from: A, to: B, rate: 100 kbit/s, size: 1000 B}, bulk:"
    run = tl.run(tl.load(SYN_ALONE.replace("flows: {bulk:", beside)))
    other, both = run.flows.where(flow="other"), run.aggregates.where(dscp="DF")
    for name in ("delay_mean_s", "delay_min_s", "delay_max_s", "delay_range_s", "jitter_s"):
        assert both[name] == pytest.approx(other[name]), name


@pytest.mark.parametrize("subject", ["a SYN alone arrives", "nothing is sent", "all is lost"])
def test_a_comparison_of_every_measure_says_numbers_and_nulls_alone(subject: str) -> None:
    metrics = [
        Metric(table, field.name)
        for table in KEY_COLUMNS
        for field in SCHEMAS[table]
        if field.kind != "str" and field.in_json
    ]
    subjects = (subject, "as it is" if subject in ALTERED else subject)
    sides = [ComparisonOperand.from_scenario(scenario_of(each), each) for each in subjects]
    done = compare_operands(*sides, metrics, runs=2)
    json.dumps(done.to_json(), allow_nan=False)
    assert re.findall(r"\bnan\b|\binf\b", render_comparison(done, show_all=True, width=200)) == []

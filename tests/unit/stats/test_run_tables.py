"""Tables of the means of several runs, as the terminal shows them."""

from __future__ import annotations

import re

import pytest

import trunkline as tl
from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.results import Results
from trunkline.results.terminal_tables import render_to_text
from trunkline.stats import average_runs
from trunkline.stats.interval import Interval
from trunkline.stats.run_averages import AveragedRow
from trunkline.stats.run_tables import (
    _build_average_table,
    describe_wide_interval,
    render_run_averages,
)

from ..results.raw import column, network, tables

RARE_TRANSFERS = """
trunkline: 1
nodes: [S, R]
links: {S-R: {rate: 1 Mbit/s, port: p}}
ports: {p: {queue: {limit: 2 packets}}}
flows:
  cbr: {agent: udp, from: S, to: R, arrivals: poisson, rate: 900 kbit/s, size: 1000 B}
  rare: {agent: tcp, from: S, to: R, transfers: {load: 5 kbit/s, size: {fixed: 1 kB}}}
run: {duration: 1 s}
"""


@pytest.fixture(scope="module")
def runs() -> list[Results]:
    """Two runs, one with a single transfer, one with none."""
    made = simulate(compile(tl.loads(RARE_TRANSFERS)), seeds=range(1, 21))
    counts = [run.completions.where(flow="rare", sizes="all")["started"] for run in made]
    return [made[counts.index(1)], made[counts.index(0)]]


def find_line(text: str, name: str, title: str) -> str:
    """The row of a name in the table of a title."""
    return next(line for line in text.partition(title)[2].splitlines() if f" {name} " in line)


def test_a_transfer_that_began_in_one_run_of_two_is_shown(runs: list[Results]) -> None:
    shown = r"^ *rare +all "
    assert re.search(shown, render_run_averages(runs, width=200), re.M)
    assert not re.search(shown, render_run_averages(runs[1:], width=200), re.M)


def test_one_run_is_shown_without_intervals(runs: list[Results]) -> None:
    text = render_run_averages(runs[:1], width=200, show_all=True)
    assert "over 1 runs" in text
    assert "±" not in find_line(text, "cbr", "Flows")


def test_shares_are_in_per_cent_with_half_of_their_interval(runs: list[Results]) -> None:
    """12.706 is t(0.975, 1): half is 12.706 * |a - b| / 2."""
    text = render_run_averages(runs, width=200)
    first, second = (run.flows.where(flow="cbr")["loss_ratio"] for run in runs)
    mean, half = 50 * (first + second), 100 * 12.7062 * abs(first - second) / 2
    assert mean > 1
    assert half > 1
    row = find_line(text, "cbr", "Flows")
    assert f"{mean:.0f} ± {half:.0f} %" in row
    averages = average_runs(runs, columns={"loss_ratio"})
    assert averages[0].measures["loss_ratio"].mean == pytest.approx(mean / 100)


def simulate_rates(count: int, *, alone: int = 0, seeds: int = 1) -> list[Results]:
    """Runs of flows f0, f1, f2 ... of rising rates: so many of DF, the others of EF."""
    lines = [
        f"  f{i}: {{agent: udp, from: S, to: R, rate: {i + 1}00 kbit/s, size: 500 B,"
        f" dscp: {'DF' if i < alone else 'EF'}}}"
        for i in range(count)
    ]
    text = (
        "trunkline: 1\nnodes: [S, R, Q]\n"
        "links: {S-R: {rate: 100 Mbit/s}, R-Q: {rate: 1 Mbit/s}}\n"
        "flows:\n" + "\n".join(lines) + "\nrun: {duration: 50 ms}\n"
    )
    return simulate(compile(tl.loads(text)), seeds=range(1, seeds + 1))


def list_titles(text: str) -> list[str]:
    return re.findall(r"^(Flows|Aggregates|Ports|Fairness|Completions)\b", text, re.M)


@pytest.mark.parametrize(
    ("count", "alone", "titles", "further"),
    [
        (15, 7, ["Flows"], "aggregates, ports, fairness"),
        (16, 7, ["Flows", "Aggregates"], "ports, fairness"),
        (16, 0, ["Flows"], "ports, fairness"),
        (2, 1, ["Flows"], "ports, fairness"),
        (1, 0, ["Flows"], "ports"),
    ],
)
def test_aggregates_stand_in_for_flows_that_have_no_room(
    count: int, alone: int, titles: list[str], further: str
) -> None:
    """15 rows are shown. One aggregate of all flows, or one for each, says nothing new."""
    text = render_run_averages(simulate_rates(count, alone=alone), width=200)
    assert list_titles(text) == titles
    assert f"--all also shows: {further}\n" in text


def test_the_row_left_out_is_the_least_busy_one() -> None:
    text = render_run_averages(simulate_rates(16), width=200)
    assert "Flows (the busiest; 1 more: --all)" in text
    assert re.findall(r"^ *(f\d+) ", text, re.M) == [f"f{i}" for i in range(1, 16)]
    everything = render_run_averages(simulate_rates(16), width=200, show_all=True)
    assert re.findall(r"^ *(f\d+) ", everything, re.M) == [f"f{i}" for i in range(16)]


def test_all_shows_ports_in_use_and_shares_of_two_or_more() -> None:
    """f0 alone has DF, and shares with nobody; R-Q carries nothing."""
    text = render_run_averages(simulate_rates(3, alone=1), width=200, show_all=True)
    assert list_titles(text) == ["Flows", "Aggregates", "Ports", "Fairness"]
    assert "also shows" not in text
    assert re.findall(r"^ *(\w->\w) ", text, re.M) == ["S->R"]
    assert re.findall(r"^ *dscp +([A-Z]+)", text, re.M) == ["EF"]
    assert "Fairness" not in render_run_averages(simulate_rates(1), width=200, show_all=True)


def test_a_port_that_one_packet_crossed_is_in_use() -> None:
    raw = tables()
    raw["ports"]["packets_offered"] = column("i64", 1, 51, 0)
    made = Results.from_raw(raw, network(), None)  # type: ignore[arg-type]
    text = render_run_averages([made], width=200, show_all=True).partition("Ports")[2]
    assert re.findall(r"^ *(\w->\w +\w+) ", text, re.M) == ["A->B  voice", "A->B  rest"]


def test_the_bootstrap_of_fewer_than_20_runs_is_called_too_narrow() -> None:
    [run] = simulate_rates(1)
    too_narrow = "BCa of fewer than 20 runs is too narrow"
    assert too_narrow in render_run_averages([run] * 19, interval="bca", width=200)
    assert too_narrow not in render_run_averages([run] * 20, interval="bca", width=200)
    assert too_narrow not in render_run_averages([run] * 19, width=200)


def test_bins_of_transfers_that_have_all_of_them_are_left_out() -> None:
    """Transfers of 1 kB are all in the bin up to 2 kB, which says no more than the row of all."""
    rare = RARE_TRANSFERS.partition("  rare:")[2].partition("run:")[0]
    flow = rare.replace("5 kbit/s, size: {fixed: 1 kB}", "100 kbit/s, size: {SIZE}, bins: 2 kB")
    flows = "".join(
        f"  {name}:{flow.replace('SIZE', size)}"
        for name, size in (("several", "exponential: 2 kB"), ("same", "fixed: 1 kB"))
    )
    text = RARE_TRANSFERS.replace(f"  rare:{rare}", flows)
    shown = render_run_averages(simulate(compile(tl.loads(text)), seeds=[1]), width=200)
    table = shown.partition("Completions")[2]
    assert re.findall(r"^ *(several|same) ", table, re.M) == ["several"] * 3 + ["same"]


def measure(flow: str, **measures: tuple[float, float | None, float | None]) -> AveragedRow:
    """A row with measures of four runs: mean and ends."""
    return AveragedRow(
        {"flow": flow}, {name: Interval(*ends, 4) for name, ends in measures.items()}
    )


def test_the_widest_interval_says_how_many_runs_are_likely_to_do() -> None:
    """The width falls as one over the root: twice too wide with 4 runs, 16 will do."""
    flows = [
        measure("a", goodput_bit_s=(8.0, 7.5, 8.5), delay_mean_s=(8.0, 7.0, 10.0)),
        measure("b", goodput_bit_s=(8.0, 7.0, 9.0), loss_ratio=(1.0, 0.0, 2.0)),
    ]
    assert describe_wide_interval(flows, 0.125) == (
        "NOT ENOUGH RUNS: delay_mean_s of a is sure to ± 25 % of its mean; ± 12.5 % takes about 16"
    )
    # As wide as the bound is enough, and so is no interval, or one about zero.
    assert describe_wide_interval(flows, 0.25) == ""
    assert describe_wide_interval([measure("a", delay_p99_s=(8.0, None, None))]) == ""
    assert describe_wide_interval([measure("a", delay_p99_s=(0.0, -1.0, 1.0))]) == ""
    assert describe_wide_interval([]) == ""


@pytest.mark.parametrize(("high", "width"), [(1.5, "50"), (2.0, "100"), (3.25, "225")])
def test_a_wide_interval_is_written_without_an_exponent(high: float, width: str) -> None:
    text = describe_wide_interval([measure("a", delay_p99_s=(1.0, 2.0 - high, high))])
    assert f"delay_p99_s of a is sure to ± {width} % of its mean; ± 10 % takes" in text


def test_a_cell_has_the_wider_half_of_an_interval_in_the_unit_of_its_column() -> None:
    rows = [
        measure("low", loss_ratio=(0.5, 0.1, 0.6), delay_mean_s=(1.0, 0.5, 1.25)),
        measure("high", loss_ratio=(0.5, 0.4, 0.7), delay_mean_s=(1.0, 0.75, 1.5)),
        measure("one", loss_ratio=(0.5, None, None), goodput_bit_s=(7e6, None, None)),
    ]
    cells = {}
    for row in rows:
        text = render_to_text([_build_average_table("flows", [row], None)], width=200)
        words = find_line(text, row.key["flow"], "Flows").split("  ")
        cells[row.key["flow"]] = [word.strip() for word in words if word.strip()][1:]
    assert cells == {
        "low": ["–", "–", "50 ± 40 %", "1.00 ± 0.50 s", "–"],
        "high": ["–", "–", "50 ± 20 %", "1.00 ± 0.50 s", "–"],
        "one": ["7 Mbit/s", "–", "50 %", "–", "–"],
    }

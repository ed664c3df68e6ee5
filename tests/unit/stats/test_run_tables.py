"""Tables of the means of several runs, as the terminal shows them."""

from __future__ import annotations

import re

import pytest

import trunkline as tl
from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.results import Results
from trunkline.stats import average_runs
from trunkline.stats.run_tables import render_run_averages

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

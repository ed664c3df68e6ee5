"""The simulator of today against what a Linux kernel made of the same scenarios."""

from __future__ import annotations

from functools import cache
from statistics import fmean

import kernel_tcp
import pytest
from kernel_tcp import FOLDER, read_rows

from trunkline.api import run_many
from trunkline.linux.judge.tolerance import MEASURES
from trunkline.results import Results
from trunkline.scenario import load
from trunkline.stats import paired_difference

GOODPUT = MEASURES["goodput"].share
DROPS = MEASURES["packets lost"].share


@cache
def simulated(scenario: str, seeds: int) -> list[Results]:
    return run_many(load(FOLDER / f"{scenario}.yaml"), seeds=list(range(1, seeds + 1)))


def mean(results: list[Results], flow: str, measure: str) -> float:
    """A measure of the file from the simulator's tables."""
    columns = {
        "packets lost": "packets_dropped",
        "mean delay": "delay_mean_s",
        "greatest delay": "delay_max_s",
    }
    return fmean(result.flows.where(flow=flow)[columns[measure]] for result in results)


def allowed(measure: str, kernel: float) -> float:
    if measure == "greatest delay":
        # One packet's.
        return 0.1 * kernel
    # One build's runs, without the spread of their difference.
    return max(
        2 * MEASURES[measure].share * kernel,
        MEASURES[measure].floor,
        5 * (measure == "packets lost"),
    )


@pytest.mark.parametrize(
    "row",
    read_rows("kernel.csv"),
    ids=lambda row: f"{row['scenario']}-{row['subject']}-{row['measure']}",
)
def test_the_simulator_is_within_the_tolerance_of_the_kernel(row: dict[str, str]) -> None:
    scenario, measure, kernel = row["scenario"], row["measure"], float(row["kernel"])
    ours = mean(simulated(scenario, int(row["seeds"])), row["subject"], measure)
    apart = abs(ours - kernel)
    assert apart <= allowed(measure, kernel)


def ours(name: str, column: str) -> list[float]:
    return [kernel_tcp.MEASURES[column](run) for run in kernel_tcp.run_simulator(name)]


@pytest.mark.parametrize("name", kernel_tcp.SCENARIO_NAMES)
@pytest.mark.parametrize(
    ("column", "share"), [("goodput_bit_s", GOODPUT), ("packets_dropped", DROPS)]
)
def test_tcp_is_that_of_the_kernel_over_many_runs(name: str, column: str, share: float) -> None:
    kernel = kernel_tcp.read_kernel_values(name, column)
    difference = paired_difference(ours(name, column), kernel)
    most = share * fmean(kernel)
    assert abs(difference.mean) <= most
    # The runs are so many that chance alone moves the difference by less.
    assert difference.half_width <= most


@pytest.mark.parametrize("name", kernel_tcp.SCENARIO_NAMES[1:])
def test_tcp_is_that_of_another_build_of_the_kernel(name: str) -> None:
    (reference,) = [row for row in read_rows("reference.csv") if row["scenario"] == name]
    goodput = fmean(ours(name, "goodput_bit_s"))
    assert goodput == pytest.approx(float(reference["goodput_bit_s"]), rel=0.01)
    # One run of a build with ticks of 10 ms, smaller buffers and other phases.
    drops = fmean(ours(name, "packets_dropped"))
    assert drops == pytest.approx(float(reference["packets_dropped"]), rel=0.15)

"""Congestion controls of the simulator of today against those of a Linux kernel."""

from __future__ import annotations

import csv
import math
from statistics import fmean

import kernel_controls
import pytest
from kernel_controls import FOLDER, read_kernel_record, run_simulator

from trunkline.api import run_many
from trunkline.scenario import load
from trunkline.stats import paired_difference

GOODPUT = 0.01
DROPS = 0.1
FEW = 2.0
"""Drops a run that are no share of anything: DCTCP loses none where it is marked."""


@pytest.mark.parametrize("queue", kernel_controls.QUEUES)
@pytest.mark.parametrize("control", kernel_controls.CONTROLS)
def test_a_control_has_the_goodput_and_the_drops_of_the_kernel(control: str, queue: str) -> None:
    runs = read_kernel_record()[control, queue]
    assert len(runs) >= 5
    for index, share, floor in ((0, GOODPUT, 0.0), (1, DROPS, FEW)):
        theirs = [both[index] for both in runs.values()]
        ours = [both[index] for both in run_simulator(control, queue, tuple(runs))]
        most = max(share * fmean(theirs), floor)
        assert abs(paired_difference(ours, theirs).mean) <= most


def hystart() -> list[list[float]]:
    with (FOLDER / "kernel-hystart.csv").open(newline="") as file:
        return [[float(cell) for cell in row.values()] for row in csv.DictReader(file)]


@pytest.mark.parametrize(("delay", "ssthresh", "time"), hystart())
def test_hystart_ends_slow_start_at_the_kernels_window(
    delay: float, ssthresh: float, time: float
) -> None:
    # Nothing is lost and nothing is drawn: the kernel's threshold, in the same step of 1 ms.
    overrides = {
        "parameters.far": f"{delay:.0f} us",
        "ports.fifo.queue.limit": "1000 packets",
        "run.duration": "1 s",
    }
    written = (FOLDER / "controls.yaml").read_text()
    probe = "probes: [{flow: tcp, measure: ssthresh, every: 1 ms}]\n"
    series = run_many(load(written + probe, overrides=overrides), seeds=[1])[0].series
    steps = zip(series["time_s"], series["value"], strict=True)
    at, found = next((at, value) for at, value in steps if math.isfinite(value))
    assert found == ssthresh
    assert at == pytest.approx(time, abs=1e-9)

"""`te survive` on a cluster that is lost in the middle: resumed, it gives what a whole run does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Start, files, until_done

pytest.importorskip("distributed")

SQUARE = """
trunkline: 1
nodes: [a, b, c, d]
defaults: {link: {rate: 1 Mbit/s, delay: 1 ms}}
links: {a-b: {}, b-c: {}, c-d: {}, d-a: {}}
flows:
  f: {agent: udp, from: a, to: c, rate: 600 kbit/s, size: 500 B, arrivals: poisson}
  g: {agent: udp, from: b, to: d, rate: 300 kbit/s, size: 500 B, arrivals: poisson}
rerouting: {}
slas: {all: {dscp: DF, at_most: {loss: 1 %}}}
run: {duration: 1000 s}
"""
SURVIVE = ("te", "survive", "square.yaml", "--packets", "4", "--runs", "5", "--json")


@pytest.mark.slow
def test_what_a_lost_cluster_left_is_gone_on_with(
    start: Start, quick: Start, tmp_path: Path
) -> None:
    (tmp_path / "square.yaml").write_text(SQUARE)
    cut = start(*SURVIVE, "--out", "out", "--cluster", "local:2", "--progress", "json")
    until_done(cut, 1)
    cut.kill()
    cut.wait()
    again = ended(quick(*SURVIVE, "--out", "out", "--resume", "--progress", "json"))
    # Of 20 runs those that were kept are not run again.
    talk = [json.loads(line) for line in again[1].splitlines() if line.startswith("{")]
    assert 0 < next(each for each in talk if "done" in each)["done"] < 20
    total = ended(quick(*SURVIVE, "--out", "whole"))
    assert json.loads(again[0]) == json.loads(total[0])
    assert files(tmp_path / "out") == files(tmp_path / "whole")


SCREEN = """
import sys, time
import trunkline as tl
from trunkline.planning import screen_execution, survive
from trunkline.study.run.execution import RunOptions

screen_execution.LONG_SCREEN_S = 0.0
scenario = tl.load("square.yaml")
screened = []


def wait_for_ever(failure, levels):
    screened.append(failure)
    if len(screened) > 1:
        print(flush=True)
        time.sleep(600)


screen_execution.screen_slas(
    scenario,
    survive(scenario).failures,
    begin_ns=0,
    runs=2,
    on_level=wait_for_ever,
    options=RunOptions(threads=2),
)
"""


@pytest.mark.slow
def test_processes_of_a_screen_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    (tmp_path / "square.yaml").write_text(SQUARE)
    command = [sys.executable, "-c", SCREEN]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"\n"
        workers = psutil.Process(started.pid).children(recursive=True)
        assert len(workers) >= 2
        started.kill()
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a command said, if it ended well."""
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return out, errors

"""`te survive` on a cluster that is lost in the middle: resumed, it gives what a whole run does."""

from __future__ import annotations

import json
import subprocess
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


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a command said, if it ended well."""
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return out, errors

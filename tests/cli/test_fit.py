"""``study fit`` and ``fit``: what they print and write, and options that cannot be."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from trunkline.cli import group
from trunkline.study.fit import scenario_fit

SCENARIO = """
trunkline: 1
parameters: {capacity: 3 Mbit/s}
nodes: [S, R]
links: {S-R: {rate: $capacity, delay: 1 ms}}
flows: {f: {agent: udp, from: S, to: R, arrivals: poisson, rate: 4 Mbit/s, size: 1000 B}}
run: {duration: 3 s}
"""
COUNTERS = """qdisc pfifo 1: dev eth0 root refcnt 2 limit 100p
 Sent 750000 bytes 750 pkt (dropped 640, overlimits 0 requeues 0)
qdisc noqueue 0: dev lo root refcnt 2
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "access.yaml").write_text(SCENARIO)
    (tmp_path / "counters.txt").write_text(COUNTERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_counters_of_tc_give_the_rate_of_a_link(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 750 packets of 1000 B in 3 s are 2 Mbit/s. A fifth of the points suffices for one parameter.
    quicker = functools.partial(scenario_fit.fit_scenario, live_points=60)
    monkeypatch.setattr(scenario_fit, "fit_scenario", quicker)
    arguments = ["fit", "access.yaml", "--to", "counters.txt", "--match", "eth0=S->R"]
    arguments += ["--match", "lo=", "--prior", "capacity={from: 1 Mbit/s, to: 4 Mbit/s}"]
    arguments += ["--trials", "16", "--out", "fit", "--json", "--no-checks", "--progress", "none"]
    ended = CliRunner().invoke(group, arguments)
    assert ended.exit_code == 0, ended.output
    document = json.loads(ended.stdout)
    assert json.loads((folder / "fit" / "fit.json").read_text("utf-8")) == document
    assert (folder / "fit" / "fit.html").is_file()
    (parameter,) = document["parameters"]
    assert parameter["verdict"] == "determined"
    median = parameter["median"].replace(" kbit/s", "e-3").replace(" Mbit/s", "")
    assert float(median) == pytest.approx(2.0, rel=0.05)
    again = CliRunner().invoke(group, arguments)
    assert again.exit_code == 2
    assert "fit holds a fit; continue with --resume, or replace it with --overwrite" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("study fit bhani1999 --budget soon", "'soon' is no time; give one like 90s, 10m or 2h."),
        ("study fit bhani1999 --trials 16 --runs 9", "exclude each other: give one."),
        ("study fit bhani1999 --resume", "--resume needs --out"),
        ("study fit bhani1999 --parameter mss_1", "'mss_1' is no parameter that study"),
        ("fit access.yaml --to counters.txt --prior capacity", "is not like NAME=VALUE"),
        (
            "fit access.yaml --to counters.txt --prior capacity=[1]",
            "the scenario has no direction of a link 'eth0'; match it with one of S->R, R->S",
        ),
        ("fit access.yaml --to access.yaml --prior a=[1]", "is neither a capture, nor"),
    ],
)
def test_a_fit_that_cannot_be_is_wrong_usage(folder: Path, arguments: str, message: str) -> None:
    ended = CliRunner().invoke(group, arguments.split())
    assert ended.exit_code == 2
    assert message in " ".join(ended.stderr.split())

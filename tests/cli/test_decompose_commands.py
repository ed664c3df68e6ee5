"""``run --decompose`` and ``te delays``: what they print, judge and refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

RING = """
trunkline: 1
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms, port: per-class}}
nodes: [A, B, C, D]
links: {A-B: {}, B-C: {}, C-D: {}, D-A: {}}
ports: {per-class: {preset: diffserv}}
flows:
  voice: {agent: udp, from: A, to: C, dscp: EF, arrivals: poisson, rate: 1 Mbit/s, size: 200 B}
  data: {agent: udp, from: A, to: C, arrivals: poisson, rate: 5 Mbit/s, size: 1000 B}
  more: {agent: udp, from: D, to: C, arrivals: poisson, rate: 3 Mbit/s, size: 1000 B}
rerouting: {detection: {kind: loss-of-signal, delay: 10 ms}}
slas:
  voice: {dscp: EF, at_most: {delay_p99: 8 ms, loss: 1 %}}
  best: {dscp: DF, at_most: {delay_p99: BOUND}}
run: {duration: 4 s, warm_up: 500 ms}
"""


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "ring.yaml"
    path.write_text(RING.replace("BOUND", "200 ms"))
    return path


@pytest.fixture
def run(trunkline: Callable[..., CompletedProcess[str]]) -> Callable[..., tuple[int, str]]:
    def call(*arguments: str) -> tuple[int, str]:
        done = trunkline(*arguments)
        as_json = "--json" in arguments and done.stdout
        return done.returncode, done.stdout if as_json else done.stdout + done.stderr

    return call


def test_a_decomposed_run_prints_its_error(run: Callable[..., tuple[int, str]], ring: Path) -> None:
    code, output = run("run", str(ring), "--decompose", "--link-packets", "20000", "--check", "1 s")
    assert code == 0
    assert "Error against a full run" in output
    assert "each link simulated alone" in output
    assert "one run has no intervals" not in output
    code, output = run("run", str(ring), "--decompose", "--link-packets", "20000", "--json")
    document = json.loads(output)
    assert document["engine"] == "decomposed"
    # Four links one way each carry packets, of three loads.
    assert document["decomposition"]["links"] == 3
    assert {each["dscp"] for each in document["decomposition"]["check"]["classes"]} == {"EF", "DF"}


def test_every_failure_has_the_delay_that_a_full_run_of_it_measures(
    run: Callable[..., tuple[int, str]], ring: Path, tmp_path: Path
) -> None:
    """Without A-B voice and data go over D, where `more` joins them."""
    code, output = run("te", "delays", str(ring), "--link-packets", "200000", "--json")
    assert code == 0
    found = json.loads(output)
    assert found["failures"] == 4
    cut = tmp_path / "cut.yaml"
    cut.write_text(
        ring.read_text().replace("links: {A-B: {}, ", "links: {").replace("4 s", "100 s")
    )
    full = json.loads(run("run", str(cut), "--json")[1])
    p99 = {row["dscp"]: row["delay_p99_s"] for row in full["aggregates"]}
    for each in found["classes"]:
        if each["failure"] == "A-B":
            assert each["delay_p99_s"] == pytest.approx(p99[each["dscp"]], rel=0.06)
            assert each["cut_flows"] == 0


@pytest.mark.parametrize(
    ("bound", "code", "line"),
    [("200 ms", 0, "0 of 15 bounds broken, 15 held"), ("4 ms", 3, "bounds broken")],
)
def test_agreements_are_judged_after_every_failure(
    run: Callable[..., tuple[int, str]], ring: Path, bound: str, code: int, line: str
) -> None:
    ring.write_text(RING.replace("BOUND", bound))
    found, output = run(
        "te", "delays", str(ring), "--judge", "--link-packets", "50000", "--check", "2 s"
    )
    assert line in output
    assert found == code


def test_a_bound_within_the_error_is_undecided(
    run: Callable[..., tuple[int, str]], ring: Path
) -> None:
    """The bound is the value itself: no error is small enough to decide."""
    output = run("te", "delays", str(ring), "--link-packets", "50000", "--json")[1]
    value = next(
        each["value"]
        for each in json.loads(output)["judgements"]
        if each["sla"] == "best" and each["failure"] == "none"
    )
    ring.write_text(RING.replace("BOUND", f"{round(value * 1e9)} ns"))
    code, output = run("te", "delays", str(ring), "--link-packets", "50000", "--json", "--judge")
    outcomes = {
        each["failure"]: each["outcome"]
        for each in json.loads(output)["judgements"]
        if each["sla"] == "best"
    }
    assert outcomes["none"] == "undecided"
    assert "broken" in outcomes.values()
    assert code == 3


def test_a_check_without_packets_judges_nothing(
    run: Callable[..., tuple[int, str]], ring: Path
) -> None:
    code, output = run(
        "te", "delays", str(ring), "--link-packets", "5000", "--check", "1 us", "--judge"
    )
    assert code == 6
    assert "NOT CHECKED" in output
    assert "15 not judged" in output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--decompose", "--engine", "fluid"), "not for --engine fluid"),
        (("--decompose", "--runs", "3"), "exclude each other"),
        (("--decompose", "--judge"), "exclude each other"),
        (("--check", "3 s"), "are for --decompose"),
        (("--decompose", "--check", "soon"), "no time"),
    ],
)
def test_options_that_exclude_each_other(
    run: Callable[..., tuple[int, str]], ring: Path, options: tuple[str, ...], words: str
) -> None:
    code, output = run("run", str(ring), *options)
    assert code == 2
    assert words in output


def test_tcp_is_refused_with_its_line(run: Callable[..., tuple[int, str]], ring: Path) -> None:
    ring.write_text(RING.replace("BOUND", "1 s").replace(
        "arrivals: poisson, rate: 3 Mbit/s, size: 1000 B}", "to: C}").replace(
        "agent: udp, from: D, to: C, to: C", "agent: tcp, from: D, to: C"))  # fmt: skip
    for command in (("run", str(ring), "--decompose"), ("te", "delays", str(ring))):
        code, output = run(*command)
        assert code == 2
        assert "ring.yaml:10:" in output
        assert "heeds congestion" in output


def test_without_rerouting_a_failure_cuts_what_crosses_it(
    run: Callable[..., tuple[int, str]], ring: Path
) -> None:
    """Routes stay, so without C-D all flows that go over it are lost, and no others."""
    text = ring.read_text()
    ring.write_text("".join(line for line in text.splitlines(True) if "rerouting" not in line))
    code, output = run("te", "delays", str(ring), "--link-packets", "5000", "--json")
    assert code == 0
    cut = {
        (each["failure"], each["dscp"]): each["cut_flows"] for each in json.loads(output)["classes"]
    }
    assert [cut[failure, "DF"] for failure in ("none", "A-B", "B-C", "C-D", "D-A")] == [
        0,
        1,
        1,
        1,
        0,
    ]
    assert cut["B-C", "EF"] == 1

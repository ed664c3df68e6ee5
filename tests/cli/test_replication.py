"""Replication on the command line: precision, batch means, warm-up, too few runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..conftest import MD1_SCENARIO, RunCommand

# A flow that starts late, over a long way.
SLOW = """
trunkline: 1
nodes: [S, M, R]
links:
  S-M: {rate: 100 Mbit/s}
  M-R: {rate: 2 Mbit/s, delay: 150 ms}
flows:
  late: {agent: udp, from: S, to: R, rate: 1 Mbit/s, size: 500 B, start: 5 s}
run: {duration: 40 s}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A queue with a mean wait of 0.5 ms, for longer."""
    (tmp_path / "md1.yaml").write_text(MD1_SCENARIO.replace("2 s", "20 s"), "utf-8")
    return "md1.yaml"


def test_until_ci_stops_at_the_precision_and_says_so(trunkline: RunCommand, file: str) -> None:
    done = trunkline("run", file, "--until-ci", "1%", "--metric", "ports.wait_mean_s", "--json")
    about = json.loads(done.stdout)
    reached = about["precision"]
    assert reached["reached"]
    assert 10 <= reached["runs"] < 1000
    assert len(about["runs"]) == reached["runs"]
    wait = about["intervals"]["ports"][0]["wait_mean_s"]
    assert wait["high"] - wait["mean"] <= 0.01 * wait["mean"]
    assert wait["mean"] == pytest.approx(0.5e-3, rel=0.02)
    assert (
        f"{reached['runs']} runs reach ± 1 %; the widest interval is that of ports." in done.stderr
    )


def test_until_ci_keeps_its_cap_and_says_not_enough(trunkline: RunCommand, file: str) -> None:
    done = trunkline("run", file, "--until-ci", "0.01%", "--max-runs", "12")
    assert done.returncode == 0
    assert "NOT ENOUGH RUNS: 12 do not reach ± 0.01 %" in done.stderr


def test_until_ci_of_what_never_arrives_is_said_to_have_no_value(
    trunkline: RunCommand, tmp_path: Path
) -> None:
    # Every packet is lost, so that there is no delay.
    text = MD1_SCENARIO.replace("port: endless}", "port: endless, loss: 100 %}")
    (tmp_path / "idle.yaml").write_text(text, "utf-8")
    words = ("run", "idle.yaml", "--until-ci", "5%", "--metric", "delay_mean_s", "--max-runs", "3")
    done = trunkline(*words, "--json")
    assert json.loads(done.stdout)["precision"]["relative"] is None
    assert "NOT ENOUGH: no metric has a value in these runs" in done.stderr


def test_until_ci_makes_the_same_runs_on_any_number_of_threads(
    trunkline: RunCommand, file: str
) -> None:
    words = ("run", file, "--until-ci", "1%", "--json", "--threads")
    assert trunkline(*words, "1").stdout == trunkline(*words, "2").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--until-ci", "2"], "no percentage above 0 and below 100, such as 2%"),
        (["--until-ci", "200%"], "no percentage above 0 and below 100"),
        (["--until-ci", "2%", "--runs", "5"], "exclude each other: give one"),
        (["--batches", "--runs", "5"], "--batches is for one run"),
        (["--metric", "delay_p99_s"], "--metric is for --until-ci"),
        (["--until-ci", "2%", "--metric", "goodputt_bit_s"], "did you mean goodput_bit_s?"),
        (["--until-ci", "2%", "--metric", "pots.wait_mean_s"], "no table 'pots'"),
        (["--until-ci", "2%", "--metric", "delay_mean_s@poison"], "did you mean poisson?"),
        (["--warm-up", "soon"], "neither 'auto' nor a time"),
        (["--warm-up", "1 h"], "warm_up"),
    ],
)
def test_wrong_options_are_refused(
    trunkline: RunCommand, file: str, words: list[str], message: str
) -> None:
    done = trunkline("run", file, *words)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())


def test_one_run_has_no_intervals(trunkline: RunCommand, file: str) -> None:
    assert "one run gives no confidence intervals: use --runs 10" in trunkline("run", file).stderr
    assert "one run" not in trunkline("run", file, "--runs", "2").stderr


def test_several_runs_show_completions_of_transfers_with_intervals(
    trunkline: RunCommand, tmp_path: Path
) -> None:
    # One segment of 1040 B arrives after 20 ms and 83.2 us of transmission, whatever the seed.
    (tmp_path / "files.yaml").write_text(
        """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 100 Mbit/s, delay: 20 ms}}
flows: {files: {agent: tcp, from: A, to: B, transfers: {every: 100 ms, size: 1 kB}}}
run: {duration: 5 s}
""",
        "utf-8",
    )
    done = trunkline("run", "files.yaml", "--runs", "3")
    table = done.stdout.partition("Completions")[2]
    row = next(line for line in table.splitlines() if line.split()[:2] == ["files", "all"])
    assert "20.08 ± 0 ms" in row


def test_too_few_runs_are_said_to_be_too_few(trunkline: RunCommand, file: str) -> None:
    # Two runs of 0.2 s: t(0.975, 1) = 12.7 makes any interval far wider than a tenth.
    done = trunkline("run", file, "--runs", "2", "--set", "run.duration='200 ms'")
    assert "NOT ENOUGH RUNS:" in done.stdout
    assert "NOT ENOUGH" not in trunkline("run", file, "--runs", "10").stdout


def test_batches_give_intervals_within_one_run_and_change_nothing_else(
    trunkline: RunCommand, file: str
) -> None:
    plain = json.loads(trunkline("run", file, "--json").stdout)
    about = json.loads(trunkline("run", file, "--batches", "--json").stdout)
    assert about.pop("batches")[0]["measures"]["delay_mean_s"]["enough"]
    assert about == plain
    shown = trunkline("run", file, "--batches").stdout
    assert "Batch means within this run" in shown
    assert "results hash" in shown


def test_warm_up_by_mser_cuts_where_a_late_flow_has_settled(
    trunkline: RunCommand, tmp_path: Path
) -> None:
    # The flow starts at 5 s; its first packet arrives 154 ms later; batches are 200 ms.
    (tmp_path / "slow.yaml").write_text(SLOW, "utf-8")
    done = trunkline("run", "slow.yaml", "--warm-up", "auto", "--json")
    about = json.loads(done.stdout)
    assert 5e9 <= about["warm_up"]["ns"] <= 5.6e9
    assert about["warm_up"]["found"]
    assert about["flows"][0]["throughput_bit_s"] == pytest.approx(1e6, rel=0.001)
    assert "by MSER-5 from 5 pilot runs" in done.stderr


def test_warm_up_replaces_the_scenarios_own(trunkline: RunCommand, tmp_path: Path) -> None:
    # Its own warm-up of 30 s would end after this run does.
    (tmp_path / "slow.yaml").write_text(SLOW.replace("40 s}", "40 s, warm_up: 30 s}"), "utf-8")
    words = ("run", "slow.yaml", "--set", "run.duration='20 s'", "--json")
    assert trunkline(*words).returncode == 2
    assert trunkline(*words, "--warm-up", "auto").returncode == 0
    about = json.loads(trunkline(*words, "--warm-up", "10 s").stdout)
    assert about["flows"][0]["offered_bit_s"] == pytest.approx(1e6)


def test_warm_up_says_when_half_of_the_run_is_not_enough(
    trunkline: RunCommand, tmp_path: Path
) -> None:
    (tmp_path / "late.yaml").write_text(SLOW.replace("start: 5 s", "start: 25 s"), "utf-8")
    done = trunkline("run", "late.yaml", "--warm-up", "auto")
    assert "NOT SETTLED within half of the run" in done.stderr


def test_bca_intervals_are_asked_for_by_name(trunkline: RunCommand, file: str) -> None:
    shown = trunkline("run", file, "--runs", "12", "--interval", "bca").stdout
    assert "over 12 runs (BCa bootstrap)" in shown
    assert "BCa of fewer than 20 runs is too narrow" in shown

"""Service levels in studies: the share of seeds that keep what is promised, point by point."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import trunkline as tl
from trunkline.study.errors import StudyError
from trunkline.study.outcome.reproduction import StudySubject
from trunkline.study.run.execution import RunOptions
from trunkline.study.run.progress import Progress
from trunkline.study.run.replication import replicate_until_precise
from trunkline.study.run.run_measures import build_measure

from ...conftest import MD1_SCENARIO, RunCommand

# 10 Mbit/s and 1250 B: 1 ms a packet. M/D/1 at a load of 0.5 waits 0.5 ms on average and takes
# 1.5 ms, at 0.8 it waits 2 ms and takes 3 ms.
SCENARIO = (
    MD1_SCENARIO.replace("load: 0.5,", "load: 0.5, promise: 2 ms,").replace("2 s}", "20 s}")
    + """
slas:
  gold: {flow: poisson, at_most: {delay_mean: $promise}}
"""
)
STUDY = """
study: 1
name: promise
title: What is kept
scenario: md1.yaml
runs: 6
grid: {load: [0.5, 0.8], promise: [2 ms, 4 ms]}
columns: {wait: {table: ports, where: {link: S->R}, measure: wait_mean_s, unit: ms}}
"""


@pytest.fixture
def subject(tmp_path: Path) -> Path:
    (tmp_path / "md1.yaml").write_text(SCENARIO, "utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, "utf-8")
    return tmp_path / "study.yaml"


def test_the_share_of_seeds_that_keep_a_promise_is_shown_with_its_interval(
    trunkline: RunCommand, subject: Path
) -> None:
    done = trunkline("study", "run", str(subject), "--out", "out", "--json")
    about = json.loads(done.stdout)
    shares = [point["values"]["sla.gold"] for point in about["points"]]
    # 1.5 ms keeps both promises, 3 ms the second alone.
    assert [share["mean"] for share in shares] == [1, 1, 0, 1]
    assert shares[0]["low"] == pytest.approx(0.025 ** (1 / 6))
    assert (shares[2]["low"], shares[0]["high"]) == (0, 1)
    shown = trunkline("study", "show", "out", "--value", "sla.gold").stdout
    rows = [re.split(" {2,}", line.strip()) for line in shown.splitlines()]
    assert [row for row in rows if row[0] in ("0.5", "0.8")] == [
        ["0.5", "2 ms", "6", "met"],
        ["0.5", "4 ms", "6", "met"],
        ["0.8", "2 ms", "6", "BROKEN in 6 of 6"],
        ["0.8", "4 ms", "6", "met"],
    ]
    assert ["points met", "3 of 4"] in rows
    # The exact lower bound of 6 of 6 at 95 %: 0.025^(1/6).
    assert "6 of 6 show that at least 54.1 %" in " ".join(shown.split())
    assert (
        trunkline("study", "plot", "out", "--value", "sla.gold", "--out", "a.svg").returncode == 0
    )


def test_a_broken_promise_ends_a_study_with_3_if_that_is_asked(
    trunkline: RunCommand, subject: Path
) -> None:
    run = ("study", "run", str(subject), "--runs", "1", "--progress", "none")
    assert trunkline(*run, "--out", "some").returncode == 0
    assert trunkline(*run, "--out", "same", "--judge").returncode == 3
    assert trunkline("study", "show", "some", "--judge").returncode == 3
    subject.write_text(STUDY.replace("[0.5, 0.8]", "[0.5]"), "utf-8")
    assert trunkline(*run, "--out", "kept", "--judge").returncode == 0
    assert trunkline("study", "show", "kept", "--judge", "--json").returncode == 0


def test_judging_without_agreements_is_refused_before_anything_runs(
    trunkline: RunCommand, subject: Path
) -> None:
    scenario = subject.with_name("md1.yaml")
    scenario.write_text(scenario.read_text("utf-8").split("slas:")[0], "utf-8")
    done = trunkline("study", "run", str(subject), "--out", "out", "--judge")
    assert done.returncode == 2
    assert "--judge: the scenarios have no slas" in done.stderr
    assert not Path("out").exists()


def test_more_runs_are_not_made_for_a_share(subject: Path, tmp_path: Path) -> None:
    # At 3.1 ms a load of 0.8 keeps the promise in some runs: 0 and 1 are never sure to 20 %.
    subject.write_text(STUDY.replace("[2 ms, 4 ms]", "[3.1 ms]"), "utf-8")
    reached, failed = replicate_until_precise(
        StudySubject(str(subject)).plan,
        tmp_path / "out",
        0.2,
        max_runs=50,
        options=RunOptions(),
        progress=lambda: Progress("promise"),
    )
    assert not failed
    assert all(each.precision.reached and each.precision.runs < 50 for each in reached)


def test_a_scenario_without_agreements_measures_as_before() -> None:
    assert json.loads(build_measure({"a": {}})) == {"columns": {"a": {}}}


def test_a_column_may_not_take_the_name_of_an_agreement(subject: Path) -> None:
    subject.write_text(STUDY.replace("wait:", "sla.gold:"), "utf-8")
    with pytest.raises(StudyError, match=r"column sla\.gold has the name"):
        StudySubject(str(subject)).plan  # noqa: B018 - making it is what fails


def test_judge_is_a_word_of_the_package(subject: Path) -> None:
    scenario = tl.load(subject.with_name("md1.yaml"))
    (kept,) = tl.judge(scenario, tl.run_many(scenario, seeds=[1, 2]))
    assert (kept.met, kept.kept, len(kept.values)) == (True, 2, 2)
    strict = tl.load(subject.with_name("md1.yaml"), overrides={"promise": "1 ms"})
    (broken,) = tl.judge(strict, tl.run(strict))
    assert not broken.met
    # 1.5 ms where 1 ms is promised.
    assert broken.margin == pytest.approx(-0.5e-3, rel=0.2)

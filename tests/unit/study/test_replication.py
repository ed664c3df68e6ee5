"""Studies that replicate until they are sure: stages, interruption, more precision later."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from trunkline.engine import simulate
from trunkline.fluid.offered_means import read_offered_means
from trunkline.network import compile
from trunkline.scenario import load
from trunkline.stats import mean_interval
from trunkline.study.errors import StudyError
from trunkline.study.outcome.reproduction import StudySubject
from trunkline.study.outcome.study_tables import iterate_point_results
from trunkline.study.run.data_set import read
from trunkline.study.run.execution import RunOptions
from trunkline.study.run.progress import Progress
from trunkline.study.run.replication import PrecisionReached, replicate_until_precise
from trunkline.study.run.run_measures import (
    add_controls,
    build_measure,
    list_controls,
    parse_measure,
    select_value_controls,
)
from trunkline.study.run.run_plan import RunPlan

from ...conftest import MD1_SCENARIO, RunCommand

STUDY = """
study: 1
name: queue
title: Wait by load
source: {document: none, date: today, about: a queue}
runs: 3
cases: {only: {title: a queue, scenario: md1.yaml}}
grid: {load: [0.3, 0.8]}
row_title: load
columns:
  wait: {table: ports, measure: wait_mean_s, unit: ms, where: {link: S->R}}
  rate: {measure: throughput_bit_s, unit: Mbit/s, where: {flow: poisson}}
stated: []
fitted: []
claims: []
"""


@pytest.fixture
def subject(tmp_path: Path) -> Path:
    """A study of two loads, of which the higher needs many more runs."""
    folder = tmp_path / "queue"
    folder.mkdir()
    (folder / "md1.yaml").write_text(MD1_SCENARIO.replace("2 s", "4 s"), "utf-8")
    (folder / "study.yaml").write_text(STUDY, "utf-8")
    return folder


class Interrupting(Progress):
    """Ends the process, as far as the study can tell, after so many runs."""

    left = 10**9

    def count_ended(self, events: int) -> None:
        super().count_ended(events)
        Interrupting.left -= 1
        if Interrupting.left == 0:
            raise KeyboardInterrupt


def go(plan: RunPlan, out: Path, target: float, **how: bool) -> list[PrecisionReached]:
    reached, failed = replicate_until_precise(
        plan,
        out,
        target,
        max_runs=400,
        options=RunOptions(),
        progress=lambda: Interrupting("queue"),
        **how,
    )
    assert not failed
    return reached


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "history.jsonl"
    }


def test_each_point_gets_the_runs_it_needs(subject: Path, tmp_path: Path) -> None:
    plan = StudySubject(str(subject)).plan
    reached = go(plan, tmp_path / "out", 0.05)
    counts = [each.precision.runs for each in reached]
    assert all(each.precision.reached for each in reached)
    assert 10 <= counts[0] < counts[1] < 400
    assert reached[1].precision.widest == "wait"
    table = read(tmp_path / "out").table
    assert len(table) == sum(counts)
    for place, count in enumerate(counts):
        rows = table.filter(table["point"] == place)
        assert rows["seed"].to_list() == list(range(1, count + 1))
        share = mean_interval(rows["wait"].to_list()).relative_half_width
        assert share is not None
        assert share <= 0.05 / 1.05
    assert not (tmp_path / "out.stages").exists()


def test_interrupted_anywhere_it_goes_on_to_the_same_bytes(subject: Path, tmp_path: Path) -> None:
    plan = StudySubject(str(subject)).plan
    runs = sum(each.precision.runs for each in go(plan, tmp_path / "whole", 0.05))
    wanted = content(tmp_path / "whole")
    for stop in (1, 15, 23, runs - 1):
        out = tmp_path / f"stopped-{stop}"
        Interrupting.left = stop
        with pytest.raises(KeyboardInterrupt):
            go(plan, out, 0.05)
        Interrupting.left = 10**9
        with pytest.raises(StudyError, match="continue with --resume"):
            go(plan, out, 0.05)
        go(plan, out, 0.05, resume=True)
        assert content(out) == wanted


def test_a_complete_study_is_made_surer_by_the_runs_it_lacks(subject: Path, tmp_path: Path) -> None:
    plan = StudySubject(str(subject)).plan
    go(plan, tmp_path / "fine", 0.04)
    go(plan, tmp_path / "out", 0.08)
    with pytest.raises(StudyError, match="holds a study"):
        go(plan, tmp_path / "out", 0.04)
    Interrupting.left = len(read(tmp_path / "fine").table)  # So many would be all of them.
    go(plan, tmp_path / "out", 0.04, resume=True)
    assert Interrupting.left > 0
    Interrupting.left = 10**9
    assert content(tmp_path / "out") == content(tmp_path / "fine")


def test_another_study_is_neither_gone_on_with_nor_overwritten(
    subject: Path, tmp_path: Path
) -> None:
    plan = StudySubject(str(subject)).plan
    go(plan, tmp_path / "out", 0.2)
    file = subject / "study.yaml"
    file.write_text(file.read_text("utf-8").replace("[0.3, 0.8]", "[0.3, 0.7]"), "utf-8")
    other = StudySubject(str(subject)).plan
    with pytest.raises(StudyError, match="holds another study"):
        go(other, tmp_path / "out", 0.2, resume=True)
    go(other, tmp_path / "out", 0.2, overwrite=True)
    shutil.copytree(subject, tmp_path / "mine")
    with pytest.raises(StudyError, match="something else"):
        go(other, tmp_path / "mine", 0.2, overwrite=True)


def test_shards_of_points_merged_give_the_same_bytes(
    trunkline: RunCommand, subject: Path, tmp_path: Path
) -> None:
    file = subject / "study.yaml"
    file.write_text(file.read_text("utf-8").replace("[0.3, 0.8]", "[0.3, 0.8, 0.5]"), "utf-8")
    words = ("study", "run", str(subject), "--until-ci", "10%", "--progress", "none")
    assert trunkline(*words, "--out", "whole").returncode == 0
    assert trunkline(*words, "--out", "parts", "--shard", "2/2").returncode == 0
    assert "these are not there: 1" in trunkline("study", "merge", "parts").stderr
    assert trunkline(*words, "--out", "parts", "--shard", "1/2").returncode == 0
    status = json.loads(trunkline("study", "status", "parts", "--json").stdout)
    runs = len(read(tmp_path / "whole").table)
    assert [shard["of"] < runs for shard in status["shards"]] == [True, True]
    assert (status["done"], status["of"]) == (runs, runs)
    done = trunkline("study", "merge", "parts")
    assert done.returncode == 0, done.stderr
    for name in ("manifest.json", "data/00000.parquet"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_shards_of_points_of_other_studies_are_not_merged(
    trunkline: RunCommand, subject: Path, tmp_path: Path
) -> None:
    words = ("study", "run", str(subject), "--until-ci", "50%", "--progress", "none")
    assert trunkline(*words, "--out", "parts", "--shard", "1/2").returncode == 0
    assert "study queue has 2 points" in trunkline(*words, "--shard", "1/3").stderr
    file = subject / "study.yaml"
    file.write_text(file.read_text("utf-8").replace("[0.3, 0.8]", "[0.3, 0.7]"), "utf-8")
    assert trunkline(*words, "--out", "parts", "--shard", "2/2").returncode == 0
    done = trunkline("study", "merge", "parts")
    assert done.returncode == 2
    assert "is of another study than" in done.stderr
    assert not (tmp_path / "parts" / "manifest.json").exists()


def test_study_run_until_ci_on_the_command_line(
    trunkline: RunCommand, subject: Path, tmp_path: Path
) -> None:
    done = trunkline("study", "run", str(subject), "--until-ci", "10%", "--json", "--out", "a")
    assert done.returncode == 0
    about = json.loads(done.stdout)
    assert about["complete"]
    assert all(point["runs"] >= 10 for point in about["points"])
    assert "all 2 points reach ± 10 %" in done.stderr
    words = ("study", "run", str(subject), "--until-ci", "0.1%", "--max-runs", "12", "--out", "b")
    done = trunkline(*words)
    assert (
        "NOT ENOUGH RUNS: 2 of 2 points do not reach ± 0.1 %; the worst: 0.8, wait" in done.stderr
    )
    assert trunkline(*words, "--runs", "3").returncode == 2


def test_control_variates_need_fewer_runs_for_the_same_interval(
    subject: Path, tmp_path: Path
) -> None:
    """The waits of Pollaczek and Khinchine, in the interval that the study shows."""
    plain_plan = StudySubject(str(subject)).plan
    plain = go(plain_plan, tmp_path / "plain", 0.04)
    plan = plain_plan.add_controls(lambda text: read_offered_means(json.loads(text)))
    controlled = go(plan, tmp_path / "out", 0.04)
    counts = [[each.precision.runs for each in reached] for reached in (plain, controlled)]
    assert sum(counts[1]) < 0.8 * sum(counts[0])
    foretold = [each.precision.plain_runs or each.precision.runs for each in controlled]
    assert 0.6 < sum(foretold) / sum(counts[0]) < 1.7
    runs = read(tmp_path / "out")
    assert runs.values == ["wait", "rate"]
    for labels, _, found in iterate_point_results(runs):
        load = float(labels["load"])
        assert found["wait"].relative_half_width <= 0.04 / 1.04
        known = load / (2 * (1 - load))  # [ms], of a service of 1 ms.
        assert abs(found["wait"].mean / known - 1) < 0.06
    # Another kind of interval is another study.
    with pytest.raises(StudyError, match="holds another study"):
        go(plain_plan, tmp_path / "out", 0.04, resume=True)


def test_a_study_without_random_sources_has_no_controls(subject: Path) -> None:
    scenario = subject / "md1.yaml"
    scenario.write_text(scenario.read_text("utf-8").replace("arrivals: poisson, ", ""), "utf-8")
    plan = StudySubject(str(subject)).plan
    with pytest.raises(StudyError, match="no source whose mean count is known"):
        plan.add_controls(lambda text: read_offered_means(json.loads(text)))


def test_a_value_of_several_flows_has_their_sum_as_its_own_control() -> None:
    """By hand: bytes sent less rate times time, summed over the flows of the value and over all."""
    source = "{agent: udp, from: S, to: R, arrivals: poisson, size: 500 B, start: 0 s, rate: RATE}"
    flows = ", ".join(
        f"{name}: {source.replace('RATE', rate)}"
        for name, rate in (("p1", "1 Mbit/s"), ("p2", "2 Mbit/s"), ("q", "3 Mbit/s"))
    )
    text = f"trunkline: 1\nnodes: [S, R]\nlinks: {{S-R: {{rate: 10 Mbit/s}}}}\nflows: {{{flows}}}\n"
    network = compile(load(text + "run: {duration: 3 s, warm_up: 1 s}\n"))
    column = {"table": "flows", "measure": "goodput_bit_s", "unit": "bit/s", "scale": 1.0}
    columns = {name: {**column, "where": {"flow": name}} for name in ("p*", "q", "no*")}
    measure = add_controls(build_measure(columns), read_offered_means(network.data))
    (run,) = simulate(network, seeds=[1])
    sent = dict(zip(run.flows["flow"], run.flows["bytes_sent"], strict=True))
    beyond = {name: sent[name] - 250_000 * rate for name, rate in (("p1", 1), ("p2", 2), ("q", 3))}
    expected = {
        "control.*": sum(beyond.values()),
        "control.p*": beyond["p1"] + beyond["p2"],
        "control.q": beyond["q"],
    }
    assert list_controls(measure) == list(expected)
    columns.pop("no*")
    values = parse_measure(add_controls(build_measure(columns), read_offered_means(network.data)))(
        run
    )
    assert {name: values[name] for name in expected} == pytest.approx(expected)
    own = select_value_controls(measure, "p*", {name: [each] for name, each in expected.items()})
    assert own.tolist() == [pytest.approx([beyond["p1"] + beyond["p2"], beyond["q"]])]

"""What a run has no value for is null in a study too: in its data set, its tables and its JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest

from trunkline.study.errors import StudyError
from trunkline.study.outcome import study_tables
from trunkline.study.outcome.reproduction import StudySubject
from trunkline.study.outcome.reproduction_files import STUDY_JSON
from trunkline.study.run import data_set
from trunkline.study.run.execution import RunOptions
from trunkline.study.run.journal import RunRecord
from trunkline.study.run.progress import Progress
from trunkline.study.run.run_measures import list_value_names, parse_measure
from trunkline.study.run.session import perform_plan

SCENARIO = """
trunkline: 1
parameters: {start: 0 s}
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s, delay: 5 ms}}
flows:
  one: {agent: udp, from: A, to: B, rate: 1 Mbit/s, size: 1000 B, start: $start}
  two: {agent: udp, from: A, to: B, rate: 1 Mbit/s, size: 1000 B, start: $start}
  files: {agent: tcp, from: A, to: B, transfers: {every: 20 ms, size: 20 kB}, start: $start}
slas: {quick: {flow: one, at_most: {delay_p99: 1 s}}}
probes: [{flow: one, measure: [delay, goodput], every: 10 ms}]
run: {duration: 200 ms}
"""
STUDY_FILE = """
study: 1
name: empty
title: Nothing is sent at one of two points
scenario: s.yaml
runs: 2
grid: {start: [0 s, 200 ms]}
columns:
  delay: {measure: delay_mean_s, where: {flow: one}, unit: ms}
  greatest: {measure: delay_p99_s, where: {flow: "*"}, unit: ms, over: max}
  most: {measure: delay_p99_s, where: {flow: "*"}, unit: ms, over: p95}
  loss: {measure: loss_ratio, where: {flow: one}, unit: "%"}
  time: {table: completions, measure: fct_mean_s, where: {flow: files, sizes: all}, unit: ms}
  wait: {table: ports, measure: wait_mean_s, where: {link: A->B}, unit: ms}
  lost: {table: drops, measure: packets, where: {flow: one}, unit: packets}
  mean-lost: {table: drops, measure: packets, where: {flow: one}, unit: packets, over: mean}
  most-lost: {table: drops, measure: packets, where: {flow: one}, unit: packets, over: max}
  sampled: {series: {measure: delay}, of: one, unit: ms}
  steps: {series: {measure: delay, time: all}, of: one, unit: ms}
  double: {value: 2 * delay, unit: ms}
"""
EMPTY = ("delay", "greatest", "most", "loss", "time", "wait", "sampled")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study, run and written."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "s.yaml").write_text(SCENARIO, "utf-8")
    (folder / "study.yaml").write_text(STUDY_FILE, "utf-8")
    subject = StudySubject(str(folder / "study.yaml"))
    with perform_plan(
        subject.plan, out=folder / "out", options=RunOptions(threads=1), progress=Progress("empty")
    ) as runs:
        subject.build_reproduction(runs).add_to(folder / "out")
    return folder / "out"


def test_the_data_set_has_nulls_and_no_value_that_is_no_number(study: Path) -> None:
    runs = data_set.read(study)
    sent, unsent = (runs.table.filter(pl.col("start") == start) for start in ("0 s", "200 ms"))
    for name in EMPTY:
        assert sent[name].null_count() == 0, name
        assert unsent[name].to_list() == [None, None], name
    for column in runs.table.select(pl.col(pl.Float64)):
        assert not column.is_nan().any(), column.name
    # Steps without a packet have no delay; the mean is that of the others.
    steps = sent["steps"].to_list()[0]
    known = [step for step in steps if step is not None]
    assert 0 < len(known) < len(steps)
    assert sent["sampled"][0] == pytest.approx(math.fsum(known) / len(known))


def test_what_is_lost_adds_up_to_nothing_and_has_no_mean_without_losses(study: Path) -> None:
    table = data_set.read(study).table
    assert set(table["lost"]) == {0.0}
    assert set(table["mean-lost"]) == {None}
    assert set(table["most-lost"]) == {None}


def test_a_part_has_the_values_that_no_run_of_it_has_a_number_for(study: Path) -> None:
    runs = data_set.read(study)
    assert "mean-lost" in runs.part("1" if "1" in set(runs.table["part"]) else "").columns


def test_show_has_null_in_json_and_a_dash_in_its_table(study: Path) -> None:
    runs = data_set.read(study)
    about = study_tables.build_study_json(runs)
    json.dumps(about, allow_nan=False)
    sent, unsent = (point["values"] for point in about["points"])
    assert {name: unsent[name] for name in EMPTY} == dict.fromkeys(EMPTY)
    assert all(sent[name]["mean"] >= 0 for name in EMPTY)
    assert unsent["sla.quick"]["mean"] == 0
    lines = [line.split() for line in study_tables.render_study(runs, width=100).splitlines()]
    assert ["200", "ms", "delay", "[ms]", "2", "–"] in lines


def test_the_record_of_a_reproduction_has_nulls_and_its_values_too(study: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    record = json.loads((study / STUDY_JSON).read_text("utf-8"), parse_constant=refuse)
    ours = {(c["row"], c["column"]): c["ours"] for c in record["cells"]}
    assert ours["200 ms", "delay"] is None
    assert ours["200 ms", "double"] is None
    assert ours["0 s", "double"] == pytest.approx(2 * ours["0 s", "delay"])
    values = pl.read_parquet(study / "values.parquet")
    assert values["value"].null_count() > 0
    assert not values["value"].is_nan().any()


def test_a_record_of_the_journal_comes_back_with_its_nulls() -> None:
    record = RunRecord(3, "ab", 1, 2, {"delay": None, "loss": 0.5, "steps": [None, 1.0]})
    assert RunRecord.from_json(record.to_json()) == record
    with pytest.raises(ValueError, match="JSON"):
        RunRecord(3, "ab", 1, 2, {"delay": math.nan}).to_json()


def test_the_names_of_a_measure_are_those_of_its_values(study: Path) -> None:
    runs = data_set.read(study)
    (text,) = runs.manifest["measures"]
    given = list_value_names(text)
    assert set(given) == set(runs.values)
    with pytest.raises(StudyError, match="no row with"):
        parse_measure(text.replace('"flow": "one"', '"flow": "three*"', 1))(_first_run(study))


def _first_run(study: Path) -> object:
    import trunkline as tl

    return tl.run(tl.load(study.parent / "s.yaml"))

"""The data set of a study: read back by four libraries, shown, drawn; and its small parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.network import compile
from trunkline.scenario import ScenarioError, load
from trunkline.stats import mean_interval
from trunkline.study import Runs, StudySubject, perform_plan, read
from trunkline.study.errors import StudyError
from trunkline.study.run.checked_files import read_manifest, write_json
from trunkline.study.run.progress import format_clock_time
from trunkline.study.run.run_measures import parse_measure

SCENARIO = """
trunkline: 1
parameters: {load: 0.5, size: 500 B}
nodes: [a, b]
links: {a-b: {rate: 1 Mbit/s, delay: 1 ms}}
flows:
  f: {agent: udp, from: a, to: b, rate: "${load * 1 Mbit/s}", size: $size, arrivals: poisson}
run: {duration: 10 s}
"""
STUDY = """
study: 1
name: small
title: Wait against load
scenario: queue.yaml
runs: 3
grid: {load: [0.2, 0.8], size: [500 B, 1000 B]}
columns:
  wait: {table: ports, where: {link: a->b}, measure: wait_mean_s, unit: ms}
  delivered: {where: {flow: f}, measure: packets_delivered, unit: packets}
"""
Call = Callable[..., object]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    (folder / "queue.yaml").write_text(SCENARIO)
    (folder / "small.yaml").write_text(STUDY)
    return folder / "small.yaml"


@pytest.fixture(scope="module")
def runs(study: Path) -> Runs:
    out = study.parent / "out"
    with perform_plan(StudySubject(str(study)).plan, out=out):
        pass
    return read(out)


def test_every_row_is_the_run_that_the_engine_makes_of_the_scenario(
    runs: Runs, study: Path
) -> None:
    table = runs.to_polars()
    assert table.height == 12
    assert table["run"].to_list() == list(range(12))
    row = table.row(10, named=True)
    assert (row["load"], row["size"], row["seed"]) == ("0.8", "1000 B", 2)
    scenario = load(study.parent / "queue.yaml", overrides={"load": "0.8", "size": "1000 B"})
    alone = simulate(compile(scenario), seeds=[2])[0]
    wait = alone.ports.where(link="a->b")["wait_mean_s"]
    assert row["hash"] == alone.hash()
    assert row["wait"] == float(wait or 0) / 1e-3
    assert row["delivered"] == alone.flows.where(flow="f")["packets_delivered"]


def test_duckdb_and_pandas_read_the_file_as_polars_does(runs: Runs) -> None:
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    file = str(runs.folder / "data" / "00000.parquet")
    expected = runs.to_polars()["wait"].sum()
    lines = duckdb.sql(f"select sum(wait), count(*) from '{file}'").fetchall()
    assert lines == [(pytest.approx(expected, rel=1e-12), 12)]
    assert pandas.read_parquet(file)["wait"].sum() == pytest.approx(expected, rel=1e-12)
    assert runs.to_pandas().shape == runs.to_polars().shape
    by_load = runs.sql("select load, avg(wait) from runs group by load order by load").fetchall()
    assert [load for load, _ in by_load] == ["0.2", "0.8"]
    assert by_load[0][1] < by_load[1][1]


def test_xarray_has_an_axis_for_each_parameter_and_the_seeds(runs: Runs) -> None:
    pytest.importorskip("xarray")
    data = runs.to_xarray()
    assert dict(data.sizes) == {"load": 2, "size": 2, "seed": 3}
    cell = float(data["wait"].sel(load="0.8", size="500 B", seed=3))
    table = runs.to_polars().filter(load="0.8", size="500 B", seed=3)
    assert cell == table["wait"][0]


def test_xarray_of_what_is_no_full_product_goes_by_points(runs: Runs) -> None:
    pytest.importorskip("xarray")
    some = Runs(runs.table.filter(pl.col("point") != 1), runs.manifest, runs.folder)
    data = some.to_xarray()
    assert dict(data.sizes) == {"point": 3, "seed": 3}
    assert data["load"].to_numpy().tolist() == ["0.2", "0.8", "0.8"]
    assert float(data["wait"].sel(point=3, seed=1)) == runs.table["wait"][9]


def test_shown_means_have_student_intervals_over_the_seeds(runs: Runs, trunkline: Call) -> None:
    lines = trunkline("study", "show", str(runs.folder), "--json")
    point = json.loads(lines.stdout)["points"][3]  # type: ignore[attr-defined]
    assert point["labels"] == {"load": "0.8", "size": "1000 B"}
    waits = runs.table.filter(point=3)["wait"].to_list()
    wanted = mean_interval(waits)
    assert point["values"]["wait"] == {"mean": wanted.mean, "low": wanted.low, "high": wanted.high}


def test_the_command_line_shows_plots_and_tells_the_state(
    runs: Runs, trunkline: Call, tmp_path: Path
) -> None:
    out = str(runs.folder)
    shown = trunkline("study", "show", out, "--value", "wait")
    assert "wait [ms]" in shown.stdout  # type: ignore[attr-defined]
    assert "delivered" not in shown.stdout  # type: ignore[attr-defined]
    state = trunkline("study", "status", out)
    assert "12 of 12 runs done, complete" in state.stdout  # type: ignore[attr-defined]
    drawn = trunkline("study", "plot", out, "--against", "load", "--out", "wait.svg")
    assert drawn.returncode == 0  # type: ignore[attr-defined]
    picture = (tmp_path / "wait.svg").read_text()
    assert "wait [ms]" in picture
    assert "size 1000 B" in picture
    wrong = trunkline("study", "show", out, "--value", "weight")
    assert wrong.returncode == 2  # type: ignore[attr-defined]
    assert "values: wait, delivered" in wrong.stderr  # type: ignore[attr-defined]


def test_one_run_a_point_is_said_not_to_be_enough(study: Path, trunkline: Call) -> None:
    lines = trunkline("study", "run", str(study), "--runs", "1", "--out", "one")
    assert "NOT ENOUGH RUNS" in lines.stdout  # type: ignore[attr-defined]


def test_a_fault_of_a_study_file_has_its_line(study: Path) -> None:
    wrong = study.with_name("wrong.yaml")
    wrong.write_text(STUDY.replace("measure: wait_mean_s", "measures: wait_mean_s"))
    with pytest.raises(ScenarioError, match=r"wrong\.yaml:9:\d+: error\[unknown-key\]: there"):
        StudySubject(str(wrong))
    wrong.write_text(STUDY.replace("measure: wait_mean_s, ", ""))
    with pytest.raises(ScenarioError, match=r"wrong\.yaml:9:\d+: error\[missing-key\]: wait"):
        StudySubject(str(wrong))


def test_a_column_that_no_run_has_is_refused(study: Path) -> None:
    wrong = study.with_name("wrong-row.yaml")
    wrong.write_text(STUDY.replace("link: a->b", "link: a->c"))
    with (
        pytest.raises(StudyError, match="column wait"),
        perform_plan(StudySubject(str(wrong)).plan),
    ):
        pass


def test_a_text_that_is_no_measure_is_refused() -> None:
    for text in ({"function": "os:system"}, {}, {"columns": {}, "function": "trunkline.cli:main"}):
        with pytest.raises(StudyError, match="no measure of a study"):
            parse_measure(json.dumps(text))


def test_a_manifest_is_written_as_json_writes_it_and_its_checksum_is_of_all_else(
    tmp_path: Path,
) -> None:
    odd = 'a "quoted" \\ name\nof two lines, "points": [], µ'
    points = [{"part": "", "labels": {odd: odd}, "seeds": [1, 3]}, {"part": odd, "labels": {}}]
    lines = {"format": 1, "points": points, "shard": [1, 2]}
    write_json(tmp_path / "manifest.json", lines)
    read_back = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    plain = json.dumps(lines, indent=1, ensure_ascii=False) + "\n"
    assert read_back == {**lines, "checksum": hashlib.sha256(plain.encode()).hexdigest()}
    total = json.dumps(read_back, indent=1, ensure_ascii=False) + "\n"
    assert (tmp_path / "manifest.json").read_text("utf-8") == total
    assert read_manifest(tmp_path) == lines


def test_times_read_as_people_say_them() -> None:
    assert format_clock_time(42.4) == "42 s"
    assert format_clock_time(200) == "3 min 20 s"
    assert format_clock_time(7500) == "2 h 5 min"

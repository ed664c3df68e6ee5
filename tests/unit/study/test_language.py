"""What a study file can say, on a small study of its own: values, draws, variants, pictures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from trunkline.scenario import ScenarioError
from trunkline.study import Reproduction, Study, StudySubject, find_study, reproduce
from trunkline.study.language.pictures import DistributionPicture
from trunkline.study.language.point_scenarios import load_point_scenario
from trunkline.study.language.random_draws import apply_draws
from trunkline.study.outcome.reproduction_json import build_overviews
from trunkline.study.run import runner

SCENARIO = """
trunkline: 1
parameters: {load: 0.5, size: 500 B}
nodes: [a, b]
links: {a-b: {rate: 1 Mbit/s, delay: 1 ms}}
flows:
  f: {agent: udp, from: a, to: b, rate: "${load * 0.5 Mbit/s}", size: $size, stop: 4 s}
  g: {agent: udp, from: a, to: b, rate: "${load * 0.5 Mbit/s}", size: $size, stop: 4 s}
probes:
  - {flow: all, measure: throughput, every: 1 s}
run: {duration: 6 s}
"""
STUDY = """
study: 1
name: own
title: Own
runs: 3
row_title: load
error: absolute
judged: ["0.5"]
cases:
  plain: {title: as it is, scenario: s.yaml, keep: 1}
  tall:
    title: a row for each measure
    scenario: s.yaml
    rows: {alone: {load: 0.4}}
    runs: 2
    columns:
      sent: {where: {flow: f}, measure: packets_sent, unit: packets}
      all sent: {where: {flow: "*"}, measure: packets_sent, unit: packets}
      lost: {where: {flow: f*, cause: queue_full}, table: drops, measure: packets, unit: packets}
grid: {load: [0.25, 0.5]}
draws:
  - {flows: [f, g], arrivals: uniform}
  - {links: [a-b], delay: {from: 1 ms, to: 9 ms}, cases: [plain]}
columns:
  both: {series: {measure: throughput, to: 4 s}, of: "*", unit: kbit/s}
  most:
    series: {measure: throughput, after: 1 s, to: 4 s, time: max, targets: max}
    of: f
    unit: kbit/s
  idle: {series: {measure: throughput, equals: 0, time: max}, of: g, unit: "1"}
  curve: {series: {measure: throughput, time: all}, of: f, unit: kbit/s}
  gain: {value: '100 * (both / both["0.25"] - 1)', unit: "%"}
  half: {value: both / 2, unit: kbit/s, hidden: true}
variants:
  - {name: small, cases: [plain], set: {size: 250 B}}
claims:
  - {name: more, says: more load is more, that: 'both["0.5"] > both["0.25"]', unit: kbit/s}
overviews:
  - title: Both
    published: true
    cells:
      at 0.5: {column: both, row: "0.5", digits: 0}
      off by: {error: "0.5", digits: 1}
    lines: [{name: as it is, tables: [plain]}, {name: small, tables: [plain], variant: small}]
pictures:
  over: {kind: over-time, table: plain, columns: {curve: f}, every: 1 s, panels: targets}
  kept: {kind: over-time, table: plain, measures: {throughput: rate}, targets: {f: f, g: g}}
  spread: {kind: distribution, tables: {plain: plain, "plain, small": small}, column: both, bin: 10}
  lines: {kind: lines, columns: [both, gain], tables: {plain: plain, "plain, small": small}}
  marks: {kind: lines, columns: [both], rows: ["0.5"], published: true, tables: {plain: plain}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "published.csv").write_text(
        "table,row,column,value\nplain,0.25,both,250\nplain,0.5,both,500\n"
    )
    return tmp_path


@pytest.fixture
def done(folder: Path) -> Reproduction:
    return reproduce(str(folder), progress=False)


def test_values_out_of_series(done: Reproduction) -> None:
    columns = done.measured.columns
    # Two flows of a quarter of 0.5 Mbit/s each, then of half of it; a packet may come later.
    assert np.allclose(columns["plain", "both"], [[250] * 3, [500] * 3], rtol=0.01)
    # In the fifth second nothing is left on the way.
    assert (columns["plain", "idle"] == 1).all()
    curve = done.measured.samples["plain", "curve"]
    assert curve.shape == (2, 3, 6)
    assert np.allclose(columns["plain", "most"], curve[:, :, 1:4].max(axis=2))
    assert np.allclose(columns["plain", "gain"][1], 100.0, atol=2)
    assert (columns["plain", "gain"][0] == 0).all()
    assert np.array_equal(columns["plain", "half"], columns["plain", "both"] / 2)


def test_exactly_as_many_packets_as_the_rate_makes(done: Reproduction) -> None:
    # 0.4 * 0.5 Mbit/s * 4 s / 4000 bit.
    assert (done.measured.columns["tall", "sent"] == 200).all()


def test_a_name_with_a_star_is_all_that_begin_so_and_no_row_of_drops_is_none(
    done: Reproduction,
) -> None:
    # Both flows send as many; 0.4 Mbit/s lose nothing on a link of 1 Mbit/s.
    assert (done.measured.columns["tall", "all sent"] == 400).all()
    assert (done.measured.columns["tall", "lost"] == 0).all()


def test_a_case_has_seeds_and_columns_of_its_own(done: Reproduction) -> None:
    assert done.measured.columns["plain", "both"].shape == (2, 3)
    assert done.measured.columns["tall", "sent"].shape == (1, 2)
    assert done.measured.runs == 2 * 3 + 2 + 2 * 3
    assert StudySubject(str(done.study.folder), runs=30).plan.points[2].seeds == tuple(range(1, 21))


def test_a_case_with_more_seeds_than_the_study_has_them_all(folder: Path, tmp_path: Path) -> None:
    for file in ("s.yaml", "study.yaml"):
        text = (folder / file).read_text(encoding="utf-8")
        (tmp_path / file).write_text(text.replace("    runs: 2\n", "    runs: 5\n"))
    done = reproduce(str(tmp_path), out=tmp_path / "out")
    assert done.measured.columns["plain", "both"].shape == (2, 3)
    assert done.measured.columns["tall", "sent"].shape == (1, 5)
    values = pl.read_parquet(tmp_path / "out" / "values.parquet")
    seeds = values.filter((pl.col("table") == "tall") & (pl.col("column") == "sent"))["seed"]
    assert seeds.to_list() == [1, 2, 3, 4, 5]


def test_variants_are_held_against_the_published_values_of_their_case(done: Reproduction) -> None:
    cells = {(c.table, c.row, c.column): c for c in done.cells}
    assert cells["plain, small", "0.5", "both"].published == 500
    assert not any(column in ("half", "curve") for _, _, column in cells)
    summary = done.to_json()["summary"]
    assert summary["tables"]["plain"]["cells"] == 1
    assert summary["variants"].keys() == {"plain, small"}
    assert summary["error_unit"] == "kbit/s"


def test_draws_are_the_same_in_every_point_and_other_for_every_seed(folder: Path) -> None:
    points = StudySubject(str(folder)).plan.points

    def of(point: int, seed: int) -> tuple[list[int], list[int]]:
        made = json.loads(apply_draws(points[point].network_json, points[point].draws, seed))
        delays = [link["delay_ns"] for link in made["links"]]
        return delays, made["flows"][0]["agent"]["arrivals"]["schedule"]["times_ns"]

    (there, back), times = of(0, 1)
    assert there == back
    assert 1_000_000 <= there < 9_000_000
    assert of(1, 1)[0] == of(0, 1)[0] != of(0, 2)[0]
    # The flow of the second point sends twice as many; the stream of the seed is the same.
    assert set(times) <= set(of(1, 1)[1])
    # The case that is left out keeps the delay of its scenario.
    assert of(2, 1)[0] == [1_000_000] * 2


def test_overviews_and_pictures(done: Reproduction, tmp_path: Path) -> None:
    (shown,) = build_overviews(done)
    assert shown["heads"] == ["", "at 0.5", "off by"]
    assert [row[0] for row in shown["rows"]] == ["published", "as it is", "small"]
    assert shown["rows"][0][1] == "500"
    out = done.write(tmp_path / "out")
    assert {path.stem for path in out.glob("*.svg")} == {"over", "kept", "spread", "lines", "marks"}
    assert "off by" in done.render(width=100)


def test_claims_hold_with_their_unit(done: Reproduction) -> None:
    assert [claim.is_held for claim in done.claims] == [True]
    found = "[kbit/s]; published: 500 against 250 [kbit/s]"
    assert done.claims[0].detail.endswith(found)


FITTED = """error: absolute
readings:
  - {says: read as small, variant: small, reason: The values prefer it.}
"""


def give_values(folder: Path, text: str, plain: list[float], small: list[float]) -> Reproduction:
    """The study with two seeds whose column ``both`` has given means, half a kbit/s to each side.

    The prediction interval of one more run is then 12.71 * 0.707 * sqrt(3 / 2) = 11 to each side.

    plain, small: Of the rows 0.25 and 0.5, of the case and of its variant.
    """
    (folder / "study.yaml").write_text(text)
    study = find_study(str(folder))
    columns = {
        (table.name, column): np.ones((len(table.rows), 2))
        for table in study.list_tables()
        for column in table.columns
    }
    for name, means in (("plain", plain), ("plain, small", small)):
        columns[name, "both"] = np.array([[mean - 0.5, mean + 0.5] for mean in means])
    return Reproduction(study, [1, 2], runner.StudyValues(columns, "", 0))


def test_a_fitted_reading_stands_beside_what_is_stated(folder: Path) -> None:
    # Published are 250 and 500, of which 500 is judged; the variant has the claim the other way.
    text = STUDY.replace("error: absolute\n", FITTED)
    done = give_values(folder, text, plain=[260, 520], small=[510, 505])
    document = done.to_json()
    (reading,) = document["fitted_readings"]
    assert reading["rows"] == [["plain", "20", "0 of 1", "5", "1 of 1"]]
    assert reading["sets"] == "size 250 B"
    assert reading["claims"] == {"more": "refuted"}
    assert [each["outcome"] for each in document["claims"]] == ["held"]
    assert document["summary"]["mean_absolute_error"] == 20
    assert document["summary"]["readings"] == {"read as small": 5}
    shown = done.render(width=100)
    assert "Read as small" in shown
    assert "The values prefer it." in shown
    (line,) = [line for line in shown.splitlines() if "more load is more" in line]
    assert "held" in line
    assert "REFUTED" in line


def test_a_fitted_reading_leaves_what_its_variant_does_not_have(folder: Path) -> None:
    # The variant is of case plain; what is published of case tall, and its claim, are as stated. A
    # claim that compares plain with a variant of it says nothing of the reading.
    text = STUDY.replace("error: absolute\n", FITTED).replace('judged: ["0.5"]', "judged: []")
    text = text.replace(
        "claims:\n",
        """claims:
  - {name: tall, says: all is sent, table: tall, that: sent > 0}
  - {name: other, says: small is no less, table: plain, that: 'both <= both("plain, small")'}
""",
    )
    (folder / "published.csv").write_text(
        "table,row,column,value\nplain,0.25,both,250\nplain,0.5,both,500\ntall,alone,sent,3\n"
    )
    done = give_values(folder, text, plain=[260, 520], small=[251, 503])
    (reading,) = done.to_json()["fitted_readings"]
    assert reading["rows"] == [
        ["plain", "15", "1 of 2", "2", "2 of 2"],
        ["tall", "2", "0 of 1", "2", "0 of 1"],
    ]
    assert reading["claims"] == {"more": "held"}


def test_a_fitted_reading_of_ratios_is_compared_by_their_logs(folder: Path) -> None:
    text = STUDY.replace("error: absolute\n", FITTED.replace("absolute", "relative"))
    done = give_values(folder, text, plain=[250, 1000], small=[250, 500 * np.e])
    (reading,) = done.to_json()["fitted_readings"]
    # ln 2 and 1.
    assert reading["rows"] == [["plain", "0.693", "0 of 1", "1", "0 of 1"]]


def test_tables_in_one_unit_have_an_error_together(folder: Path) -> None:
    text = STUDY.replace("error: absolute\n", FITTED).replace('judged: ["0.5"]', "judged: []")
    again = "  again: {title: once more, scenario: s.yaml}\n  tall:"
    (folder / "published.csv").write_text(
        "table,row,column,value\nplain,0.25,both,250\nplain,0.5,both,500\nagain,0.5,both,4\n"
    )
    done = give_values(folder, text.replace("  tall:", again), plain=[260, 520], small=[251, 503])
    (reading,) = done.to_json()["fitted_readings"]
    # (10 + 20 + 3) / 3 and (1 + 3 + 3) / 3.
    assert [row[:2] for row in reading["rows"]] == [["plain", "15"], ["again", "3"], ["all", "11"]]
    assert [row[3] for row in reading["rows"]] == ["2", "3", "2.33"]


def test_a_script_of_tc_configures_a_scenario_that_names_tables(tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_text("size,share\n1 kB,0 %\n2 kB,100 %\n")
    (tmp_path / "one.tc").write_text("tc qdisc add dev eth0 root pfifo limit 7\n")
    (tmp_path / "s.yaml").write_text(
        "trunkline: 1\nnodes: [a, b]\nlinks: {a-b: {rate: 1 Mbit/s, port: p}}\n"
        "ports: {p: {queue: {limit: 90 packets}}}\n"
        "flows: {f: {agent: tcp, from: a, to: b, transfers: "
        "{every: 1 s, size: {cdf: sizes.csv}}}}\nrun: {duration: 2 s}\n"
    )
    (tmp_path / "study.yaml").write_text(
        "study: 1\nname: s\ntitle: S\ncases: {c: {title: c, scenario: s.yaml}}\n"
        "variants: [{name: tc, tc: {script: one.tc, ports: {p: eth0}}}]\n"
        "columns: {sent: {where: {flow: f}, measure: packets_sent, unit: packets}}\n"
    )
    study = find_study(str(tmp_path))
    (variant,) = (table for table in study.list_tables() if table.variant is not None)
    port = load_point_scenario(study, variant, {}).ports["p"]
    assert port.queue is not None
    assert port.queue.limit.packets == 7


def changed(folder: Path, old: str, new: str) -> Callable[[], Study]:
    file = folder / "study.yaml"
    assert STUDY.count(old) >= 1
    file.write_text(STUDY.replace(old, new, 1))
    return lambda: find_study(str(folder))


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("both / 2", "boht / 2", "columns.half.value", "there is no 'boht' here"),
        (
            "cause: queue_full",
            "cause: full",
            "cases.tall.columns.lost.where.cause",
            "there is no 'full' here",
        ),
        ("both / 2", "both //", "columns.half.value", "is no formula"),
        ("both / 2", "gain + half", "columns", "half are given by each other"),
        ('both["0.5"] > both["0.25"]', 'both["0.5"]', "claims[0].that", "compares nothing"),
        ('> both["0.25"]', '> both["0.3"]', "claims[0].that", "there is no '0.3' here"),
        ('> both["0.25"]', '> both("tal")', "claims[0].that", "there is no 'tal' here"),
        ("from: 1 ms, to: 9 ms", "from: 9 ms, to: 1 ms", "draws[1].delay.to", "above from"),
        ("arrivals: uniform", "arrivals: poisson", "draws[0].arrivals", "cannot be poisson"),
        ("links: [a-b], ", "", "draws[1]", "a draw is the delay of links"),
        (
            "links: [a-b]",
            "links: [a-c]",
            "draws[1]",
            "is no link or flow here; there are a-b",
        ),
        ("cases: [plain]}\ncol", "cases: [plan]}\ncol", "draws[1].cases", "there is no 'plan'"),
        ("time: all}", "time: none}", "columns.curve.series.time", "cannot be none"),
        ("to: 4 s}, of", "to: 4}, of", "columns.both.series.to", "4"),
        ("kind: distribution", "kind: pie", "pictures.spread.kind", "cannot be pie"),
        ("cases: [plain], set", "cases: [nine], set", "variants[0].cases", "there is no 'nine'"),
        ("packets_sent", "packets_snet", "cases.tall.columns.sent.measure", "'packets_snet' here"),
        ("where: {flow: f}", "where: {flwo: f}", "cases.tall.columns.sent.where", "'flwo' here"),
        ("column: both, row", "column: half, row", "overviews[0].cells.at 0.5", "is hidden"),
        ('row: "0.5", digits', 'row: "0.6", digits', "overviews[0].cells.at 0.5", "no '0.6'"),
        ("variant: small}", "variant: smal}", "overviews[0].lines[1]", "no 'plain, smal' here"),
        ('judged: ["0.5"]', 'judged: ["5"]', "judged", "there is no '5' here"),
        ("column: both, bin", "column: boht, bin", "pictures.spread.column", "no 'boht' here"),
        ("columns: {curve: f}", "columns: {half: f}", "pictures.over.columns", "no 'half' here"),
        ("columns: [both, gain]", "columns: [both, gian]", "pictures.lines", "no 'gian' here"),
        (
            '{plain: plain, "plain, small"',
            '{plain: plain, "plan, small"',
            "pictures.spread.tables",
            "'plan, small'",
        ),
        (", keep: 1}", "}", "pictures.kept.table", "runs of table plain are not kept"),
        ("set: {size: 250 B}", "set: {sise: 250 B}", "variants[0].set.sise", "no 'sise' here"),
        ("study: 1", "study: 1\npublished: []", "published", "there is no key published here"),
        (
            "error: absolute",
            "readings: [{says: x, tables: [nine]}]",
            "readings[0].tables",
            "'nine'",
        ),
        (
            "error: absolute",
            "readings: [{says: x, variant: smal, reason: y}]",
            "readings[0].variant",
            "there is no 'smal' here",
        ),
        (
            "error: absolute",
            "readings: [{says: x, variant: small}]",
            "readings[0]",
            "a reading has both variant and reason, or neither",
        ),
        ("load: [0.25, 0.5]", "laod: [0.25, 0.5]", "grid.laod[0]", "neither a parameter nor"),
        (
            "rows: {alone: {load: 0.4}}",
            "rows: {alone: {laod: 0.4}}",
            "cases.tall.rows.alone.laod",
            "neither a parameter nor",
        ),
        (
            "error: absolute",
            "fitted: [{parameter: x, value: 1, reason: y}]",
            "fitted[0].value",
            "neither a parameter nor",
        ),
        (
            "set: {size: 250 B}",
            "set: {flows.h.rate: 1 Mbit/s}",
            "variants[0].set.flows.h.rate",
            "neither a parameter nor",
        ),
        ("name: small, cases", "name: small, casse", "variants[0].casse", "there is no key casse"),
    ],
)
def test_a_fault_is_told_with_its_place(
    folder: Path, old: str, new: str, place: str, message: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        runner.build_plan(changed(folder, old, new)(), [1])
    found = caught.value.render()
    assert "study.yaml:" in found
    assert message in found
    assert f"at: {place}" in found


@pytest.mark.parametrize(
    ("table", "line", "message"),
    [
        ("table,row,column\nplain,0.25,both\n", 1, "column value is missing"),
        ("table,row,column,value,unit\n", 1, "there is no column unit here"),
        ("table,row,column,value\n\nplain,0.25,both,x\n", 3, "a number is expected here"),
        ("table,row,column,value\nplain,0.25,both\n", 2, "as many values are expected as"),
        ("table,row,column,value\nplain,0.3,both,1\n", 2, "cell plain, 0.3, both is not in"),
        ("table,row,column,value\nplain,0.25,half,1\n", 2, "cell plain, 0.25, half is not in"),
        ('table,row,column,value\n"plain', 2, "is not CSV"),
    ],
)
def test_a_fault_of_the_published_values_is_told_with_its_line(
    folder: Path, table: str, line: int, message: str
) -> None:
    (folder / "published.csv").write_text(table)
    with pytest.raises(ScenarioError) as caught:
        find_study(str(folder))
    found = caught.value.render()
    assert f"published.csv:{line}:1: " in found
    assert message in found


def test_a_distribution_has_a_panel_for_each_table_whatever_its_number_of_runs() -> None:
    """`--until-ci` gives each table the runs that its claims need."""
    picture = DistributionPicture(
        kind="distribution", tables={"a": "first", "b": "second"}, column="gain", bin=2
    )
    gains = {("a", "gain"): np.array([[1.0, 3.0]]), ("b", "gain"): np.array([[2.0, 4.0, 9.0]])}
    reproduction = SimpleNamespace(
        tables={name: SimpleNamespace(rows=["50 ms"]) for name in "ab"},
        study=SimpleNamespace(get_unit=lambda *_: "%", row_title="switch after"),
        measured=SimpleNamespace(columns=gains),
    )
    figure = picture.draw(cast("Reproduction", reproduction))
    assert [panel.get_title(loc="left") or panel.get_title() for panel in figure.axes] == [
        "first",
        "second",
    ]
    assert [panel.get_legend_handles_labels()[1] for panel in figure.axes] == [
        ["50 ms: mean 2 %"],
        ["50 ms: mean 5 %"],
    ]
    # One axis from the lowest gain to the highest.
    assert {panel.get_xlim() for panel in figure.axes} == {figure.axes[0].get_xlim()}
    assert figure.axes[0].get_xlim()[1] > 9

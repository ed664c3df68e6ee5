"""Points of studies: ranges by hand, counting, Latin hypercubes, faults with lines."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from trunkline.scenario import ScenarioError
from trunkline.study import find_study
from trunkline.study.language.catalogue import STUDIES_FOLDER
from trunkline.study.language.grid import (
    MAX_STUDY_POINTS,
    Axis,
    LatinHypercubeSample,
    count_points,
    list_points,
)

AXIS: TypeAdapter[list[str]] = TypeAdapter(Axis)


@pytest.mark.parametrize(
    ("expected", "values"),
    [
        (["1 ms", 5, 0.25], ["1 ms", "5", "0.25"]),
        ({"from": "1 ms", "to": "3 ms", "step": "500 us"}, "1 ms,1.5 ms,2 ms,2.5 ms,3 ms"),
        # A tenth is no binary fraction: nine steps of it must still end at 0.95 exactly.
        ({"from": 0.5, "to": 0.95, "step": 0.05}, "0.5,0.55,0.6,0.65,0.7,0.75,0.8,0.85,0.9,0.95"),
        ({"from": "10 %", "to": "30 %", "step": "10 %"}, "10 %,20 %,30 %"),
        ({"from": 5, "to": 1, "step": -2}, "5,3,1"),
        ({"from": "16.8 Mbit/s", "to": "28 Mbit/s", "count": 3},
         "16.8 Mbit/s,22.4 Mbit/s,28 Mbit/s"),
        ({"from": "1 Mbit/s", "to": "1 Gbit/s", "count": 4, "scale": "log"},
         "1 Mbit/s,10 Mbit/s,100 Mbit/s,1 Gbit/s"),
        ({"from": 1, "to": 16, "count": 3, "scale": "log"}, "1,4,16"),
        ({"from": 7, "to": 7, "count": 1}, "7"),
    ],
)  # fmt: skip
def test_an_axis_has_these_values(expected: object, values: list[str] | str) -> None:
    wanted = values.split(",") if isinstance(values, str) else values
    assert AXIS.validate_python(expected) == wanted


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ([], "an axis needs at least one value"),
        (["1 ms", "1 ms"], "1 ms is twice in this axis"),
        ([{"a": 1}], "a value of an axis is a number or text"),
        ("1 ms", "an axis is a list of values or a range"),
        ({"from": 1, "to": 2}, "a range needs either step or count"),
        ({"from": 1, "to": 2, "step": 1, "count": 2}, "a range needs either step or count"),
        ({"from": 1, "step": 1}, "a range needs to"),
        ({"from": 1, "to": 2, "by": 1}, "there is no key by in a range"),
        ({"from": 1, "to": 2, "step": "wide"}, "step of a range must be a number or quantity"),
        ({"from": 1, "to": 2, "step": 0}, "the step must lead from 1 to 2"),
        ({"from": 1, "to": 2, "step": -1}, "the step must lead from 1 to 2"),
        ({"from": 1, "to": 2, "step": 0.3}, "a range must be a whole number of steps"),
        ({"from": "1 ms", "to": 2, "step": 1}, "to and from of a range must be of one kind"),
        ({"from": 0, "to": 2, "count": 3, "scale": "log"}, "must lie above zero"),
        ({"from": 1, "to": 2, "step": 1, "scale": "log"}, "equal only on a linear scale"),
        ({"from": 1, "to": 2, "count": 3, "scale": "sine"}, "'sine' is no scale"),
        ({"from": 1, "to": 2, "count": 2.5}, "count must be a whole number from 1"),
        ({"from": 1, "to": 2, "count": 1}, "one value cannot be at both ends"),
        ({"from": "1 ns", "to": "2 ns", "count": 9}, "coincide in whole base units"),
        ({"from": 0, "to": 1, "step": 1e-8}, "100 000 001 points; 1 000 000 at most"),
        ({"from": 0, "to": 1, "count": 10**8}, "100 000 000 points; 1 000 000 at most"),
    ],
)
def test_an_axis_that_cannot_be_is_refused(expected: object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        AXIS.validate_python(expected)


def test_points_are_the_product_of_lists_rows_side_by_side_and_a_sample() -> None:
    sample = LatinHypercubeSample(points=3, ranges={"load": {"from": 0.1, "to": 0.9}})
    grid = {"a": ["1", "2"]}
    side_by_side = [{"b": ["x", "y"], "c": ["p", "q"]}]
    made = list_points(grid, side_by_side, sample)
    assert len(made) == count_points(grid, side_by_side, sample) == 2 * 2 * 3
    assert {(row["b"], row["c"]) for row in made} == {("x", "p"), ("y", "q")}
    assert [row["a"] for row in made] == ["1"] * 6 + ["2"] * 6
    assert list_points({}, [], None) == [{}]


def test_mckay1979_a_latin_hypercube_meets_every_part_of_every_range_once() -> None:
    # McKay, Beckman, Conover, Technometrics 21(2), 1979: N parts of equal probability, one value
    # in each. On the log scale the parts are equal in ln.
    sample = LatinHypercubeSample(
        points=50,
        seed=7,
        ranges={
            "load": {"from": 0.0, "to": 1.0},
            "rate": {"from": "1 Mbit/s", "to": "1 Gbit/s", "scale": "log"},
        },
    )
    import math

    made = sample.draw_points()
    loads = sorted(int(float(row["load"]) * 50) for row in made)
    assert loads == list(range(50))
    units = {"kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "bit/s": 1.0}
    rates = [float(row["rate"].split()[0]) * units[row["rate"].split()[1]] for row in made]
    assert sorted(int(50 * math.log(rate / 1e6) / math.log(1e3)) for rate in rates) == list(
        range(50)
    )
    # The columns are shuffled apart: their ranks must not be the same.
    assert [row["load"] for row in made] != sorted(row["load"] for row in made)


def test_a_latin_hypercube_depends_on_its_seed_alone() -> None:
    def made(seed: int) -> list[dict[str, str]]:
        return LatinHypercubeSample(
            points=5, seed=seed, ranges={"a": {"from": 0, "to": 1}}
        ).draw_points()

    assert made(1) == made(1) != made(2)


def test_steps_of_a_sampled_range_are_met_equally_often() -> None:
    sample = LatinHypercubeSample(points=40, ranges={"hops": {"from": 1, "to": 4, "step": 1}})
    hops = [row["hops"] for row in sample.draw_points()]
    assert {each: hops.count(each) for each in sorted(set(hops))} == dict.fromkeys("1234", 10)


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a study with another grid."""

    def change(grid: str) -> Path:
        copy = tmp_path / "mine"
        shutil.copytree(STUDIES_FOLDER / "bhani1999", copy)
        (copy / "published.csv").unlink()
        file = copy / "study.yaml"
        # What a fit takes of the rows is of the rows that were.
        fit = re.compile(r"^fit:.*\n(?: .*\n)*", re.MULTILINE)
        lines = fit.sub("", file.read_text("utf-8")).split("\n")
        at = lines.index("grid:")
        file.write_text("\n".join([*lines[:at], *grid.split("\n"), *lines[at + 2 :]]), "utf-8")
        return copy

    return change


def message(folder: Path) -> str:
    with pytest.raises(ScenarioError) as caught:
        find_study(str(folder))
    return caught.value.render()


def test_a_range_in_a_study_file_gives_its_rows(changed: Callable[[str], Path]) -> None:
    study = find_study(
        str(changed("grid: {udp_rate: {from: 16 Mbit/s, to: 20 Mbit/s, step: 2 Mbit/s}}"))
    )
    assert list(study.list_points()) == ["16 Mbit/s", "18 Mbit/s", "20 Mbit/s"]
    assert study.get_row_parameters() == ([16.0, 18.0, 20.0], "Mbit/s")


def test_a_study_may_have_rows_side_by_side_and_a_sample(changed: Callable[[str], Path]) -> None:
    study = find_study(
        str(
            changed(
                "zip:\n"
                "  - {udp_rate: [16 Mbit/s, 18 Mbit/s], core_delay: [1 ms, 2 ms]}\n"
                "sample: {points: 4, ranges: {access_delay: {from: 1 ms, to: 2 ms}}}"
            )
        )
    )
    assert len(study.list_points()) == 8
    assert next(iter(study.list_points().values())).keys() == {
        "udp_rate",
        "core_delay",
        "access_delay",
    }


@pytest.mark.parametrize(
    ("grid", "code", "at"),
    [
        ("grid: {udp_rate: []}", "range", "grid.udp_rate"),
        ("grid: {udp_rate: {from: 1 Mbit/s, to: 2 Mbit/s, step: x}}", "unit", "udp_rate.step"),
        ("grid: {udp_rate: {from: 1, to: 2, step: 0}}", "range", "udp_rate.step"),
        ("zip: [{udp_rate: [1 Mbit/s], core_delay: [1 ms, 2 ms]}]", "relation", "zip[0]"),
        ("zip: [{a: [1]}, {a: [2]}]", "duplicate-name", "zip[1].a"),
        ("sample: {points: 0, ranges: {a: {from: 0, to: 1}}}", "range", "sample.points"),
        ("sample: {points: 2, ranges: {a: {from: 0, to: 0}}}", "relation", "ranges.a.to"),
    ],
)
def test_a_fault_of_the_grid_is_shown_at_its_line(
    changed: Callable[[str], Path], grid: str, code: str, at: str
) -> None:
    folder = changed(grid)
    expected = message(folder)
    line = next(
        number
        for number, text in enumerate((folder / "study.yaml").read_text("utf-8").split("\n"), 1)
        if text.startswith(("grid:", "zip:", "sample:"))
    )
    assert f"study.yaml:{line}:" in expected
    assert f"error[{code}]" in expected
    assert at in expected


def test_a_hundred_million_points_are_counted_and_refused_at_once(
    changed: Callable[[str], Path],
) -> None:
    axes = ", ".join(f"p{i}: {{from: 1, to: 100, step: 1}}" for i in range(4))
    begin = time.process_time()
    expected = message(changed(f"grid: {{{axes}}}"))
    assert "100 000 000 points; 1 000 000 at most" in expected
    assert time.process_time() - begin < 5
    assert MAX_STUDY_POINTS == 1_000_000

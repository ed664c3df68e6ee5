"""What a study prints in a narrow terminal: each row, each published value, what a run may give."""

from __future__ import annotations

import re

import numpy as np
import pytest

from trunkline.study import Reproduction, find_study, list_study_names
from trunkline.study.language.model import Study
from trunkline.study.run.runner import StudyValues, compute_derived_values


def about(study: Study, seeds: int) -> Reproduction:
    """The study with values near the published ones in the place of a run."""
    random = np.random.default_rng(1)
    tables = study.list_tables()
    columns = {
        (table.name, column): 1 + random.random((len(table.rows), seeds))
        for table in tables
        for column in table.columns
    }
    of = {table.name: table for table in tables}
    for cell in study.published:
        place = list(of[cell.table].rows).index(cell.row)
        columns[cell.table, cell.column][place] *= cell.value
    for table in tables:
        for column in table.columns:
            for place, row in enumerate(table.rows):
                if study.find_column(table, row, column).value is not None:
                    columns[table.name, column][place] = np.nan
        compute_derived_values(study, table, columns)
    return Reproduction(study, range(1, seeds + 1), StudyValues(columns, "", 0))


@pytest.fixture(scope="module", params=list_study_names())
def done(request: pytest.FixtureRequest) -> Reproduction:
    return about(find_study(request.param), 3)


@pytest.mark.parametrize("width", [80, 100])
def test_no_row_and_no_published_value_is_cut(done: Reproduction, width: int) -> None:
    shown = done.render(width=width)
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width
    words = shown.split()
    tables = {table.name: table for table in done.study.list_tables() if table.variant is None}
    for cell in done.cells:
        if cell.table not in tables or cell.published is None:
            continue
        digits = done.study.find_column(tables[cell.table], cell.row, cell.column).digits
        assert f"{cell.published:.{digits}f}" + ("*" if cell.doubt else "") in words
        expected = cell.prediction_interval
        assert f"{expected.low:.{digits}f}" in words
        assert f"{expected.high:.{digits}f}" in words
    # Each row stands in as many blocks as its table has, with its name whole.
    for table in tables.values():
        if any(cell.table == table.name for cell in done.cells):
            for row in table.rows:
                if any((c.table, c.row) == (table.name, row) for c in done.cells):
                    assert re.search(rf"^\s*{re.escape(row)}\s", shown, re.MULTILINE), row


def test_every_row_of_measures_has_an_error_of_its_own() -> None:
    # Seconds and packets have no common mean; maxima and minima are judged as means are.
    done = about(find_study("avallone2003"), 3)
    errors = done.to_json()["summary"]["tables"]
    assert {row for each in errors.values() for row in each["rows"]} == {
        "mean",
        "max",
        "min",
        "jitter",
        "dropped",
    }
    assert sum(row["cells"] for each in errors.values() for row in each["rows"].values()) == 80
    shown = done.render(width=80).partition("Error against the published values")[2]
    shown = shown.partition("Fitted reading")[0]
    for row in ("mean [s]", "max [s]", "min [s]", "jitter [s]", "dropped [packets]"):
        assert shown.count(row) == 4

"""Tables that are shown while others still run: those of the end, in their order, each once."""

from __future__ import annotations

import random

import pytest

from trunkline.study.outcome.completed_tables import CompletedTables
from trunkline.study.outcome.reproduction import Reproduction, StudySubject
from trunkline.study.outcome.reproduction_tables import render_reproduction, render_tables
from trunkline.study.run.data_set import read_records
from trunkline.study.run.journal import RunRecord
from trunkline.study.run.session import perform_plan


# One with plain tables; one with variants, of which the cases are shown, and overviews.
@pytest.fixture(scope="module", params=["bhani1999", "avallone2003"])
def ended(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[StudySubject, Reproduction, dict[int, RunRecord]]:
    subject = StudySubject(request.param, runs=1)
    folder = tmp_path_factory.mktemp("study") / "out"
    with perform_plan(subject.plan, out=folder) as runs:
        all_rows = subject.build_reproduction(runs)
    found = [each for path in folder.glob("data/*.parquet") for each in read_records(path)]
    return subject, all_rows, {each.run: each for each in found}


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_ends_first_the_tables_are_those_of_the_end(ended, seed: int) -> None:
    subject, all_rows, known = ended
    order = list(known.values())
    random.Random(seed).shuffle(order)
    arriving, done, shown = CompletedTables(subject), {}, ""
    for record in order:
        done[record.run] = record
        found = arriving.collect_new(done)
        if found is not None:
            shown += render_tables(found, width=100)
    assert arriving.collect_new(done) is None
    assert shown.count("Table ") >= len(subject.study.cases)
    assert shown + render_reproduction(
        all_rows, without=arriving.names, width=100
    ) == all_rows.render(width=100)


def test_a_table_is_known_as_soon_as_its_last_run_has_ended(ended) -> None:
    subject, _, known = ended
    arriving, done, came = CompletedTables(subject), {}, []
    for run in range(len(known)):
        done[run] = known[run]
        if arriving.collect_new(done) is not None:
            came.append(run)
    last = {task.point.labels["table"]: task.number for task in subject.plan.iterate_tasks()}
    assert came == list(last.values())
    assert arriving.names == list(last)


def test_a_run_that_is_missing_holds_up_its_table_and_those_behind_it(ended) -> None:
    subject, _, known = ended
    arriving = CompletedTables(subject)
    names = [task.point.labels["table"] for task in subject.plan.iterate_tasks()]
    missing = names.index(names[-1]) - 1
    rest = {run: record for run, record in known.items() if run != missing}
    found = arriving.collect_new(rest)
    assert found is not None
    assert arriving.names == list(dict.fromkeys(names))[:-2]
    assert {cell.table for cell in found.cells} <= set(arriving.names)
    assert arriving.collect_new(rest) is None

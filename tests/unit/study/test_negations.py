"""Every claim of every study can break: where it holds its negation fails, other values break it.

A claim that no outcome could break says nothing. Each is judged on the values of one or two runs,
with its comparisons turned round, and on values that are made other at random until it comes out
otherwise.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
import pytest

from trunkline.study import Reproduction, find, names
from trunkline.study.language import formula
from trunkline.study.language.claims import Claim, Tables
from trunkline.study.run.runner import derive, run

TURNED = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}
TRIALS = 400


@pytest.fixture(scope="module", params=names())
def done(request: pytest.FixtureRequest) -> Reproduction:
    # Of a study only the tables that claims speak of are run.
    study = find(request.param)
    spoken = {claim.table or next(iter(study.cases)) for claim in study.claims}
    for claim in study.claims:
        tree = formula.parse(claim.that, claim=True)
        spoken |= {table for table, _, _ in formula.references(tree) if table}
    bases = {name.partition(", ")[0] for name in spoken}
    update = {
        "cases": {name: case for name, case in study.cases.items() if name in bases},
        "variants": [v for v in study.variants if any(v.name in name for name in spoken)],
        "published": [cell for cell in study.published if cell.table in bases],
        "readings": [],
        "draws": [
            draw.model_copy(update={"cases": [c for c in draw.cases or [] if c in bases] or None})
            for draw in study.draws
            if draw.cases is None or bases & set(draw.cases)
        ],
    }
    some = study.model_copy(update=update)
    # How far one run may be from the next is known from two on.
    seeds = [1, 2] if any("chance(" in claim.that for claim in study.claims) else [1]
    return Reproduction(some, seeds, run(some, seeds))


def scope(done: Reproduction, factor: np.random.Generator | None = None) -> Tables:
    """The values of the run, or such as they are not."""
    columns = {key: values.copy() for key, values in done.measured.columns.items()}
    if factor is not None:
        far = factor.choice([0.02, 0.3, 1.5])
        for values in columns.values():
            values *= np.exp(factor.normal(0.0, far, values.shape))
            values += factor.normal(0.0, 0.1 * far, values.shape) * np.abs(values).max(initial=0)
    study = done.study
    for table in done.tables.values():
        for name in table.columns:
            for place, row in enumerate(table.rows):
                if study.column(table, row, name).value is not None:
                    columns[table.name, name][place] = np.nan
        derive(study, table, columns)
    return replace(done._speaks_of(columns), chance=False)


def negations(claim: Claim) -> list[Claim]:
    """Claims of which some must hold if this one does not."""
    found = []
    for each in formula.comparisons(formula.parse(claim.that, claim=True)) or ():
        turned = TURNED.get(type(each.ops[0]))
        if turned is not None:
            other = ast.Compare(each.left, [turned()], each.comparators)
            found.append(claim.model_copy(update={"that": ast.unparse(other)}))
    return found


def test_a_claim_and_its_negation_do_not_both_hold(done: Reproduction) -> None:
    here = scope(done)
    for claim in done.study.claims:
        verdict = claim.judge(here)
        if verdict is not None and verdict.held:
            for each in negations(claim):
                told = each.judge(here)
                assert told is not None
                assert not told.held, each.that


def test_other_values_break_every_claim(done: Reproduction) -> None:
    left = {claim.name: claim for claim in done.study.claims}
    random = np.random.default_rng(1)
    for _ in range(TRIALS):
        there = scope(done, random)
        for name, claim in list(left.items()):
            verdict = claim.judge(there)
            if verdict is not None and not verdict.held:
                del left[name]
        if not left:
            break
    assert not left, sorted(left)

"""Each published study, run whole with few seeds: its page in a browser, claims that can break.

A claim that no outcome could break says nothing. Each is judged on the values of the runs, with its
comparisons turned round, and on values that are made other at random until it comes out otherwise.
"""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browser import WatchedPage

from trunkline.plot.figure import save_figure
from trunkline.report import add_featured_runs, write_report
from trunkline.report.reproduced_study import MAX_VECTOR_PICTURE_BYTES
from trunkline.study import Reproduction, list_study_names
from trunkline.study.language import formula
from trunkline.study.language.claims import Claim, TableValues
from trunkline.study.language.pictures import draw_pictures
from trunkline.study.run.runner import build_table_values, compute_derived_values

LARGEST = 3_000_000
LEAST_PIXELS = 1500
TURNED = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}
TRIALS = 400
QUICK_STUDY = "bhani1999"
"""One of few events and charts."""


@pytest.fixture(
    scope="module",
    params=[
        name if name == QUICK_STUDY else pytest.param(name, marks=pytest.mark.slow)
        for name in list_study_names()
    ],
)
def done(
    request: pytest.FixtureRequest, reproduce_once: Callable[[str], Reproduction]
) -> Reproduction:
    # Two runs or more tell how far one run may be from the next.
    return reproduce_once(request.param)


def test_every_published_value_stands_beside_ours(done: Reproduction) -> None:
    published = {(each.table, each.row, each.column) for each in done.study.published}
    assert published <= {(cell.table, cell.row, cell.column) for cell in done.cells}


def test_its_report_is_drawn_in_full(
    done: Reproduction,
    tmp_path: Path,
    look: Callable[..., WatchedPage],
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = done.study.name
    (tmp_path / "study.json").write_text(json.dumps(done.to_json()))
    # Where a study has no pictures the page draws its tables itself.
    for picture, figure in draw_pictures(done).items():
        vector = save_figure(figure, tmp_path / f"{picture}.svg")
        if vector.stat().st_size > MAX_VECTOR_PICTURE_BYTES:
            save_figure(figure, vector.with_suffix(".png"))
    assert {path.stem for path in tmp_path.glob("*.svg")} == set(done.study.pictures or ())
    add_featured_runs(name, tmp_path)
    page = write_report(tmp_path)
    size = page.stat().st_size
    looker = look()
    start = time.monotonic()
    took = looker.open_file(page)
    pixels = looker.count_drawn_pixels()
    drawn = time.monotonic() - start
    with capsys.disabled():
        print(
            f"\n{name}: {size / 1e6:.2f} MB, ready after {took:.2f} s, "
            f"{len(pixels)} charts drawn after {drawn:.1f} s"
        )
    assert size < LARGEST
    assert min(pixels.values()) > LEAST_PIXELS, pixels
    # A picture that the policy or the browser refuses has no width.
    assert all(
        image.evaluate("(it) => it.decode().then(() => it.naturalWidth)") > 100
        for image in looker.page.locator(".picture img").all()
    )
    claims = looker.page.locator("#verdict .verdict").locator("li.held, li.broken, li.undecided")
    assert claims.count() == len(done.to_json()["claims"])
    assert (
        f"{len(done.seeds)} runs" in looker.page.locator("#verdict .verdict li.doubt").inner_text()
    )


def scope(done: Reproduction, factor: np.random.Generator | None = None) -> TableValues:
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
                if study.find_column(table, row, name).value is not None:
                    columns[table.name, name][place] = np.nan
        compute_derived_values(study, table, columns)
    return replace(build_table_values(study, columns), is_seed_dependent=False)


def negations(claim: Claim) -> list[Claim]:
    """Claims of which some must hold if this one does not."""
    found = []
    for each in formula.list_comparisons(formula.parse_formula(claim.that, claim=True)) or ():
        turned = TURNED.get(type(each.ops[0]))
        if turned is not None:
            other = ast.Compare(each.left, [turned()], each.comparators)
            found.append(claim.model_copy(update={"that": ast.unparse(other)}))
    return found


def test_a_claim_and_its_negation_do_not_both_hold(done: Reproduction) -> None:
    here = scope(done)
    for claim in done.study.claims:
        verdict = claim.judge(here)
        if verdict is not None and verdict.is_held:
            for each in negations(claim):
                shown_text = each.judge(here)
                assert shown_text is not None
                assert not shown_text.is_held, each.that


def test_other_values_break_every_claim(done: Reproduction) -> None:
    # How far runs lie apart has no interval of two runs: such claims are undecided here, whatever
    # the values; tests/unit/study/test_claims.py breaks them.
    left = {
        claim.name: claim
        for claim in done.study.claims
        if not claim.that.startswith(("chance(", "spread("))
    }
    random = np.random.default_rng(1)
    for _ in range(TRIALS):
        there = scope(done, random)
        for name, claim in list(left.items()):
            verdict = claim.judge(there)
            if verdict is not None and not verdict.is_held:
                del left[name]
        if not left:
            break
    assert not left, sorted(left)

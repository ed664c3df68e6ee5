"""Claims of studies: held, refuted or undecided, and no credit for what holds anything."""

from __future__ import annotations

import numpy as np
import pytest

from trunkline.report.verdict import of_study
from trunkline.study.language.claims import Claim, Tables, Verdict
from trunkline.study.outcome.cells import inside


def judged(that: str, *values: float) -> Verdict:
    tables = Tables({("1", "a"): np.array([values])}, {"1": ("row",)}, {"1": [1.0]}, "1")
    verdict = Claim(name="c", says="c", that=that).judge(tables)
    assert verdict is not None
    return verdict


# Mean 50.1, deviation 62.8; with three seeds half of the interval is 4.303 * 62.8 / sqrt 3 = 156.
WIDE = (50.1, 50.1 + 62.8, 50.1 - 62.8)


@pytest.mark.parametrize(
    ("that", "values", "outcome"),
    [
        ("a > 0", WIDE, "undecided"),
        ("a < 0", WIDE, "undecided"),
        ("a >= 40", WIDE, "undecided"),
        ("a <= 40", WIDE, "undecided"),
        ("a > 40", (50.0, 51.0, 52.0), "held"),
        ("a < 40", (50.0, 51.0, 52.0), "refuted"),
        ("a >= 40", (50.0, 51.0, 52.0), "held"),
        ("a <= 40", (50.0, 51.0, 52.0), "refuted"),
        ("a > 40 and a < 40", (50.0, 51.0, 52.0), "refuted"),
    ],
)
def test_an_interval_that_holds_anything_decides_nothing(
    that: str, values: tuple[float, ...], outcome: str
) -> None:
    """E1: three seeds made six red "Broken", of 50.1 with an interval of 156 on either side."""
    assert judged(that, *values).outcome == outcome


def test_a_published_value_in_a_wide_interval_earns_no_credit() -> None:
    """E1: 156 on either side earned a green "inside"."""
    assert not inside(50.1 - 156, 28.7, 50.1 + 156)
    assert inside(27.0, 28.7, 30.0)
    assert inside(0.0, 0.0, 0.0)
    assert not inside(None, 28.7, None)


def test_the_page_tells_undecided_from_broken() -> None:
    """E1: the words of the page are held, broken and undecided."""
    claims = [
        {"name": each, "held": each == "held", "outcome": each, "detail": "a: b"}
        for each in ("held", "refuted", "undecided")
    ]
    facts = of_study({"cells": [], "claims": claims, "seeds": 5})
    assert [fact.sign for fact in facts] == ["held", "broken", "undecided"]

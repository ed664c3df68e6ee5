"""Claims of studies: held, refuted or undecided, and no credit for what holds anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from trunkline.cli.reproduce_command import command
from trunkline.report.findings import list_claim_facts
from trunkline.study.language.claims import Claim, ClaimVerdict, TableValues
from trunkline.study.outcome.compared_cells import is_inside


def judged(that: str, *values: float) -> ClaimVerdict:
    tables = TableValues({("1", "a"): np.array([values])}, {"1": ("row",)}, {"1": [1.0]}, "1")
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
    assert not is_inside(50.1 - 156, 28.7, 50.1 + 156)
    assert is_inside(27.0, 28.7, 30.0)
    assert is_inside(0.0, 0.0, 0.0)
    assert not is_inside(None, 28.7, None)


def test_the_page_tells_undecided_from_broken() -> None:
    """E1: the words of the page are held, broken and undecided."""
    claims = [
        {"name": each, "held": each == "held", "outcome": each, "detail": "a: b"}
        for each in ("held", "refuted", "undecided")
    ]
    facts = list_claim_facts({"cells": [], "claims": claims, "runs": 5})
    assert [fact.sign for fact in facts] == ["held", "broken", "undecided"]


def test_a_single_seed_decides_nothing_but_published_values_stand() -> None:
    """Section 5: a claim of one seed was judged by its mean."""
    assert judged("a > 0", 50.0).outcome == "undecided"
    assert judged("a >= 40", 50.0).outcome == "undecided"
    tables = TableValues({("1", "a"): np.array([[50.0]])}, {"1": ("row",)}, {"1": [1.0]}, "1")
    published = Claim(name="c", says="c", that="a > 0").judge(
        replace(tables, is_seed_dependent=False)
    )
    assert published is not None
    assert published.is_held


STUDY = """
study: 1
name: one
title: One link
scenario: link.yaml
runs: {runs}
columns: {{goodput: {{table: flows, where: {{flow: f}}, measure: goodput_bit_s, unit: Mbit/s}}}}
claims: [{{name: c, says: it carries that, that: "goodput {sign} {limit}"}}]
"""
LINK = """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s}}
flows: {f: {agent: udp, from: A, to: B, rate: 800 kbit/s, size: 500 B, arrivals: poisson}}
run: {duration: 2 s}
"""


@pytest.mark.parametrize(
    ("sign", "limit", "runs", "status"),
    [(">", 0.1, 3, 0), (">", 5, 3, 3), (">", 0.1, 1, 6), ("<", 5, 1, 6)],
)
def test_reproduce_ends_with_the_outcome_of_its_claims(
    tmp_path: Path, sign: str, limit: float, runs: int, status: int
) -> None:
    """Section 5: 0 held, 3 refuted, 6 undecided, as `verify` has it."""
    (tmp_path / "link.yaml").write_text(LINK)
    study = tmp_path / "one.yaml"
    study.write_text(STUDY.format(sign=sign, limit=limit, runs=runs))
    done = CliRunner().invoke(command, [str(study), "--judge"], standalone_mode=False)
    assert done.exception is None, done.exception
    assert done.return_value == status

"""Claims: what a document says of its tables, as formulas that the computer judges.

A claim is judged on the values of every seed, so that chance is told from effect: what is said to
be above or below (``>``, ``<``) is so in every cell by the 95 % interval of the difference over
paired seeds; ``>=`` and ``<=`` compare means, where a limit is given. A claim is refuted where some
interval lies wholly on the other side, and undecided where none does and one holds both sides, or
holds anything: its half is larger than its mean. A single seed decides nothing; published values
are single too, and are judged as they stand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from pydantic import model_validator

from trunkline.scenario.fields import invalid
from trunkline.stats import Interval, mean_interval
from trunkline.study.language import formula
from trunkline.study.language.formula import Cells, FormulaError, Values
from trunkline.study.language.part import Part

Outcome = Literal["held", "refuted", "undecided"]

_MOST_TOLD = 6
"""Cells whose numbers are written out."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a claim came out, and the numbers that say so."""

    outcome: Outcome
    detail: str

    @property
    def held(self) -> bool:
        """Whether it held."""
        return self.outcome == "held"


class Claim(Part):
    """A claim.

    Parameters
    ----------
    name, says : str
        Its name; the claim in words of one's own.
    table : str, optional
        Table that its columns are of, where they name none; the first table if left out.
    that : str
        The claim as a formula.
    unit : str
        Unit of what it compares, for whoever reads the numbers.
    """

    name: str
    says: str
    table: str | None = None
    that: str
    unit: str = ""

    @model_validator(mode="after")
    def _formula(self) -> Claim:
        try:
            formula.parse(self.that, claim=True)
        except FormulaError as error:
            raise invalid("expression", str(error), given=self.that, at=("that",)) from None
        return self

    def judge(self, tables: Tables) -> Verdict | None:
        """Judge it; None if a value that it speaks of is not known."""
        scope = tables if self.table is None else replace(tables, own=self.table)
        verdict = _judge(formula.parse(self.that, claim=True), scope)
        if verdict is None or not self.unit:
            return verdict
        return replace(verdict, detail=f"{verdict.detail} [{self.unit}]")


@dataclass(frozen=True)
class Tables:
    """The values that formulas speak of.

    Parameters
    ----------
    values : mapping of (table, column) to ndarray of shape (rows, seeds)
        Values in the unit of the cell.
    rows : mapping of str to sequence of str
        Names of each table's rows.
    numbers : mapping of str to sequence of float
        What varies from row to row of a table.
    own : str
        Table of columns that name none.
    chance : bool, default True
        The values come out otherwise with other seeds; published ones do not.
    """

    values: Mapping[tuple[str, str], Values]
    rows: Mapping[str, Sequence[str]]
    numbers: Mapping[str, Sequence[float]] = field(default_factory=dict)
    own: str = ""
    chance: bool = True

    @property
    def by_chance(self) -> bool:
        """Whether a value without an interval may be chance: there is one seed, and not many.

        With several, a value without an interval is one of all seeds, such as a mean of theirs.
        """
        return self.chance and all(values.shape[1] == 1 for values in self.values.values())

    def columns(self, table: str | None) -> list[str]:
        """Names of a table's columns."""
        return [column for name, column in self.values if name == (table or self.own)]

    def cells(self, table: str | None, column: str) -> Cells:
        """Rows of a column."""
        name = table or self.own
        return Cells(self.values[name, column], tuple(self.rows[name]))

    def offered(self, table: str | None) -> Values:
        """Give what varies from row to row."""
        return np.array(self.numbers[table or self.own])


def _judge(tree: ast.expr, scope: Tables) -> Verdict | None:
    verdicts = []
    for each in formula.comparisons(tree) or ():
        left, right = formula.value(each.left, scope), formula.value(each.comparators[0], scope)
        if np.isnan(left.values).any() or np.isnan(right.values).any():
            return None
        sign = formula.SIGNS[type(each.ops[0])]
        verdicts.append(_compared(left, sign, right, chance=scope.by_chance))
    return Verdict(overall(v.outcome for v in verdicts), "; ".join(v.detail for v in verdicts))


def overall(outcomes: Iterable[Outcome]) -> Outcome:
    """Outcome of several claims: one that is refuted refutes all."""
    found = set(outcomes)
    if "refuted" in found:
        return "refuted"
    return "undecided" if "undecided" in found else "held"


def _side(off: Interval, value: Interval, sign: str, *, chance: bool) -> Outcome:
    """On which side of nothing a difference is that has to be above it, by mean or by interval."""
    if off.low is None or off.high is None:
        if chance:
            return "undecided"
        above = off.mean > 0 if sign in "<>" else off.mean >= 0
        return "held" if above else "refuted"
    if sign in "<>":
        return "held" if off.low > 0 else "refuted" if off.high <= 0 else "undecided"
    if (value.half_width or 0.0) > abs(value.mean) and off.low < 0 <= off.high:
        return "undecided"
    if off.mean >= 0:
        return "held"
    return "refuted" if off.high < 0 else "undecided"


def _compared(left: Cells, sign: str, right: Cells, *, chance: bool) -> Verdict:
    """``<`` and ``>`` by the interval of the paired difference, ``<=`` and ``>=`` by the means."""
    ours, theirs = formula.matched(left, right)
    off = theirs - ours if sign in "<=" else ours - theirs
    values = np.broadcast_to(ours if left.values.shape[0] > 1 or ours.std() else theirs, off.shape)
    outcomes = [
        _side(mean_interval(row.tolist()), mean_interval(value.tolist()), sign, chance=chance)
        for row, value in zip(off, values, strict=True)
    ]
    held = [each == "held" for each in outcomes]
    names = left.names if len(left.values) > 1 else right.names
    alone = theirs.shape[1] == 1 or bool((theirs == theirs[:, :1]).all())
    if len(held) == 1:
        return Verdict(outcomes[0], _told(ours, theirs, alone=alone))
    shown = [mean_interval(row.tolist()) for row in (ours if alone else ours - theirs)]
    shown = shown * (len(held) if len(shown) == 1 else 1)
    detail = f"{sum(held)} of {len(held)}" + ("" if alone else ", differences")
    if len(held) <= _MOST_TOLD:
        named = zip(names or [""] * len(held), shown, strict=True)
        detail += ": " + ", ".join(f"{name} {_text(each)}" for name, each in named)
    else:
        means = [each.mean for each in shown]
        detail += f" from {min(means):.4g} to {max(means):.4g}"
    if alone and (theirs == theirs[0, 0]).all() and theirs[0, 0] != 0:
        detail += f"; {sign} {theirs[0, 0]:.4g} wanted"
    return Verdict(overall(outcomes), detail)


def _told(ours: Values, theirs: Values, *, alone: bool) -> str:
    """Both sides of a comparison, and their difference where both depend on the seed."""
    if alone:
        against = "" if theirs[0, 0] == 0 else f" against {theirs[0, 0]:.4g}"
        return _text(mean_interval(ours[0].tolist())) + against
    difference = mean_interval((ours - theirs)[0].tolist())
    return f"{ours.mean():.4g} against {theirs.mean():.4g}, difference {_text(difference)}"


def _text(interval: Interval) -> str:
    half = interval.half_width
    # No exponent where few seeds leave a wide interval.
    if not half:
        return f"{interval.mean:.4g}"
    return f"{interval.mean:.4g} ± " + (f"{half:.2g}" if half < 100 else f"{half:.0f}")

"""Claims: sentences of a document on its tables, as formulas that the computer judges.

A claim is judged on the values of every seed, which separates chance from effect. A value that is
claimed to be above or below (``>``, ``<``) is so in every cell by the 95 % interval of the
difference over paired seeds; ``>=`` and ``<=`` compare means, where a limit is given. A claim is
refuted where some interval lies wholly on the other side. It is undecided where none does and one
holds both sides, or holds anything: its half is larger than its mean. A single seed decides
nothing; published values are single too, and are judged without an interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from pydantic import model_validator

from trunkline.scenario.fields import make_invalid_error
from trunkline.stats import Interval, mean_interval
from trunkline.study.language import formula
from trunkline.study.language.formula import FormulaError, NamedValues, SeedValues
from trunkline.study.language.part import StudyPart

ClaimOutcome = Literal["held", "refuted", "undecided"]

_MAX_CELLS_DETAILED = 6  # Cells whose numbers are written out.


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """Outcome of a claim, and its numbers."""

    outcome: ClaimOutcome
    detail: str

    @property
    def is_held(self) -> bool:
        """Whether it held."""
        return self.outcome == "held"


class Claim(StudyPart):
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
        Unit of its values, for readers.
    """

    name: str
    says: str
    table: str | None = None
    that: str
    unit: str = ""

    @model_validator(mode="after")
    def _check_formula(self) -> Claim:
        try:
            formula.parse_formula(self.that, claim=True)
        except FormulaError as error:
            raise make_invalid_error(
                "expression", str(error), given=self.that, at=("that",)
            ) from None
        return self

    def list_tables(self, default_table: str) -> set[str]:
        """List the tables that its formula uses.

        default_table: Of columns that name none, where the claim names none either.
        """
        references = formula.iterate_references(formula.parse_formula(self.that, claim=True))
        return {name or self.table or default_table for name, _, _ in references}

    def compare(self, tables: TableValues) -> list[ComparedSides] | None:
        """Work out the sides of its comparisons; None if a value that it uses is not known."""
        scope = tables if self.table is None else replace(tables, default_table=self.table)
        comparisons = []
        for each in formula.list_comparisons(formula.parse_formula(self.that, claim=True)) or ():
            left = formula.evaluate_formula(each.left, scope)
            right = formula.evaluate_formula(each.comparators[0], scope)
            if np.isnan(left.values).any() or np.isnan(right.values).any():
                return None
            unit = get_difference_unit(self.unit) if formula.is_difference(each.left) else self.unit
            sign = formula.COMPARISON_SIGNS[type(each.ops[0])]
            comparisons.append(ComparedSides(left, sign, right, unit))
        return comparisons

    def judge(self, tables: TableValues) -> ClaimVerdict | None:
        """Judge it; None if a value that it uses is not known."""
        comparisons = self.compare(tables)
        if comparisons is None:
            return None
        judged = [
            _judge_comparison(each, is_chance_possible=tables.is_chance_possible)
            for each in comparisons
        ]
        # A unit that all share is written once.
        units = {each.unit for each in judged}
        details = [
            each.detail if len(units) == 1 else f"{each.detail} [{each.unit}]" for each in judged
        ]
        detail = "; ".join(details)
        if len(units) == 1 and self.unit:
            detail += f" [{judged[0].unit}]"
        return ClaimVerdict(combine_outcomes(each.outcome for each in judged), detail)


@dataclass(frozen=True, slots=True)
class ComparedSides:
    """A comparison of a claim: the values of both sides."""

    left: NamedValues
    sign: str
    right: NamedValues
    unit: str  # Of both sides.

    def list_differences(self) -> list[tuple[list[float], float]]:
        """List the cells: left less right, seed by seed, and the larger mean of the two sides."""
        sides = formula.match_values(self.left, self.right)
        differences = sides[0] - sides[1]
        left_means, right_means = (np.abs(side.mean(axis=1, keepdims=True)) for side in sides)
        sizes = np.broadcast_to(np.maximum(left_means, right_means), (len(differences), 1))
        return list(zip(differences.tolist(), sizes[:, 0].tolist(), strict=True))


@dataclass(frozen=True)
class TableValues:
    """The values that formulas refer to."""

    # shape (rows, seeds): Values in the unit of the cell.
    values: Mapping[tuple[str, str], SeedValues]
    rows: Mapping[str, Sequence[str]]  # Names of each table's rows.
    # Names that vary from row to row of a table.
    numbers: Mapping[str, Sequence[float]] = field(default_factory=dict)
    default_table: str = ""  # Table of columns that name none.
    # The values come out otherwise with other seeds; published ones do not.
    is_seed_dependent: bool = True

    @property
    def is_chance_possible(self) -> bool:
        """Whether a value without an interval may be chance: there is one seed, and not many.

        With several, a value without an interval is one of all seeds, such as a mean of theirs.
        """
        return self.is_seed_dependent and all(
            values.shape[1] == 1 for values in self.values.values()
        )

    def list_columns(self, table: str | None) -> list[str]:
        """List the names of a table's columns."""
        return [column for name, column in self.values if name == (table or self.default_table)]

    def get_cells(self, table: str | None, column: str) -> NamedValues:
        """Return the rows of a column."""
        name = table or self.default_table
        return NamedValues(self.values[name, column], tuple(self.rows[name]))

    def get_row_parameters(self, table: str | None) -> SeedValues:
        """Return the names that vary from row to row."""
        return np.array(self.numbers[table or self.default_table])


def get_difference_unit(unit: str) -> str:
    """Return the unit of a difference of two values.

    That of two shares is in points: 8.5 of them may be half of a share, or all of it.
    """
    return "points" if unit == "%" else unit


@dataclass(frozen=True, slots=True)
class _JudgedComparison:
    """Outcome of a comparison, its numbers, and their unit."""

    outcome: ClaimOutcome
    detail: str
    unit: str


def combine_outcomes(outcomes: Iterable[ClaimOutcome]) -> ClaimOutcome:
    """Outcome of several claims: one that is refuted refutes all."""
    found = set(outcomes)
    if "refuted" in found:
        return "refuted"
    return "undecided" if "undecided" in found else "held"


def _judge_difference(
    difference: Interval, value: Interval, sign: str, *, is_chance_possible: bool
) -> ClaimOutcome:
    """Judge whether a difference is above 0, by mean or by interval."""
    if difference.low is None or difference.high is None:
        if is_chance_possible:
            return "undecided"
        above = difference.mean > 0 if sign in "<>" else difference.mean >= 0
        return "held" if above else "refuted"
    if sign in "<>":
        return "held" if difference.low > 0 else "refuted" if difference.high <= 0 else "undecided"
    if (value.half_width or 0.0) > abs(value.mean) and difference.low < 0 <= difference.high:
        return "undecided"
    if difference.mean >= 0:
        return "held"
    return "refuted" if difference.high < 0 else "undecided"


def _judge_comparison(sides: ComparedSides, *, is_chance_possible: bool) -> _JudgedComparison:
    """``<`` and ``>`` by the interval of the paired difference, ``<=`` and ``>=`` by the means."""
    left, sign, right, unit = sides.left, sides.sign, sides.right, sides.unit
    left_values, right_values = formula.match_values(left, right)
    difference = right_values - left_values if sign in "<=" else left_values - right_values
    values = np.broadcast_to(
        left_values if left.values.shape[0] > 1 or left_values.std() else right_values,
        difference.shape,
    )
    outcomes = [
        _judge_difference(
            mean_interval(row.tolist()),
            mean_interval(value.tolist()),
            sign,
            is_chance_possible=is_chance_possible,
        )
        for row, value in zip(difference, values, strict=True)
    ]
    holds = [each == "held" for each in outcomes]
    names = left.names if len(left.values) > 1 else right.names
    has_single_reference = right_values.shape[1] == 1 or bool(
        (right_values == right_values[:, :1]).all()
    )
    shown_unit = unit if has_single_reference else get_difference_unit(unit)
    if len(holds) == 1:
        return _JudgedComparison(
            outcomes[0],
            _format_comparison(
                left_values,
                right_values,
                unit if unit != shown_unit else "",
                has_single_reference=has_single_reference,
            ),
            shown_unit,
        )
    intervals = [
        mean_interval(row.tolist())
        for row in (left_values if has_single_reference else left_values - right_values)
    ]
    intervals = intervals * (len(holds) if len(intervals) == 1 else 1)
    detail = f"{sum(holds)} of {len(holds)}" + ("" if has_single_reference else ", differences")
    if len(holds) <= _MAX_CELLS_DETAILED:
        named = zip(names or [""] * len(holds), intervals, strict=True)
        detail += ": " + ", ".join(f"{name} {_format_interval(each)}" for name, each in named)
    else:
        means = [each.mean for each in intervals]
        detail += f" from {min(means):.4g} to {max(means):.4g}"
    if (
        has_single_reference
        and (right_values == right_values[0, 0]).all()
        and right_values[0, 0] != 0
    ):
        detail += f"; {sign} {right_values[0, 0]:.4g} wanted"
    return _JudgedComparison(combine_outcomes(outcomes), detail, shown_unit)


def _format_comparison(
    left_values: SeedValues, right_values: SeedValues, unit: str, *, has_single_reference: bool
) -> str:
    """Format both sides of a comparison, and their difference where both depend on the seed.

    unit: Of the two sides where it is not that of the difference.
    """
    if has_single_reference:
        reference = "" if right_values[0, 0] == 0 else f" against {right_values[0, 0]:.4g}"
        return _format_interval(mean_interval(left_values[0].tolist())) + reference
    difference = mean_interval((left_values - right_values)[0].tolist())
    shown_unit = f" [{unit}]" if unit else ""
    return (
        f"{left_values.mean():.4g} against {right_values.mean():.4g}{shown_unit}, difference "
        f"{_format_interval(difference)}"
    )


def _format_interval(interval: Interval) -> str:
    half_width = interval.half_width
    # No exponent where few seeds leave a wide interval.
    if not half_width:
        return f"{interval.mean:.4g}"
    return f"{interval.mean:.4g} ± " + (
        f"{half_width:.2g}" if half_width < 100 else f"{half_width:.0f}"
    )

"""Criteria: a document's yes-or-no table, worked out from rates by explicit definitions.

Groups of columns have target rates. With the rate *r*, the target *t* and the number of flows *n*
of each column, and the capacity *c* that all share:

- ``achieves-target``: mean of *r* / *t*;
- ``share-of-excess``: mean of (*r* - *t*) / *f*, where *f* = (*c* - sum of all *t*) *n* / sum of
  all *n* is what a column would get of the excess if each flow got the same;
- ``fair-degradation``: (sum of *r* / sum of *t* in the group) / (the same over all columns), mean
  over the rows: 1 where the group loses in proportion to its targets.

Means are over the rows that the definition names and the columns of the group, then over the
tables of the criterion, or the least of these (``over: every``). The answer is yes where the
statistic is at least the threshold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from trunkline.scenario.fields import Whole
from trunkline.stats import Interval, mean_interval
from trunkline.study.language.claims import Values
from trunkline.study.language.part import Part

Columns = Mapping[tuple[str, str], Values]
Statistic = Literal["achieves-target", "share-of-excess", "fair-degradation"]


class Definition(Part):
    """How one criterion is worked out.

    Parameters
    ----------
    says : str
        The definition in words.
    statistic : {"achieves-target", "share-of-excess", "fair-degradation"}
        What is worked out of the rates.
    rows : list of str
        Rows over which it is the mean.
    at_least : float
        From where on the answer is yes.
    over : {"mean", "every"}
        What counts where a criterion speaks of several tables: their mean, or the least.
    """

    says: str
    statistic: Statistic
    rows: list[str]
    at_least: float
    over: Literal["mean", "every"] = "mean"


class Target(Part):
    """Target rate and flows of a column.

    Parameters
    ----------
    target : float, optional
        Target rate, in the unit of the columns; the row's parameter if left out.
    flows : int
        How many flows the column is of.
    """

    target: float | None = None
    flows: Annotated[int, Whole("the number of flows", 1, 2**31 - 1)]


class Answer(Part):
    """A published answer: a line of ``criteria.csv``.

    Parameters
    ----------
    case : str
        What the document calls the case.
    criterion, group : str
        Names of the definition and of the group of columns.
    tables : str
        Tables it speaks of, separated by spaces.
    published : {"yes", "no"}
        The answer.
    """

    case: str
    criterion: str
    group: str
    tables: str
    published: Literal["yes", "no"]


class Criteria(Part):
    """Definitions of the criteria of a study.

    Parameters
    ----------
    capacity : float
        What all columns share, in their unit.
    columns : dict of str to Target
        Every column.
    groups : dict of str to list of str
        Columns of each group.
    definitions : dict of str to Definition
        By the criterion's name.
    """

    capacity: Annotated[float, Field(gt=0)]
    columns: dict[str, Target]
    groups: dict[str, list[str]]
    definitions: dict[str, Definition]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A criterion: ours, what follows from the published rates, and what was published.

    Parameters
    ----------
    answer : Answer
        What was published.
    ours : Interval
        The statistic, its mean and interval over seeds.
    theirs : float or None
        The statistic of the published rates, if all that it needs were published.
    at_least : float
        From where on the answer is yes.
    """

    answer: Answer
    ours: Interval
    theirs: float | None
    at_least: float

    @property
    def yes(self) -> bool:
        """Our answer."""
        return self.ours.mean >= self.at_least

    @property
    def agrees(self) -> bool:
        """Whether it is the published one."""
        return self.yes == (self.answer.published == "yes")

    @property
    def published_agrees(self) -> bool | None:
        """Whether the published rates give the published answer under our definition."""
        if self.theirs is None:
            return None
        return (self.theirs >= self.at_least) == (self.answer.published == "yes")


def judge(
    criteria: Criteria,
    answers: Iterable[Answer],
    rows: Mapping[str, float],
    ours: Columns,
    published: Columns,
) -> list[Judgement]:
    """Judge every published answer.

    Parameters
    ----------
    rows : mapping of str to float
        Rows in order, with the target that is the row's parameter.
    ours, published : mapping of (table, column) to ndarray of shape (rows, seeds)
        Rates; not-a-number where nothing was published.
    """
    judged = []
    for answer in answers:
        definition = criteria.definitions[answer.criterion]
        fold = np.mean if definition.over == "mean" else np.min
        statistics = [
            fold(
                [_statistic(criteria, answer, rows, rates, t) for t in answer.tables.split()],
                axis=0,
            )
            for rates in (ours, published)
        ]
        theirs = float(statistics[1][0])
        judged.append(
            Judgement(
                answer,
                mean_interval(statistics[0].tolist()),
                None if np.isnan(theirs) else theirs,
                definition.at_least,
            )
        )
    return judged


def _statistic(
    criteria: Criteria, answer: Answer, rows: Mapping[str, float], rates: Columns, table: str
) -> Values:
    """One table's statistic, by seed."""
    definition = criteria.definitions[answer.criterion]
    chosen = [list(rows).index(row) for row in definition.rows]
    parameter = np.array(list(rows.values()))[chosen]
    targets = {
        name: np.full(len(chosen), each.target) if each.target is not None else parameter
        for name, each in criteria.columns.items()
    }
    group = criteria.groups[answer.group]
    rate = {name: rates[table, name][chosen] for name in criteria.columns}
    if definition.statistic == "achieves-target":
        parts = [rate[name] / targets[name][:, None] for name in group]
        return _mean(parts)
    if definition.statistic == "share-of-excess":
        excess = criteria.capacity - _sum(targets, list(targets))
        flows = sum(each.flows for each in criteria.columns.values())
        fair = {name: excess * criteria.columns[name].flows / flows for name in group}
        return _mean(
            [(rate[name] - targets[name][:, None]) / fair[name][:, None] for name in group]
        )
    own = _sum(rate, group) / _sum(targets, group)[:, None]
    every = _sum(rate, list(rate)) / _sum(targets, list(targets))[:, None]
    return _mean([own / every])


def _sum(values: Mapping[str, Values], names: list[str]) -> Values:
    total: Values = np.sum([values[name] for name in names], axis=0)
    return total


def _mean(parts: list[Values]) -> Values:
    mean: Values = np.mean(parts, axis=(0, 1))
    return mean

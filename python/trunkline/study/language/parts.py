"""The parts of a study file."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import Field, model_validator

from trunkline.scenario.fields import PlainInteger, Switch, make_invalid_error
from trunkline.study.language import grid as grids
from trunkline.study.language.grid import Axis
from trunkline.study.language.part import ParameterText, StudyPart
from trunkline.study.language.priors import ParameterPrior, Prior
from trunkline.study.language.study_columns import DigitCount, StudyColumn

RunCount = Annotated[int, PlainInteger("the number of runs", 1, 2**31 - 1)]
"""Replications of a point."""


class SourceDocument(StudyPart):
    """The document whose values are compared.

    Parameters
    ----------
    document, date : str
        Its name, and when it was published.
    about : str
        Authors, title, and where its values come from.
    """

    document: str
    date: str
    about: str


class TcScript(StudyPart):
    """A script of tc that configures routers in place of what the scenario says.

    Parameters
    ----------
    script : str
        File next to the study file.
    ports, conditioners : dict of str to str
        Those of the scenario to the device of the script that they are taken from, e.g.
        ``router: eth1`` and ``edge: eth0-ingress``.
    """

    script: str
    ports: dict[str, str] = {}
    conditioners: dict[str, str] = {}


class StudyCase(StudyPart):
    """One scenario, which gives one table.

    Parameters
    ----------
    title : str
        What it is.
    scenario : str
        File next to the study file.
    set : dict of str to str
        Parameters that this table sets besides those of the study.
    rows : dict of str to dict, optional
        Rows of its own: label to parameters.
    grid : dict, optional
        Axes of its own, in place of those of the study.
    runs : int, optional
        Replications of its points; when others are asked for, in the same proportion.
    columns : dict of str to StudyColumn, optional
        Columns of its own; an empty mapping for runs that are there for pictures only.
    keep : int
        So many of the first runs keep all their tables.
    published_runs : int
        Runs that each published value of its table is the mean of.
    """

    title: str
    scenario: str
    set: dict[str, ParameterText] = {}
    rows: dict[str, dict[str, ParameterText]] | None = None
    grid: dict[str, Axis] | None = None
    runs: RunCount | None = None
    columns: dict[str, StudyColumn] | None = None
    keep: Annotated[int, PlainInteger("the number of runs kept", 0, 2**31 - 1)] = 0
    published_runs: Annotated[int, PlainInteger("the number of published runs", 1, 2**31 - 1)] = 1

    @model_validator(mode="after")
    def _check_grid(self) -> StudyCase:
        grids.check_grid(self.grid or {}, (), None)
        return self


class StudyVariant(StudyPart):
    """Another reading: cases once more with something changed, each a table ``CASE, NAME``.

    Parameters
    ----------
    name : str
        What it is called.
    cases : list of str, optional
        Which; all if left out.
    set : dict of str to str
        Parameters; a case takes those that its scenario has.
    runs : int, optional
        Replications of its points; those of the case if left out.
    tc : TcScript, optional
        Routers configured by a script of tc.
    """

    name: str
    cases: list[str] | None = None
    set: dict[str, ParameterText] = {}
    runs: RunCount | None = None
    tc: TcScript | None = None


class GivenParameter(StudyPart):
    """A parameter that the document gives.

    Parameters
    ----------
    parameter, value : str
        Parameter of the scenarios, and what it is.
    where : str
        Where the document says so.
    """

    parameter: str
    value: ParameterText
    where: str


class FittedParameter(StudyPart):
    """A parameter that the document leaves unsaid.

    Parameters
    ----------
    parameter, value : str
        What it is called, and what it is taken to be.
    reason : str
        Why this value.
    set : bool
        Whether it is a parameter of the scenarios, or something that they say.
    cases : list of str, optional
        Cases whose scenarios have the parameter; all if left out.
    others : list of str
        Other values that a fit tries where there is no `prior`.
    prior : list of str, range or normal law, optional
        What it may be, for ``trunkline study fit``: a list of readings, each as likely;
        ``{from: 1 ms, to: 10 ms}``, with ``scale: log`` or a ``step`` where wanted; or
        ``{mean: 5 ms, deviation: 1 ms}``. The value and the others if left out.
    """

    parameter: str
    value: ParameterText
    reason: str
    set: Switch = True
    cases: list[str] | None = None
    others: list[ParameterText] = []
    prior: Prior | None = None

    def find_prior(self) -> ParameterPrior | None:
        """Find the prior of a parameter; None where the file has a single value."""
        if self.prior is not None:
            return ParameterPrior(self.prior)
        return ParameterPrior([self.value, *self.others]) if self.others and self.set else None


class FitSettings(StudyPart):
    """Settings with which ``trunkline study fit`` infers fitted parameters from published values.

    Parameters
    ----------
    tables : list of str, optional
        Published tables that count; all if left out.
    rows : list of str, optional
        Published rows that count; those that are judged if left out.
    points : list of str, optional
        Points that trials run, by the names of their rows; all if left out. Values of other points
        are not fitted: what a fit says of them is a prediction.
    set : dict of str to str
        Parameters of trials alone, such as a shorter run.
    runs : int
        Replications of each point of each trial, from which the run-to-run spread is measured.
    variants : list of str
        Variants that are readings of the document: each trial runs one of them, or none, in the
        cases that they are of.
    misfit : bool
        Whether something may be left that no setting explains, a share of each value.
    parameters : list of FittedParameter
        Parameters that the scenarios set themselves and that fits infer too, with the value that
        the scenarios have.
    """

    tables: list[str] | None = None
    rows: list[str] | None = None
    points: list[str] | None = None
    set: dict[str, ParameterText] = {}
    runs: Annotated[int, PlainInteger("the replications of a trial", 2, 1000)] = 2
    variants: list[str] = []
    misfit: Switch = True
    parameters: list[FittedParameter] = []


class DocumentSentence(StudyPart):
    """A sentence of the document about its results, and the formula that judges it.

    Parameters
    ----------
    where : str
        Section, table, figure or slide of the document.
    says : str
        The sentence, in words of one's own.
    claims : list of str
        Claims that judge it.
    because : str
        Why it cannot be a claim; given where nothing judges it.
    """

    where: str
    says: str
    claims: list[str] = []
    because: str = ""

    @model_validator(mode="after")
    def _check_claims_or_reason(self) -> DocumentSentence:
        if bool(self.claims) == bool(self.because):
            message = "needs either claims or because"
            raise make_invalid_error("expression", message, given=self.says)
        return self


class PublishedValue(StudyPart):
    """A published value: a line of ``published.csv``.

    Parameters
    ----------
    table, row, column : str
        Which cell.
    value : float
        Its value, in the unit of the cell.
    doubt : str
        Why the value is thought to be a misprint or an accident; empty if it is not.
    rounded_to : float, optional
        What the value is a multiple of, in its unit; the place of its last digit if left out, so
        that 1.50 is rounded to 0.01.
    """

    table: str
    row: str
    column: str
    value: float
    doubt: str = ""
    rounded_to: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_last_digit(cls, cells: Any) -> Any:
        """Before the text of the value becomes a number, its last digit shows its rounding."""
        if not isinstance(cells, dict) or cells.get("rounded_to"):
            return cells
        try:
            exponent = Decimal(str(cells.get("value")).strip()).as_tuple().exponent
        except InvalidOperation:
            exponent = 0
        last_place = 10.0**exponent if isinstance(exponent, int) else None
        return {**cells, "rounded_to": last_place}


class DocumentReading(StudyPart):
    """Another way to read the document, with an error of its own.

    Parameters
    ----------
    says : str
        How it is read.
    instead : dict of str to str
        Published table to the table of ours that it is compared with.
    columns : dict of str to str
        Published column to the column of ours that it is compared with.
    tables : list of str, optional
        Published tables that count; all if left out.
    variant : str
        Variant of the study that makes it a fitted reading: its tables are compared in place of
        those as stated, and the claims are judged on them too.
    reason : str
        Why, for a variant: what prefers its values, and what the document has against them.
    """

    says: str
    instead: dict[str, str] = {}
    columns: dict[str, str] = {}
    tables: list[str] | None = None
    variant: str = ""
    reason: str = ""

    @model_validator(mode="after")
    def _check_variant_and_reason(self) -> DocumentReading:
        if bool(self.variant) != bool(self.reason):
            message = "a reading has both variant and reason, or neither"
            raise make_invalid_error("relation", message, given=self.says)
        return self

    def find_source(self, table: str, row: str, column: str) -> tuple[str, str, str]:
        """The cell of ours that a published one is compared with."""
        return self.instead.get(table, table), row, self.columns.get(column, column)


class OverviewCell(StudyPart):
    """A cell of an overview.

    Parameters
    ----------
    column, row : str
        Which cell of a table.
    table : str
        Of which; that of the line if left out.
    error : str
        In their place: a row, for the mean distance of its cells from what was published.
    digits : int
        Digits after the point.
    """

    column: str = ""
    row: str = ""
    table: str = ""
    error: str = ""
    digits: DigitCount = 2


class OverviewLine(StudyPart):
    """A line of an overview.

    Parameters
    ----------
    name : str
        What it is called.
    tables : list of str
        Cases that it is about; cells are taken from the first.
    variant : str
        Which variant of them; the cases themselves if left out.
    """

    name: str
    tables: Annotated[list[str], Field(min_length=1)]
    variant: str = ""


class Overview(StudyPart):
    """A table that is shown: some cells of several tables, a line for each.

    Parameters
    ----------
    title : str
        Heading, with the unit.
    cells : dict of str to OverviewCell
        Heading of each column to the cell.
    lines : list of OverviewLine
        What is set side by side.
    published : bool
        Whether the published values of the first line are above.
    """

    title: str
    cells: Annotated[dict[str, OverviewCell], Field(min_length=1)]
    lines: Annotated[list[OverviewLine], Field(min_length=1)]
    published: Switch = False


@dataclass(frozen=True)
class StudyTable:
    """A case, or a variant of one, with what it takes from the study."""

    # name, title: Its name and what it is.
    name: str
    title: str
    base: str  # Name of the case.
    case: StudyCase  # The case.
    variant: StudyVariant | None  # The variant.
    points: dict[str, dict[str, str]]  # Label of each point to its parameters.
    # Label of each row to its point and measure; the measure is empty where columns are measures.
    rows: dict[str, tuple[str, str]]
    columns: dict[str, StudyColumn]  # Columns.
    runs: int  # Replications.

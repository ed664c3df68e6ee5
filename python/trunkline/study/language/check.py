"""Whether what a study file says fits together: all names stand for something."""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from trunkline import network as networks
from trunkline.results import SCHEMAS
from trunkline.results.causes import CAUSES
from trunkline.results.tables import column as column_of
from trunkline.scenario.diagnostic import Path, nearest
from trunkline.scenario.problems import Problems
from trunkline.study.errors import Refused
from trunkline.study.language import formula
from trunkline.study.language.draws import Draw, drawn, written
from trunkline.study.language.formula import FormulaError
from trunkline.study.language.loading import parameters, scenario_of
from trunkline.study.language.model import Study
from trunkline.study.language.over_time import OverTime
from trunkline.study.language.parts import Fitted, Table, Variant
from trunkline.study.language.pictures import (
    Distribution,
    Lines,
    Picture,
    RedCurves,
    TimeSequence,
)
from trunkline.study.language.values import Column
from trunkline.study.run.measure import MANY

_MOST_LISTED = 40
"""Names that a message lists."""


def check(study: Study, problems: Problems) -> None:
    """Check a whole study.

    Parameters
    ----------
    study : Study
        A study whose every key is of the right kind.
    problems : Problems
        Gets what is wrong.
    """
    _cases(study, problems)
    _values(study, problems)
    all_known(problems, ("kernel",), study.kernel, [each.parameter for each in study.fitted])
    if problems.errors:
        return
    if _names_cells(study):
        tables = {table.name: table for table in study.tables()}
        _published(study, tables, problems)
        _claims(study, tables, problems)
        _sentences(study, problems)
        _overviews(study, tables, problems)
        _pictures(study, tables, problems)
        rows = {row for table in tables.values() for row in table.rows}
        all_known(problems, ("judged",), study.judged, rows)
    if not problems.errors:
        _scenarios(study, problems)


def _names_cells(study: Study) -> bool:
    """Whether anything is said of rows, which for many points take long to make."""
    said = (study.published, study.claims, study.overviews, study.pictures)
    return any(said) or bool(study.judged)


def all_known(problems: Problems, at: Path, names: Iterable[str], known: Iterable[str]) -> bool:
    """Whether all names are known; those that are not are reported.

    Parameters
    ----------
    problems : Problems
        Gets what is not known.
    """
    there = dict.fromkeys(known)
    missing = [name for name in names if name not in there]
    for name in missing:
        listed = list(itertools.islice(there, _MOST_LISTED))
        problems.add(
            "reference",
            at,
            f"there is no {name!r} here",
            given=name,
            allowed=", ".join([*listed, *(["..."] if len(there) > len(listed) else [])]),
            hint=nearest(name, there),
        )
    return not missing


def _cases(study: Study, problems: Problems) -> None:
    """Cases that variants, draws, fitted values and readings speak of; no table twice."""
    parts: dict[str, Sequence[Variant | Draw | Fitted]]
    parts = {"variants": study.variants, "draws": study.draws, "fitted": study.fitted}
    for key, items in parts.items():
        for index, item in enumerate(items):
            all_known(problems, (key, index, "cases"), item.cases or (), study.cases)
    taken = set(study.cases)
    for index, variant in enumerate(study.variants):
        for name in variant.cases or study.cases:
            table = f"{name}, {variant.name}"
            if table in taken:
                message = f"two tables are called {table!r}"
                problems.add("duplicate-name", ("variants", index, "name"), message)
            taken.add(table)
    for index, reading in enumerate(study.readings):
        at: Path = ("readings", index)
        all_known(problems, (*at, "tables"), reading.tables or (), study.cases)
        all_known(problems, (*at, "instead"), reading.instead, study.cases)
        for name, own in reading.instead.items():
            all_known(problems, (*at, "instead", name), [own], taken)


def _values(study: Study, problems: Problems) -> None:
    """Columns and measures: each is got in one way, and formulas speak of what is there."""
    if not study.columns and any(case.columns is None for case in study.cases.values()):
        problems.add("missing-key", ("columns",), "columns is missing", at_key=True)
    for at, measures, columns in _families(study):
        family = measures or columns
        try:
            formula.in_order({name: its.value for name, its in family.items() if its.value})
        except FormulaError as error:
            problems.add("expression", at, str(error))
            continue
        known = [formula.identifier(name) for name in family]
        for place, its in _each(at, measures, columns):
            if its.fault():
                message = f"{place[-1]}: {its.fault()}"
                problems.add("missing-key", place, message, at_key=True)
            elif its.measure is not None:
                _measured(its, place, problems)
            spoken = [name for name in _spoken(its.value) if measures or name != formula.PARAMETER]
            all_known(problems, (*place, "value"), spoken, known)


def _measured(its: Column, place: Path, problems: Problems) -> None:
    """See whether the table of results has such columns."""
    if all_known(problems, (*place, "table"), [its.table], SCHEMAS):
        names = [field.name for field in SCHEMAS[its.table]]
        all_known(problems, (*place, "measure"), [str(its.measure)], names)
        all_known(problems, (*place, "where"), its.where, names)
        many = any(name.endswith(MANY) for name in its.where.values())
        if its.table == "drops" and "cause" in its.where:
            all_known(problems, (*place, "where", "cause"), [its.where["cause"]], CAUSES)
        if many and its.over is None and its.measure in names:
            field = column_of(its.table, its.measure)
            if not field.adds_up:
                message = f"{place[-1]}: over is missing, as {its.measure} of many flows has no sum"
                allowed = "over: mean, min, max or p95"
                problems.add("missing-key", place, message, at_key=True, allowed=allowed)


def _families(study: Study) -> Iterator[tuple[Path, Mapping[str, Column], Mapping[str, Column]]]:
    """Place, measures and columns of the study and of each case that has its own."""
    yield ("columns",), study.measures, study.columns
    for name, case in study.cases.items():
        if case.columns is not None:
            yield ("cases", name, "columns"), {}, case.columns


def _each(
    at: Path, measures: Mapping[str, Column], columns: Mapping[str, Column]
) -> Iterator[tuple[Path, Column]]:
    """Place of every measure, or of every column if there are none, and how it is got."""
    if not measures:
        for name, column in columns.items():
            yield (*at, name), column
        return
    for name, measure in measures.items():
        # A fault of the measure shows in each column; it is reported once.
        its = [column.picks(measure) for column in columns.values()]
        wrong = next((each for each in its if each.fault()), None)
        if wrong is not None or its:
            yield ("measures", name), wrong or its[0]


def _spoken(value: str | None) -> list[str]:
    """Columns of its own table that a formula speaks of."""
    if value is None:
        return []
    return [column for _, column, _ in formula.references(formula.parse(value, claim=False))]


def _shown(study: Study, table: Table) -> set[tuple[str, str]]:
    """Measure and column of the cells that are numbers and are shown."""
    measures = dict.fromkeys(measure for _, measure in table.rows.values())
    first = {measure: row for row, (_, measure) in reversed(table.rows.items())}
    found = set()
    for measure in measures:
        for name in table.columns:
            its = study.column(table, first[measure], name)
            if not its.hidden and not its.listed:
                found.add((measure, name))
    return found


def _cells(
    problems: Problems,
    at: Path,
    study: Study,
    table: Table,
    rows: Collection[str],
    columns: Collection[str],
) -> None:
    """See whether a table has such cells to show."""
    known = all_known(problems, at, rows, table.rows)
    if not all_known(problems, at, columns, table.columns) or not known:
        return
    shown = _shown(study, table)
    for row in rows:
        for name in columns:
            if (table.rows[row][1], name) not in shown:
                message = f"cell {row}, {name} of table {table.name} is hidden, or all samples"
                problems.add("reference", at, message)


def _published(study: Study, tables: Mapping[str, Table], problems: Problems) -> None:
    shown = {name: _shown(study, tables[name]) for name in study.cases} if study.published else {}
    for index, cell in enumerate(study.published):
        table = tables.get(cell.table) if cell.table in shown else None
        measure = table and table.rows.get(cell.row, ("", None))[1]
        if (measure, cell.column) not in shown.get(cell.table, ()):
            message = f"published cell {cell.table}, {cell.row}, {cell.column} is not in the study"
            problems.add("reference", ("published", index), message)


def _claims(study: Study, tables: Mapping[str, Table], problems: Problems) -> None:
    for index, claim in enumerate(study.claims):
        at: Path = ("claims", index)
        own = claim.table or next(iter(tables))
        if not all_known(problems, (*at, "table"), [own], tables):
            continue
        at = (*at, "that")
        for name, column, rows in formula.references(formula.parse(claim.that, claim=True)):
            if not all_known(problems, at, [name or own], tables):
                continue
            table = tables[name or own]
            columns = [*(formula.identifier(each) for each in table.columns), formula.EVERY]
            if all_known(problems, at, [column], columns):
                all_known(problems, at, rows, table.rows)


def _sentences(study: Study, problems: Problems) -> None:
    """Sentences name claims that exist; where there are sentences, each claim is of one of them."""
    names = [claim.name for claim in study.claims]
    for index, each in enumerate(study.sentences):
        all_known(problems, ("sentences", index, "claims"), each.claims, names)
    judging = {name for each in study.sentences for name in each.claims}
    for index, name in enumerate(names):
        if study.sentences and name not in judging:
            message = f"claim {name} judges no sentence"
            problems.add("reference", ("claims", index, "name"), message, given=name)


def _overviews(study: Study, tables: Mapping[str, Table], problems: Problems) -> None:
    for index, overview in enumerate(study.overviews):
        at: Path = ("overviews", index)
        for number, line in enumerate(overview.lines):
            named = [f"{name}, {line.variant}" if line.variant else name for name in line.tables]
            if not all_known(problems, (*at, "lines", number), named, tables):
                continue
            for head, cell in overview.cells.items():
                here = (*at, "cells", head)
                own = [f"{cell.table}, {line.variant}" if line.variant else cell.table]
                if cell.table and not all_known(problems, here, own, tables):
                    continue
                table = tables[own[0] if cell.table else named[0]]
                if cell.error:
                    all_known(problems, here, [cell.error], table.rows)
                else:
                    _cells(problems, here, study, table, [cell.row], [cell.column])


def _pictures(study: Study, tables: Mapping[str, Table], problems: Problems) -> None:
    for name, picture in (study.pictures or {}).items():
        at: Path = ("pictures", name)
        if isinstance(picture, Lines | RedCurves):
            key, of = "tables", [*picture.tables]
        else:
            key, of = "table", [picture.table]
        if all_known(problems, (*at, key), of, tables):
            _picture(picture, at, study, [tables[each] for each in of], problems)


def _picture(
    picture: Picture, at: Path, study: Study, tables: list[Table], problems: Problems
) -> None:
    table = tables[0]
    match picture:
        case Lines():
            for each in tables:
                rows = picture.rows or table.rows
                _cells(problems, at, study, each, rows, picture.columns)
        case Distribution():
            all_known(problems, (*at, "column"), [picture.column], table.columns)
            all_known(problems, (*at, "rows"), picture.rows, table.rows)
        case OverTime() if picture.columns:
            listed = [column for column, its in table.columns.items() if its.listed]
            all_known(problems, (*at, "columns"), picture.columns, listed)
        case OverTime() | TimeSequence():
            if table.variant is not None or not table.case.keep:
                message = f"the runs of table {table.name} are not kept"
                hint = f"say keep: 1 in case {table.base}, and draw that"
                problems.add("relation", (*at, "table"), message, hint=hint)


def _scenarios(study: Study, problems: Problems) -> None:
    """What is drawn and what variants set is in the scenarios."""
    for index, draw in enumerate(study.draws):
        for name in draw.cases or study.cases:
            table = study.table(name)
            scenario = scenario_of(study, table, next(iter(table.points.values())))
            try:
                drawn(networks.compile(scenario).to_json(), written(study.name, [draw]), 1)
            except Refused as error:
                problems.add("reference", ("draws", index), str(error))
                break
    for index, variant in enumerate(study.variants):
        names = [name for name in variant.set if "." not in name]
        if not names:
            continue
        known: dict[str, None] = {}
        for case in variant.cases or study.cases:
            file = study.folder / study.cases[case].scenario
            known |= dict.fromkeys(sorted(parameters(file)))
        for name in names:
            all_known(problems, ("variants", index, "set", name), [name], known)

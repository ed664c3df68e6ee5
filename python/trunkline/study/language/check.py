"""Checks of a study file: every name refers to something."""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from trunkline import network as networks
from trunkline.results import SCHEMAS
from trunkline.results.drop_causes import DROP_CAUSES
from trunkline.results.schemas import find_field as column_of
from trunkline.scenario.diagnostic import DocumentPath, suggest_nearest
from trunkline.scenario.problems import Problems
from trunkline.study.errors import StudyError
from trunkline.study.language import formula
from trunkline.study.language.formula import FormulaError
from trunkline.study.language.model import Study
from trunkline.study.language.over_time import OverTimePicture
from trunkline.study.language.parts import FittedParameter, StudyTable, StudyVariant
from trunkline.study.language.pictures import (
    DistributionPicture,
    LinesPicture,
    Picture,
    RedCurvesPicture,
    TimeSequencePicture,
)
from trunkline.study.language.point_scenarios import list_parameters, load_point_scenario
from trunkline.study.language.random_draws import RandomDraw, apply_draws, serialise_draws
from trunkline.study.language.study_columns import StudyColumn
from trunkline.study.run.run_measures import WILDCARD_SUFFIX

_MAX_NAMES_LISTED = 40  # Names that a message lists.


def check_study(study: Study, problems: Problems) -> None:
    """Check a whole study.

    study: A study whose every key is of the right kind.
    problems: Gets what is wrong.
    """
    _check_cases(study, problems)
    _check_values(study, problems)
    check_names_known(
        problems, ("kernel",), study.kernel, [each.parameter for each in study.fitted]
    )
    check_names_known(problems, ("fit", "tables"), study.fit.tables or (), study.cases)
    check_names_known(
        problems, ("fit", "variants"), study.fit.variants, [each.name for each in study.variants]
    )
    if study.fit.points is not None:
        labels = dict.fromkeys(label for name in study.cases for label in study.list_points(name))
        check_names_known(problems, ("fit", "points"), study.fit.points, labels)
    if problems.has_errors:
        return
    if _refers_to_cells(study):
        tables = {table.name: table for table in study.list_tables()}
        _check_published(study, tables, problems)
        _check_claims(study, tables, problems)
        _check_sentences(study, problems)
        _check_overviews(study, tables, problems)
        _check_pictures(study, tables, problems)
        rows = {row for table in tables.values() for row in table.rows}
        check_names_known(problems, ("judged",), study.judged, rows)
        check_names_known(problems, ("fit", "rows"), study.fit.rows or (), rows)
    if not problems.has_errors:
        _check_scenarios(study, problems)


def _refers_to_cells(study: Study) -> bool:
    """Whether any key refers to rows, which for many points take long to make."""
    parts_with_cells = (study.published, study.claims, study.overviews, study.pictures)
    return any(parts_with_cells) or bool(study.judged)


def check_names_known(
    problems: Problems, at: DocumentPath, names: Iterable[str], known: Iterable[str]
) -> bool:
    """Whether all names are known; those that are not are reported.

    problems: Gets what is not known.
    """
    known_names = dict.fromkeys(known)
    missing = [name for name in names if name not in known_names]
    for name in missing:
        listed = list(itertools.islice(known_names, _MAX_NAMES_LISTED))
        problems.add(
            "reference",
            at,
            f"there is no {name!r} here",
            given=name,
            allowed=", ".join([*listed, *(["..."] if len(known_names) > len(listed) else [])]),
            hint=suggest_nearest(name, known_names),
        )
    return not missing


def _check_cases(study: Study, problems: Problems) -> None:
    """Cases that variants, draws, fitted values and readings refer to; no table twice."""
    parts: dict[str, Sequence[StudyVariant | RandomDraw | FittedParameter]]
    parts = {"variants": study.variants, "draws": study.draws, "fitted": study.fitted}
    for key, items in parts.items():
        for index, item in enumerate(items):
            check_names_known(problems, (key, index, "cases"), item.cases or (), study.cases)
    for index, item in enumerate(study.fit.parameters):
        place: DocumentPath = ("fit", "parameters", index, "cases")
        check_names_known(problems, place, item.cases or (), study.cases)
    table_names = set(study.cases)
    for index, variant in enumerate(study.variants):
        for name in variant.cases or study.cases:
            table = f"{name}, {variant.name}"
            if table in table_names:
                message = f"two tables are called {table!r}"
                problems.add("duplicate-name", ("variants", index, "name"), message)
            table_names.add(table)
    variant_names = [variant.name for variant in study.variants]
    for index, reading in enumerate(study.readings):
        at: DocumentPath = ("readings", index)
        if reading.variant:
            check_names_known(problems, (*at, "variant"), [reading.variant], variant_names)
        check_names_known(problems, (*at, "tables"), reading.tables or (), study.cases)
        check_names_known(problems, (*at, "instead"), reading.instead, study.cases)
        for name, replacement in reading.instead.items():
            check_names_known(problems, (*at, "instead", name), [replacement], table_names)
        for name, replacement in reading.columns.items():
            known = {each for case in study.cases.values() for each in case.columns or ()}
            known |= set(study.columns)
            check_names_known(problems, (*at, "columns", name), [name, replacement], known)


def _check_values(study: Study, problems: Problems) -> None:
    """Columns and measures: each has one source, and formulas refer to those that exist."""
    if not study.columns and any(case.columns is None for case in study.cases.values()):
        problems.add("missing-key", ("columns",), "columns is missing", at_key=True)
    for at, measures, columns in _iterate_column_families(study):
        family = measures or columns
        try:
            formula.order_by_dependency(
                {name: column.value for name, column in family.items() if column.value}
            )
        except FormulaError as error:
            problems.add("expression", at, str(error))
            continue
        known = [formula.to_identifier(name) for name in family]
        for place, column in _iterate_family_columns(at, measures, columns):
            if column.describe_fault():
                message = f"{place[-1]}: {column.describe_fault()}"
                problems.add("missing-key", place, message, at_key=True)
            elif column.measure is not None:
                _check_result_columns(column, place, problems)
            referenced = [
                name
                for name in _list_referenced_columns(column.value)
                if measures or name != formula.ROW_PARAMETER
            ]
            check_names_known(problems, (*place, "value"), referenced, known)


def _check_result_columns(column: StudyColumn, place: DocumentPath, problems: Problems) -> None:
    """Check that the table of results has such columns."""
    if check_names_known(problems, (*place, "table"), [column.table], SCHEMAS):
        names = [field.name for field in SCHEMAS[column.table]]
        check_names_known(problems, (*place, "measure"), [str(column.measure)], names)
        check_names_known(problems, (*place, "where"), column.where, names)
        has_wildcard = any(name.endswith(WILDCARD_SUFFIX) for name in column.where.values())
        if column.table == "drops" and "cause" in column.where:
            check_names_known(
                problems, (*place, "where", "cause"), [column.where["cause"]], DROP_CAUSES
            )
        if has_wildcard and column.over is None and column.measure in names:
            field = column_of(column.table, column.measure)
            if not field.is_summable:
                message = (
                    f"{place[-1]}: over is missing, as {column.measure} of many flows has no sum"
                )
                allowed = "over: mean, min, max or p95"
                problems.add("missing-key", place, message, at_key=True, allowed=allowed)


def _iterate_column_families(
    study: Study,
) -> Iterator[tuple[DocumentPath, Mapping[str, StudyColumn], Mapping[str, StudyColumn]]]:
    """Yield the place, measures and columns of the study and of each case that has its own."""
    yield ("columns",), study.measures, study.columns
    for name, case in study.cases.items():
        if case.columns is not None:
            yield ("cases", name, "columns"), {}, case.columns


def _iterate_family_columns(
    at: DocumentPath, measures: Mapping[str, StudyColumn], columns: Mapping[str, StudyColumn]
) -> Iterator[tuple[DocumentPath, StudyColumn]]:
    """Yield the place of every measure, or of every column if there are none, and how it is got."""
    if not measures:
        for name, column in columns.items():
            yield (*at, name), column
        return
    for name, measure in measures.items():
        # A fault of the measure shows in each column; it is reported once.
        merged = [column.merge_measure(measure) for column in columns.values()]
        wrong = next((each for each in merged if each.describe_fault()), None)
        if wrong is not None or merged:
            yield ("measures", name), wrong or merged[0]


def _list_referenced_columns(value: str | None) -> list[str]:
    """List the columns of its own table that a formula uses."""
    if value is None:
        return []
    return [
        column
        for _, column, _ in formula.iterate_references(formula.parse_formula(value, claim=False))
    ]


def _list_displayed_cells(study: Study, table: StudyTable) -> set[tuple[str, str]]:
    """Measure and column of the cells that are numbers and are shown."""
    measures = dict.fromkeys(measure for _, measure in table.rows.values())
    first = {measure: row for row, (_, measure) in reversed(table.rows.items())}
    displayed = set()
    for measure in measures:
        for name in table.columns:
            column = study.find_column(table, first[measure], name)
            if not column.hidden and not column.is_sample_list:
                displayed.add((measure, name))
    return displayed


def _check_cells(
    problems: Problems,
    at: DocumentPath,
    study: Study,
    table: StudyTable,
    rows: Collection[str],
    columns: Collection[str],
) -> None:
    """Check that a table has such cells to show."""
    known = check_names_known(problems, at, rows, table.rows)
    if not check_names_known(problems, at, columns, table.columns) or not known:
        return
    displayed = _list_displayed_cells(study, table)
    for row in rows:
        for name in columns:
            if (table.rows[row][1], name) not in displayed:
                message = f"cell {row}, {name} of table {table.name} is hidden, or all samples"
                problems.add("reference", at, message)


def _check_published(study: Study, tables: Mapping[str, StudyTable], problems: Problems) -> None:
    displayed = (
        {name: _list_displayed_cells(study, tables[name]) for name in study.cases}
        if study.published
        else {}
    )
    for index, cell in enumerate(study.published):
        table = tables.get(cell.table) if cell.table in displayed else None
        measure = table and table.rows.get(cell.row, ("", None))[1]
        if (measure, cell.column) not in displayed.get(cell.table, ()):
            message = f"published cell {cell.table}, {cell.row}, {cell.column} is not in the study"
            problems.add("reference", ("published", index), message)


def _check_claims(study: Study, tables: Mapping[str, StudyTable], problems: Problems) -> None:
    for index, claim in enumerate(study.claims):
        at: DocumentPath = ("claims", index)
        default_table = claim.table or next(iter(tables))
        if not check_names_known(problems, (*at, "table"), [default_table], tables):
            continue
        at = (*at, "that")
        for name, column, rows in formula.iterate_references(
            formula.parse_formula(claim.that, claim=True)
        ):
            if not check_names_known(problems, at, [name or default_table], tables):
                continue
            table = tables[name or default_table]
            columns = [
                *(formula.to_identifier(each) for each in table.columns),
                formula.EVERY_COLUMN,
            ]
            if check_names_known(problems, at, [column], columns):
                check_names_known(problems, at, rows, table.rows)


def _check_sentences(study: Study, problems: Problems) -> None:
    """Sentences name claims that exist; where there are sentences, each claim is of one of them."""
    names = [claim.name for claim in study.claims]
    for index, each in enumerate(study.sentences):
        check_names_known(problems, ("sentences", index, "claims"), each.claims, names)
    judging = {name for each in study.sentences for name in each.claims}
    for index, name in enumerate(names):
        if study.sentences and name not in judging:
            message = f"claim {name} judges no sentence"
            problems.add("reference", ("claims", index, "name"), message, given=name)


def _check_overviews(study: Study, tables: Mapping[str, StudyTable], problems: Problems) -> None:
    for index, overview in enumerate(study.overviews):
        at: DocumentPath = ("overviews", index)
        for number, line in enumerate(overview.lines):
            named = [f"{name}, {line.variant}" if line.variant else name for name in line.tables]
            if not check_names_known(problems, (*at, "lines", number), named, tables):
                continue
            for head, cell in overview.cells.items():
                cell_path = (*at, "cells", head)
                table_names = [f"{cell.table}, {line.variant}" if line.variant else cell.table]
                if cell.table and not check_names_known(problems, cell_path, table_names, tables):
                    continue
                table = tables[table_names[0] if cell.table else named[0]]
                if cell.error:
                    check_names_known(problems, cell_path, [cell.error], table.rows)
                else:
                    _check_cells(problems, cell_path, study, table, [cell.row], [cell.column])


def _check_pictures(study: Study, tables: Mapping[str, StudyTable], problems: Problems) -> None:
    for name, picture in (study.pictures or {}).items():
        at: DocumentPath = ("pictures", name)
        if isinstance(picture, LinesPicture | RedCurvesPicture | DistributionPicture):
            key, table_names = "tables", [*picture.tables]
        else:
            key, table_names = "table", [picture.table]
        if check_names_known(problems, (*at, key), table_names, tables):
            _check_picture(picture, at, study, [tables[each] for each in table_names], problems)


def _check_picture(
    picture: Picture, at: DocumentPath, study: Study, tables: list[StudyTable], problems: Problems
) -> None:
    table = tables[0]
    match picture:
        case LinesPicture():
            for each in tables:
                rows = picture.rows or table.rows
                _check_cells(problems, at, study, each, rows, picture.columns)
        case DistributionPicture():
            for each in tables:
                check_names_known(problems, (*at, "column"), [picture.column], each.columns)
                check_names_known(problems, (*at, "rows"), picture.rows or table.rows, each.rows)
        case OverTimePicture() if picture.columns:
            listed = [
                column
                for column, table_column in table.columns.items()
                if table_column.is_sample_list
            ]
            check_names_known(problems, (*at, "columns"), picture.columns, listed)
        case OverTimePicture() | TimeSequencePicture():
            if table.variant is not None or not table.case.keep:
                message = f"the runs of table {table.name} are not kept"
                hint = f"say keep: 1 in case {table.base}, and draw that"
                problems.add("relation", (*at, "table"), message, hint=hint)


def _check_scenarios(study: Study, problems: Problems) -> None:
    """Check that random draws and values of variants are in the scenarios."""
    for index, draw in enumerate(study.draws):
        for name in draw.cases or study.cases:
            table = study.find_table(name)
            scenario = load_point_scenario(study, table, next(iter(table.points.values())))
            try:
                apply_draws(
                    networks.compile(scenario).to_json(), serialise_draws(study.name, [draw]), 1
                )
            except StudyError as error:
                problems.add("reference", ("draws", index), str(error))
                break
    for index, variant in enumerate(study.variants):
        names = [name for name in variant.set if "." not in name]
        if not names:
            continue
        known: dict[str, None] = {}
        for case in variant.cases or study.cases:
            file = study.folder / study.cases[case].scenario
            known |= dict.fromkeys(sorted(list_parameters(file)))
        for name in names:
            check_names_known(problems, ("variants", index, "set", name), [name], known)

"""A reproduction as one JSON object, and its overviews as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from trunkline.study.language.claims import combine_outcomes, get_difference_unit
from trunkline.study.language.parts import DocumentReading
from trunkline.study.outcome.compared_cells import ComparedCell, TableError

if TYPE_CHECKING:
    from trunkline.study.language.model import Study
    from trunkline.study.outcome.reproduction import Reproduction

JSON_SCHEMA_VERSION = 1


def build_overviews(reproduction: Reproduction) -> list[dict[str, Any]]:
    """Build every overview of the study: ``title``, ``heads`` and ``rows``, all as text."""
    cells = {(c.table, c.row, c.column): c for c in reproduction.cells}
    built = []
    for overview in reproduction.study.overviews:
        rows: list[list[str]] = []
        for line in overview.lines:
            texts, published = [line.name], ["published"]
            for overview_cell in overview.cells.values():
                tables = [overview_cell.table] if overview_cell.table else line.tables
                if line.variant:
                    tables = [f"{name}, {line.variant}" for name in tables]
                if overview_cell.error:
                    error = reproduction.error_of(overview_cell.error, tables)
                    texts.append("–" if error is None else f"{error:.{overview_cell.digits}f}")
                    continue
                cell = cells[tables[0], overview_cell.row, overview_cell.column]
                texts.append(cell.format_value(overview_cell.digits))
                published_value = cell.published
                published.append(
                    "–"
                    if published_value is None
                    else f"{published_value:.{overview_cell.digits}f}"
                )
            rows += [published] if overview.published and not rows else []
            rows.append(texts)
        built.append({"title": overview.title, "heads": ["", *overview.cells], "rows": rows})
    return built


def build_fitted_readings(reproduction: Reproduction) -> list[dict[str, Any]]:
    """Build a table of each fitted reading: its distance from what was published, and as stated.

    Returns: ``title``, ``heads`` and ``rows`` as those of overviews, and of the reading what it
        ``says``, its ``reason``, what it ``sets``, and the outcome on its tables of each claim
        that uses one of them, ``claims``.
    """
    study = reproduction.study
    built = []
    for reading in study.list_fitted_readings():
        stated = DocumentReading(says="as stated", tables=reading.tables)
        as_stated = reproduction.errors_as_read(stated)
        as_read = reproduction.errors_as_read(reading)
        rows = [
            [name, *_describe_distance(as_stated[name]), *_describe_distance(error)]
            for name, error in as_read.items()
        ]
        unit = "|ln|" if study.error == "relative" else format_error_unit(reproduction)
        unit = f" [{unit}]" if unit and not study.measures else ""
        built.append(
            {
                "title": f"As stated, and {reading.says}: mean distance{unit}",
                "heads": ["", stated.says, "as expected", reading.says, "as expected"],
                "rows": rows,
                "says": reading.says,
                "reason": reading.reason,
                "sets": _describe_variant(study, reading.variant),
                "claims": reproduction.judge_as_read(reading),
            }
        )
    return built


def _describe_variant(study: Study, name: str) -> str:
    """The values that a variant sets; case by case where they differ."""
    parts = [variant for variant in study.variants if variant.name == name]
    texts = [", ".join(f"{key} {value}" for key, value in part.set.items()) for part in parts]
    if len(parts) == 1:
        return texts[0]
    return "; ".join(
        f"{' and '.join(part.cases or study.cases)}: {text}"
        for part, text in zip(parts, texts, strict=True)
    )


def _describe_distance(error: TableError) -> list[str]:
    """The mean distance of cells from the published ones, and how many are as expected."""
    distance = error.mean_absolute if error.mean_log_ratio is None else error.mean_log_ratio
    text = "–" if distance is None else f"{distance:.3g}"
    return [text, f"{error.published_inside_prediction} of {error.cells}"]


def judge_sentences(reproduction: Reproduction) -> list[dict[str, Any]]:
    """Judge every sentence of the document about its results, with its outcome.

    The outcome is that of its claims, refuted before undecided before held; without any it is
    None, and ``because`` says why.
    """
    outcome_by_claim = {claim.name: claim.outcome for claim in reproduction.claims}
    return [
        each.model_dump()
        | {
            "outcome": combine_outcomes(outcome_by_claim[name] for name in each.claims)
            if each.claims
            else None
        }
        for each in reproduction.study.sentences
    ]


def format_error_unit(reproduction: Reproduction) -> str:
    """Format the units of the differences that count in errors."""
    return _join_error_units(
        cell for table in reproduction.study.cases for cell in reproduction.list_judged_cells(table)
    )


def build_reproduction_json(reproduction: Reproduction) -> dict[str, Any]:
    """Build the object that ``trunkline reproduce --json`` prints."""
    errors = {
        table: asdict(error) | {"unit": _join_error_units(reproduction.list_judged_cells(table))}
        for table, error in reproduction.errors().items()
    }
    for (table, row), error in reproduction.errors_by_row().items():
        errors[table].setdefault("rows", {})[row] = asdict(error)
    cases = reproduction.study.cases
    return {
        "schema": JSON_SCHEMA_VERSION,
        "study": reproduction.study.name,
        "runs": len(reproduction.seeds),
        "cells": [cell.to_dict() for cell in reproduction.cells],
        "overviews": build_overviews(reproduction),
        "fitted_readings": build_fitted_readings(reproduction),
        "claims": [
            {
                "name": claim_result.name,
                "held": claim_result.is_held,
                "outcome": claim_result.outcome,
                "detail": f"{claim_result.says}: {claim_result.detail}",
            }
            for claim_result in reproduction.claims
        ],
        "sentences": judge_sentences(reproduction),
        "fitted": [
            item.model_dump(include={"parameter", "value", "reason"})
            for item in reproduction.study.fitted
        ],
        "fit": reproduction.study.read_stored_fit(),
        **(
            {}
            if reproduction.precision is None
            else {"precision": reproduction.precision.to_json()}
        ),
        "summary": {
            "tables": {name: error for name, error in errors.items() if name in cases},
            "variants": {name: error for name, error in errors.items() if name not in cases},
            "claims_held": sum(claim.is_held for claim in reproduction.claims),
            "claims": len(reproduction.claims),
            "mean_absolute_error": reproduction.mean_absolute_error(),
            "error_unit": format_error_unit(reproduction),
            "readings": {
                each.says: reproduction.mean_absolute_error(each)
                for each in reproduction.study.readings
            },
            "runs": reproduction.measured.runs,
            "packet_hops": reproduction.measured.packet_hops,
            "hash": reproduction.measured.hash,
        },
    }


def _join_error_units(cells: Iterable[ComparedCell]) -> str:
    return ", ".join(dict.fromkeys(get_difference_unit(cell.unit) for cell in cells))

"""A reproduction as one JSON object, and its overviews as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from trunkline.study.language.claims import overall
from trunkline.study.outcome.cells import Cell, number

if TYPE_CHECKING:
    from trunkline.study.outcome.reproduction import Reproduction

JSON_SCHEMA = 1


def overviews(done: Reproduction) -> list[dict[str, Any]]:
    """Every overview of the study: ``title``, ``heads`` and ``rows``, all as text."""
    cells = {(c.table, c.row, c.column): c for c in done.cells}
    made = []
    for each in done.study.overviews:
        rows: list[list[str]] = []
        for line in each.lines:
            texts, published = [line.name], ["published"]
            for one in each.cells.values():
                tables = [one.table] if one.table else line.tables
                if line.variant:
                    tables = [f"{name}, {line.variant}" for name in tables]
                if one.error:
                    texts.append(f"{done.error_of(one.error, tables):.{one.digits}f}")
                    continue
                cell = cells[tables[0], one.row, one.column]
                texts.append(cell.text(one.digits))
                said = cell.published
                published.append("–" if said is None else f"{said:.{one.digits}f}")
            rows += [published] if each.published and not rows else []
            rows.append(texts)
        made.append({"title": each.title, "heads": ["", *each.cells], "rows": rows})
    return made


def sentences(done: Reproduction) -> list[dict[str, Any]]:
    """Every sentence of the document about its results, with its outcome.

    The outcome is that of its claims, refuted before undecided before held; without any it is
    None, and ``because`` says why.
    """
    of = {claim.name: claim.outcome for claim in done.claims}
    return [
        each.model_dump()
        | {"outcome": overall(of[name] for name in each.claims) if each.claims else None}
        for each in done.study.sentences
    ]


def error_unit(done: Reproduction) -> str:
    """Units of the cells that count in errors."""
    return _units(cell for table in done.study.cases for cell in done.judged(table))


def to_json(done: Reproduction) -> dict[str, Any]:
    """As the object ``trunkline reproduce --json`` prints."""
    errors = {
        table: asdict(error) | {"unit": _units(done.judged(table))}
        for table, error in done.errors().items()
    }
    for (table, row), error in done.errors_by_row().items():
        errors[table].setdefault("rows", {})[row] = asdict(error)
    cases = done.study.cases
    return {
        "schema": JSON_SCHEMA,
        "study": done.study.name,
        "runs": len(done.seeds),
        "cells": [cell.to_dict() for cell in done.cells],
        "overviews": overviews(done),
        "claims": [
            {
                "name": c.name,
                "held": c.held,
                "outcome": c.outcome,
                "detail": f"{c.says}: {c.detail}",
            }
            for c in done.claims
        ],
        "sentences": sentences(done),
        "fitted": [
            item.model_dump(include={"parameter", "value", "reason"}) for item in done.study.fitted
        ],
        "summary": {
            "tables": {name: error for name, error in errors.items() if name in cases},
            "variants": {name: error for name, error in errors.items() if name not in cases},
            "claims_held": sum(claim.held for claim in done.claims),
            "claims": len(done.claims),
            "mean_absolute_error": number(done.mean_absolute_error()),
            "error_unit": error_unit(done),
            "readings": {each.says: done.mean_absolute_error(each) for each in done.study.readings},
            "runs": done.measured.runs,
            "packet_hops": done.measured.packet_hops,
            "hash": done.measured.hash,
        },
    }


def _units(cells: Iterable[Cell]) -> str:
    return ", ".join(dict.fromkeys(cell.unit for cell in cells))

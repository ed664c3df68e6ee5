"""Workbooks of spreadsheet programs (.xlsx): each sheet as a table in text, links or demands.

Cells have the values that the program stored, also of formulas. A sheet holds links or demands by
its name, else by its columns.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.network.attributes import parse_attribute_name
from trunkline.importers.network.demands import is_demand_table
from trunkline.importers.network.link_lists import find_end_columns, normalise_title
from trunkline.importers.network.tables import split_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_UNPACKED_BYTES = 200_000_000
MAX_CELLS = 2_000_000
WORKBOOK_PART = "xl/workbook.xml"
SheetKind = Literal["links", "demands"]
_NAMES_OF_LINK_SHEETS = re.compile(r"link|circuit|topolog|trunk|edge|backbone", re.IGNORECASE)
_NAMES_OF_DEMAND_SHEETS = re.compile(r"demand|traffic|matri|flow|load", re.IGNORECASE)


@dataclass(frozen=True)
class WorkbookSheet:
    """A sheet that is not empty, as text with tabs: each row of it is a line."""

    name: str
    content: str
    kind: SheetKind | None  # None: it is neither.
    title: str  # Text above the table.


def is_workbook(data: bytes) -> bool:
    """Whether the bytes of a file are a workbook."""
    if not data.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return WORKBOOK_PART in archive.namelist()
    except zipfile.BadZipFile:
        return False


def read_workbook(data: bytes) -> list[WorkbookSheet]:
    """Read the sheets of a workbook, in its order.

    Raises ImportFault: It is damaged or too large, or a formula has no stored value.
    """
    from openpyxl import load_workbook

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(each.file_size for each in archive.infolist()) > MAX_UNPACKED_BYTES:
            raise ImportFault(0, 1, f"the workbook is larger than {MAX_UNPACKED_BYTES} bytes")
    try:
        values, formulas = (
            load_workbook(io.BytesIO(data), data_only=data_only, keep_links=False)
            for data_only in (True, False)
        )
    except Exception as error:
        # The library raises errors of its parts: KeyError, ValueError, errors of XML.
        raise ImportFault(0, 1, f"the workbook is damaged: {error}") from None
    sheets = []
    for sheet in values.worksheets:
        if sheet.max_row * sheet.max_column > MAX_CELLS:
            raise ImportFault(0, 1, f"sheet {sheet.title} has more than {MAX_CELLS} cells")
        rows = [list(row) for row in sheet.iter_rows(values_only=True)]
        _check_formulas(sheet.title, rows, formulas[sheet.title])
        title, content = _write_table(rows)
        if title or content.strip():
            kind = classify_sheet(sheet.title, content)
            sheets.append(WorkbookSheet(sheet.title, content, kind, title))
    return sheets


def _check_formulas(name: str, rows: Sequence[Sequence[Any]], formulas: Any) -> None:
    for number, row in enumerate(formulas.iter_rows(), 1):
        for place, cell in enumerate(row):
            if cell.data_type == "f" and rows[number - 1][place] is None:
                why = f"sheet {name}: {cell.coordinate} is a formula without a stored value"
                raise ImportFault(number, place + 1, f"{why}: save it in the spreadsheet program")


def _write_table(rows: Sequence[Sequence[Any]]) -> tuple[str, str]:
    """Write rows as text; the title above the first row of two cells is apart."""
    titles: list[str] = []
    written = io.StringIO()
    writer = csv.writer(written, delimiter="\t", lineterminator="\n")
    has_begun = False
    for row in rows:
        cells = [_format_cell(value) for value in row]
        has_begun = has_begun or sum(map(bool, cells)) > 1
        if not has_begun:
            titles += filter(None, cells)
            cells = []
        while cells and not cells[-1]:
            cells.pop()
        # An empty row stays a line, so that lines have the numbers of rows.
        written.write("\n") if not cells else writer.writerow(cells)
    return " ".join(titles), written.getvalue()


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return " ".join(str(value).split())


def classify_sheet(name: str, content: str) -> SheetKind | None:
    """Classify a sheet by its name, or else by its columns."""
    is_links, is_demands = _holds_links(content), is_demand_table(content)
    if is_links and is_demands:
        if _NAMES_OF_DEMAND_SHEETS.search(name):
            return "demands"
        return "links" if _NAMES_OF_LINK_SHEETS.search(name) else _classify_columns(content)
    if is_links:
        return "links"
    return "demands" if is_demands else None


def _read_titles(content: str) -> list[str]:
    rows = split_rows(content)
    return rows[0][1] if len(rows) > 1 else []


def _holds_links(content: str) -> bool:
    return find_end_columns([normalise_title(each) for each in _read_titles(content)]) is not None


def _classify_columns(content: str) -> SheetKind:
    """Links have attributes that demands lack."""
    found = [parse_attribute_name(each) for each in _read_titles(content)]
    quantities = {each.quantity for each in found if each is not None}
    return "links" if quantities - {"capacity"} else "demands"


def choose_sheets(sheets: Sequence[WorkbookSheet], kind: SheetKind) -> list[WorkbookSheet]:
    """Choose the sheets of a kind.

    Raises ImportFault: There is none.
    """
    chosen = [each for each in sheets if each.kind == kind]
    if not chosen:
        names = ", ".join(each.name for each in sheets) or "none"
        wanted = "both ends of links" if kind == "links" else "from, to and rates"
        raise ImportFault(0, 1, f"no sheet names {wanted} in its first row; sheets: {names}")
    return chosen

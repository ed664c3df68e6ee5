"""Workbooks of spreadsheet programs, written by openpyxl, against the same tables as CSV."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook

import trunkline as tl
from trunkline.importers import ImportFault
from trunkline.importers.network import read_demand_series, read_network

LINKS = """\
a,b,capacity,delay_ms,metric
Bern,Basel,10G,0.48,10
Bern,Zurich,100GE,0.63,12
Basel,Zurich,2x10G,0.43,9
"""
DEMANDS = """\
from,to,EF,BE
Bern,Zurich,200M,3G
Zurich,Basel,1.5G,2.5G
"""


def write_workbook(path: Path, sheets: dict[str, str], *, title: str = "") -> Path:
    """Cells that look like numbers are numbers, as a spreadsheet program has them."""
    workbook = Workbook()
    workbook.remove(workbook.active)
    for name, table in sheets.items():
        sheet = workbook.create_sheet(name)
        if title:
            sheet.append([title])
            sheet.append([])
        for row in csv.reader(io.StringIO(table)):
            sheet.append([float(cell) if cell.replace(".", "").isdigit() else cell for cell in row])
    workbook.save(path)
    return path


@pytest.mark.parametrize(
    "names", [("Backbone links", "Demands"), ("Sheet1", "Sheet2"), ("Traffic", "Circuits")]
)
def test_a_workbook_is_the_network_of_its_tables_as_csv(tmp_path: Path, names) -> None:
    (tmp_path / "links.csv").write_text(LINKS, "utf-8")
    (tmp_path / "demands.csv").write_text(DEMANDS, "utf-8")
    tables = dict(zip(names, (LINKS, DEMANDS), strict=True))
    if names[0] == "Traffic":
        tables = {"Traffic": DEMANDS, "Circuits": LINKS}
    book = write_workbook(tmp_path / "plan.xlsx", tables | {"Notes": "ask,the\nfield,team\n"})
    wanted = tl.load(read_network(tmp_path / "links.csv", demands=tmp_path / "demands.csv").text)
    imported = read_network(book)
    assert tl.load(imported.text).to_document() == wanted.to_document()
    left_out = [each.element for each in imported.account.left_out]
    assert left_out == ["sheet Notes"]
    assert any(each.element == "sheets with demands" for each in imported.account.assumed)


def test_titles_above_a_table_are_left_out_and_rows_keep_their_numbers(tmp_path: Path) -> None:
    book = write_workbook(tmp_path / "plan.xlsx", {"links": LINKS}, title="Plan 2027")
    account = read_network(book).account
    assert [(each.element, each.reason) for each in account.left_out] == [
        ("title of sheet links", "Plan 2027")
    ]
    bad = LINKS.replace("2x10G", "fast")
    write_workbook(book, {"links": bad}, title="Plan 2027")
    with pytest.raises(ImportFault) as caught:
        read_network(book)
    # Two rows above the table, then the fourth of it.
    assert caught.value.line == 6
    assert caught.value.file.endswith("plan.xlsx, sheet links")


def test_several_sheets_of_demands_are_intervals(tmp_path: Path) -> None:
    night = DEMANDS.replace("3G", "1G").replace("1.5G", chr(34) + "2,5G" + chr(34))
    book = write_workbook(tmp_path / "hours.xlsx", {"08h": DEMANDS, "20h": night})
    series = read_demand_series(book, ["Bern", "Basel", "Zurich"])
    assert list(series) == ["08h", "20h"]
    # A comma in a cell is a decimal one: commas do not divide cells here.
    assert ("Zurich", "Basel", "EF", 2.5e9) in series["20h"]
    assert ("Bern", "Zurich", "BE", 1e9) in series["20h"]
    links = write_workbook(tmp_path / "links.xlsx", {"links": LINKS})
    with pytest.raises(ImportFault, match=r"2 intervals \(08h, 20h\)"):
        read_network(links, demands=book)
    peak = read_network(links, demands=book, interval="peak")
    assert "3000000000" in peak.text + peak.matrix or "3 Gbit/s" in peak.text + peak.matrix


def test_what_no_workbook_says_is_refused(tmp_path: Path) -> None:
    notes = write_workbook(tmp_path / "notes.xlsx", {"Notes": "ask,the\nfield,team\n"})
    with pytest.raises(ImportFault, match=r"no sheet names both ends of links.*sheets: Notes"):
        read_network(notes)
    workbook = Workbook()
    workbook.active.append(["a", "b", "capacity"])
    workbook.active.append(["Bern", "Basel", "=2*10"])
    workbook.save(tmp_path / "formula.xlsx")
    with pytest.raises(ImportFault, match="C2 is a formula without a stored value") as caught:
        read_network(tmp_path / "formula.xlsx")
    assert (caught.value.line, caught.value.column) == (2, 3)
    damaged = tmp_path / "damaged.xlsx"
    with zipfile.ZipFile(damaged, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook")
    with pytest.raises(ImportFault, match="the workbook is damaged"):
        read_network(damaged)
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(100))
    with pytest.raises(ImportFault, match=r"save it as \.xlsx"):
        read_network(tmp_path / "old.xls")

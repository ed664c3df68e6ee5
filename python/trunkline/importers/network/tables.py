"""Tables in text: separators and decimal commas as spreadsheets and operators write them."""

import csv
import re

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement

SEPARATORS = ",;\t|"
_DECIMAL_COMMA = re.compile(r"([+-]?\d+),(\d+)(?!\d*,)(?=\s*(?:[A-Za-z%]|\Z))")


def find_separator(header: str) -> str:
    """The separator of a table by its first line: the most frequent of `,`, `;`, tab and `|`."""
    return max(SEPARATORS, key=header.count)


def split_rows(content: str, separator: str | None = None) -> list[tuple[int, list[str]]]:
    """Line and cells of each row that is not empty; lines that begin with `#` are comments.

    With semicolons, a comma in a number is a decimal point.

    Raises ImportFault: It is no CSV.
    """
    lines = content.splitlines()
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    used = separator or find_separator(first)
    reader = csv.reader(lines, delimiter=used, skipinitialspace=True)
    rows = []
    try:
        for cells in reader:
            words = [cell.strip() for cell in cells]
            if any(words) and not words[0].startswith("#"):
                rows.append((reader.line_num, words))
    except csv.Error as error:
        raise ImportFault(reader.line_num, 1, f"not CSV: {error}") from None
    if used != ",":
        rows = [(line, [_replace_decimal_comma(cell) for cell in cells]) for line, cells in rows]
    return rows


def _replace_decimal_comma(cell: str) -> str:
    return _DECIMAL_COMMA.sub(r"\1.\2", cell) if _DECIMAL_COMMA.match(cell) else cell


def make_rows(
    rows: list[tuple[int, list[str]]], header: list[str], name: str, parent: FileElement
) -> None:
    """Add a child with its named cells for each row.

    Raises ImportFault: A row has more cells than the header.
    """
    for line, cells in rows:
        if len(cells) > len(header):
            raise ImportFault(line, 1, f"{len(cells)} cells, where the header has {len(header)}")
        row = parent.add(name, line=line)
        for title, cell in zip(header, cells, strict=False):
            row.add(title, cell, line)

"""A reproduced study as the page shows it: tables beside the published ones, fitted values."""

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trunkline.report.charts import MOST_LINES, Chart, Line
from trunkline.report.exhibit import Exhibit
from trunkline.report.grids import Cell, Grid
from trunkline.results.numbers import number
from trunkline.results.store import read_json
from trunkline.study.outcome.cells import inside

RECORD = "study.json"
EXHIBITS = "exhibits"
INDEX = "exhibits.json"

LARGEST_PICTURE = 160_000
"""Bytes of a picture that goes into the page as vectors; larger ones go in as pixels."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of the study."""

    name: str
    source: str
    """Address that holds the picture itself."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A table of the study with its chart."""

    key: str
    title: str
    about: str
    grid: Grid
    chart: Chart | None


def read(folder: Path) -> dict[str, Any]:
    """Read the record of a reproduction, and what its study is called where that is kept."""
    record = read_json(folder / RECORD)
    index = folder / EXHIBITS / INDEX
    heading = read_json(index) if index.is_file() else {}
    nothing = {"title": record["study"], "source": "", "tables": {}, "row_title": "", "notes": []}
    return {**record, **nothing, **heading}


def exhibits(folder: Path) -> list[Exhibit]:
    """The runs that stand for the study, if some were kept beside it."""
    index = folder / EXHIBITS / INDEX
    if not index.is_file():
        return []
    listed = read_json(index)
    return [
        Exhibit.read(folder / EXHIBITS / str(number_), each["title"], each["about"])
        for number_, each in enumerate(listed["exhibits"])
    ]


def compared(record: Mapping[str, Any]) -> list[Compared]:
    """Every table of a study, ours beside the published values; variants only in overviews."""
    tables: dict[str, list[Mapping[str, Any]]] = {}
    overviews = record.get("overviews", [])
    titles = record["tables"]
    for cell in record["cells"]:
        table = str(cell["table"])
        if not (overviews and any(table.startswith(f"{name}, ") for name in titles)):
            tables.setdefault(table, []).append(cell)
    made = []
    for index, (table, cells) in enumerate(tables.items()):
        named = titles.get(table)
        title = f"Table {table}: {named}" if named else table[:1].upper() + table[1:]
        error = record["summary"].get("tables", {}).get(table, {})
        made.append(
            Compared(
                f"t{index}",
                title,
                _error(error),
                _grid(f"t{index}", cells, record),
                _chart(f"against-{index}", title, cells, str(record["row_title"])),
            )
        )
    for index, each in enumerate(overviews):
        heads = [(str(head), "") for head in each["heads"]]
        rows = [[Cell(str(text), _number_of(str(text))) for text in row] for row in each["rows"]]
        grid = Grid(f"o{index}", "", heads, rows, "Mean ± half of the 95 % interval.")
        made.append(Compared(f"o{index}", str(each["title"]), "", grid, None))
    return made


def _error(error: Mapping[str, Any]) -> str:
    """How far a table is from the published one, in a sentence."""
    if not error:
        return ""
    parts = []
    if error.get("mape_percent") is not None:
        parts.append(f"mean absolute error {number(error['mape_percent'], 3)} %")
    elif "mean_absolute" in error:
        parts.append(f"off by {number(error['mean_absolute'], 3)} {error['unit']} on average")
    if "published_inside_prediction" in error:
        inside, of = error["published_inside_prediction"], error.get("cells", 0)
        parts.append(f"{inside} of {of} published values inside our 95 % prediction interval")
    if error.get("doubtful"):
        parts.append(f"{error['doubtful']} doubtful values set apart")
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}."


def _grid(key: str, cells: list[Mapping[str, Any]], record: Mapping[str, Any]) -> Grid:
    columns = list(dict.fromkeys(str(cell["column"]) for cell in cells))
    rows = list(dict.fromkeys(str(cell["row"]) for cell in cells))
    at = {(str(cell["row"]), str(cell["column"])): cell for cell in cells}
    said = {name for name in columns if any(_published(at, row, name) for row in rows)}
    units = {str(cell["column"]): str(cell["unit"]) for cell in cells}
    same = len({cell["unit"] for cell in cells}) == 1
    heads = [(str(record["row_title"]), "")]
    for name in columns:
        unit = f" [{units[name]}]" if same and units[name] != "1" else ""
        heads.append((name + unit, "ours, 95 % interval"))
        if name in said:
            heads += [("publ.", f"{name} as published"), ("off", "ours over published, less one")]
    made = []
    doubts = []
    for row in rows:
        line = [Cell(row, _number_of(row))]
        for name in columns:
            cell = at.get((row, name))
            line.append(_ours(cell, same))
            if name not in said:
                continue
            published = None if cell is None else cell["published"]
            if cell is None or published is None:
                line += [Cell("–", -math.inf), Cell("–", -math.inf)]
                continue
            doubtful = bool(cell["note"])
            if doubtful:
                doubts.append(f"{row}, {name}: {cell['note']}")
            line.append(Cell(number(published, 4) + ("?" if doubtful else ""), published))
            line.append(_off(cell))
        made.append(line)
    note = "Mean ± half of the 95 % interval"
    note += (
        "; ● published value inside the 95 % prediction interval of as many runs." if said else "."
    )
    if doubts:
        why = "; ".join(dict.fromkeys(doubts)).removesuffix(".")
        note += f" ? doubtful: {why}."
    return Grid(key, "", heads, made, note, folded=len(made) > 14)


def _published(at: Mapping[tuple[str, str], Mapping[str, Any]], row: str, name: str) -> bool:
    cell = at.get((row, name))
    return cell is not None and cell["published"] is not None


def _number_of(row: str) -> float | None:
    first = row.split()[0] if row.split() else ""
    try:
        return float(first)
    except ValueError:
        return None


def _ours(cell: Mapping[str, Any] | None, same: bool) -> Cell:
    if cell is None or cell["ours"] is None:
        return Cell("–", -math.inf)
    mean, low, high = cell["ours"], cell["low"], cell["high"]
    unit = "" if same else f" {cell['unit']}"
    if low is None or high is None:
        return Cell(number(mean, 4) + unit, mean)
    half = (high - low) / 2
    if half == 0:
        return Cell(f"{number(mean, 4)} ± 0{unit}", mean)
    places = max(0, min(7, 1 - math.floor(math.log10(half))))
    if mean:
        places = min(places, max(0, 3 - math.floor(math.log10(abs(mean)))))
    return Cell(f"{mean:.{places}f} ± {half:.{places}f}{unit}", mean)


def _off(cell: Mapping[str, Any]) -> Cell:
    mean, published = cell["ours"], cell["published"]
    if mean is None:
        return Cell("–", -math.inf)
    its = inside(cell["expected_low"], published, cell["expected_high"])
    if cell["unit"] == "%" or not published:
        off = mean - published
        return Cell(f"{off:+.2f}", off, "inside" if its else "")
    off = mean / published - 1
    return Cell(f"{100 * off:+.1f} %", off, "inside" if its else "")


def _chart(key: str, title: str, cells: list[Mapping[str, Any]], across: str) -> Chart | None:
    unit = str(cells[0]["unit"])
    cells = [cell for cell in cells if cell["unit"] == unit and cell["ours"] is not None]
    rows = list(dict.fromkeys(str(cell["row"]) for cell in cells))
    columns = list(dict.fromkeys(str(cell["column"]) for cell in cells))
    if not cells:
        return None
    at = {(str(cell["row"]), str(cell["column"])): cell for cell in cells}
    lines: list[Line] = []
    parts = []
    for name in columns:
        found = [at.get((row, name)) for row in rows]
        own, low, high, said = (
            [None if c is None or c[key] is None else float(c[key]) for c in found]
            for key in ("ours", "low", "high", "published")
        )
        published = said if any(value is not None for value in said) else None
        lines.append(Line(name, own, low, high, published, colour=len(lines) % MOST_LINES))
        known = [value for value in own if value is not None]
        parts.append(f"{name} {number(min(known), 3)} to {number(max(known), 3)} {unit}")
    alt = f"{title}: ours with intervals, published values beside; ours: {', '.join(parts)}."
    about = "Means with their 95 % intervals."
    if any(line.x is not None for line in lines):
        about = "Filled: ours with its 95 % interval. Hollow: published."
    if across:
        about += f" Across: {across}."
    return Chart(key, "", about, alt, "against", unit, [], lines, categories=rows)


def pictures(folder: Path) -> list[Picture]:
    """Pictures that the study itself drew, but for those of its tables, which the page draws."""
    found = []
    for vector in sorted(folder.glob("*.svg")):
        if vector.stem.startswith("table-"):
            continue
        pixels = vector.with_suffix(".png")
        data, kind = vector.read_bytes(), "svg+xml"
        if len(data) > LARGEST_PICTURE and pixels.is_file():
            data, kind = pixels.read_bytes(), "png"
        source = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
        found.append(Picture(vector.stem.replace("-", " "), source))
    return found

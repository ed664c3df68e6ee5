"""A reproduced study as the page shows it: tables next to the published ones, fitted values."""

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trunkline.report.charts import MAX_CHART_LINES, Chart, ChartLine
from trunkline.report.grids import Grid, GridCell
from trunkline.report.reported_run import ReportedRun
from trunkline.results.number_format import format_number
from trunkline.results.store import read_json
from trunkline.study.outcome.compared_cells import is_inside

RECORD_FILE = "study.json"
KERNEL_FILE = "kernel.json"
FEATURED_RUNS_FOLDER = "exhibits"
FEATURED_RUNS_INDEX = "exhibits.json"

MAX_VECTOR_PICTURE_BYTES = 160_000
"""Bytes of a picture that goes into the page as vectors; larger ones go in as pixels."""


@dataclass(frozen=True, slots=True)
class StudyPicture:
    """A picture of the study."""

    name: str
    source: str  # Address that holds the picture itself.


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """A table of the study with its chart."""

    key: str
    title: str
    about: str
    grid: Grid
    chart: Chart | None


def read_record(folder: Path) -> dict[str, Any]:
    """Read the record of a reproduction, and the name of its study where that is stored."""
    record = read_json(folder / RECORD_FILE)
    index = folder / FEATURED_RUNS_FOLDER / FEATURED_RUNS_INDEX
    heading = read_json(index) if index.is_file() else {}
    default_heading = {
        "title": record["study"],
        "source": "",
        "tables": {},
        "row_title": "",
        "notes": [],
    }
    return {**record, **default_heading, **heading}


def read_kernel_verdicts(folder: Path) -> dict[str, Any] | None:
    """Read the verdicts of the tables that a Linux kernel ran; None without."""
    file = folder / KERNEL_FILE
    return read_json(file) if file.is_file() else None


def read_featured_runs(folder: Path) -> list[ReportedRun]:
    """Read the runs that represent the study, if some were kept next to it."""
    index = folder / FEATURED_RUNS_FOLDER / FEATURED_RUNS_INDEX
    if not index.is_file():
        return []
    listed = read_json(index)
    return [
        ReportedRun.read_folder(
            folder / FEATURED_RUNS_FOLDER / str(number_), each["title"], each["about"]
        )
        for number_, each in enumerate(listed["exhibits"])
    ]


def build_compared_tables(record: Mapping[str, Any]) -> list[ComparedTable]:
    """Build the tables of a study, ours next to the published ones; variants only in overviews.

    Fitted readings come last, next to what is stated.
    """
    tables: dict[str, list[Mapping[str, Any]]] = {}
    overviews = record.get("overviews", [])
    titles = record["tables"]
    for cell in record["cells"]:
        table = str(cell["table"])
        if not (overviews and any(table.startswith(f"{name}, ") for name in titles)):
            tables.setdefault(table, []).append(cell)
    built = []
    for index, (table, cells) in enumerate(tables.items()):
        table_title = titles.get(table)
        title = f"Table {table}: {table_title}" if table_title else table[:1].upper() + table[1:]
        error = record["summary"].get("tables", {}).get(table, {})
        built.append(
            ComparedTable(
                f"t{index}",
                title,
                _describe_error(error),
                _build_grid(f"t{index}", cells, record),
                _build_chart(f"against-{index}", title, cells, str(record["row_title"])),
            )
        )
    for index, each in enumerate(overviews):
        headers = [(str(head), "") for head in each["heads"]]
        rows = [
            [GridCell(str(text), _parse_number(str(text))) for text in row] for row in each["rows"]
        ]
        grid = Grid(f"o{index}", "", headers, rows, "Mean ± half of the 95 % interval.")
        built.append(ComparedTable(f"o{index}", str(each["title"]), "", grid, None))
    return built + [
        _build_fitted_reading(f"f{index}", each)
        for index, each in enumerate(record.get("fitted_readings", []))
    ]


def _build_fitted_reading(key: str, reading: Mapping[str, Any]) -> ComparedTable:
    headers = [(str(head), "") for head in reading["heads"]]
    rows = [
        [GridCell(str(text), _parse_number(str(text))) for text in row] for row in reading["rows"]
    ]
    note = "As expected: published values inside our 95 % prediction interval of as many runs."
    about = f"It sets {reading['sets']}. {reading['reason']}"
    return ComparedTable(
        key, str(reading["title"]), about, Grid(key, "", headers, rows, note), None
    )


def _describe_error(error: Mapping[str, Any]) -> str:
    """Describe how far a table is from the published one, in a sentence."""
    if not error:
        return ""
    parts = []
    if error.get("mape_percent") is not None:
        parts.append(f"mean absolute error {format_number(error['mape_percent'], 3)} %")
    elif error.get("mean_absolute") is not None:
        parts.append(
            f"off by {format_number(error['mean_absolute'], 3)} {error['unit']} on average"
        )
    if "published_inside_prediction" in error:
        inside_count, cell_count = error["published_inside_prediction"], error.get("cells", 0)
        parts.append(
            f"{inside_count} of {cell_count} published values inside our 95 % prediction interval"
        )
    if error.get("doubtful"):
        parts.append(f"{error['doubtful']} doubtful values set apart")
    sentence = "; ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _build_grid(key: str, cells: list[Mapping[str, Any]], record: Mapping[str, Any]) -> Grid:
    columns = list(dict.fromkeys(str(cell["column"]) for cell in cells))
    rows = list(dict.fromkeys(str(cell["row"]) for cell in cells))
    cell_by_place = {(str(cell["row"]), str(cell["column"])): cell for cell in cells}
    published_columns = {
        name for name in columns if any(_has_published(cell_by_place, row, name) for row in rows)
    }
    units = {str(cell["column"]): str(cell["unit"]) for cell in cells}
    has_one_unit = len({cell["unit"] for cell in cells}) == 1
    headers = [(str(record["row_title"]), "")]
    for name in columns:
        unit = f" [{units[name]}]" if has_one_unit and units[name] != "1" else ""
        headers.append((name + unit, "ours, 95 % interval"))
        if name in published_columns:
            headers += [("publ.", f"{name} as published"), ("off", "ours over published, less one")]
    grid_rows = []
    doubts = []
    for row in rows:
        line = [GridCell(row, _parse_number(row))]
        for name in columns:
            cell = cell_by_place.get((row, name))
            line.append(_build_simulated_cell(cell, has_one_unit))
            if name not in published_columns:
                continue
            published = None if cell is None else cell["published"]
            if cell is None or published is None:
                line += [GridCell("–", -math.inf), GridCell("–", -math.inf)]
                continue
            doubtful = bool(cell["note"])
            if doubtful:
                doubts.append(f"{row}, {name}: {cell['note']}")
            line.append(
                GridCell(format_number(published, 4) + ("?" if doubtful else ""), published)
            )
            line.append(_build_difference_cell(cell))
        grid_rows.append(line)
    note = "Mean ± half of the 95 % interval"
    note += (
        "; ● published value inside the 95 % prediction interval of as many runs."
        if published_columns
        else "."
    )
    if doubts:
        doubt_text = "; ".join(dict.fromkeys(doubts)).removesuffix(".")
        note += f" ? doubtful: {doubt_text}."
    return Grid(key, "", headers, grid_rows, note, folded=len(grid_rows) > 14)


def _has_published(
    cell_by_place: Mapping[tuple[str, str], Mapping[str, Any]], row: str, name: str
) -> bool:
    cell = cell_by_place.get((row, name))
    return cell is not None and cell["published"] is not None


def _parse_number(row: str) -> float | None:
    first = row.split()[0] if row.split() else ""
    try:
        return float(first)
    except ValueError:
        return None


def _build_simulated_cell(cell: Mapping[str, Any] | None, has_one_unit: bool) -> GridCell:
    if cell is None or cell["ours"] is None:
        return GridCell("–", -math.inf)
    mean, low, high = cell["ours"], cell["low"], cell["high"]
    unit = "" if has_one_unit else f" {cell['unit']}"
    if low is None or high is None:
        return GridCell(format_number(mean, 4) + unit, mean)
    half_width = (high - low) / 2
    if half_width == 0:
        return GridCell(f"{format_number(mean, 4)} ± 0{unit}", mean)
    places = max(0, min(7, 1 - math.floor(math.log10(half_width))))
    if mean:
        places = min(places, max(0, 3 - math.floor(math.log10(abs(mean)))))
    return GridCell(f"{mean:.{places}f} ± {half_width:.{places}f}{unit}", mean)


def _build_difference_cell(cell: Mapping[str, Any]) -> GridCell:
    mean, published = cell["ours"], cell["published"]
    if mean is None:
        return GridCell("–", -math.inf)
    lies_inside = is_inside(cell["expected_low"], published, cell["expected_high"])
    if cell["unit"] == "%" or not published:
        difference = mean - published
        return GridCell(f"{difference:+.2f}", difference, "inside" if lies_inside else "")
    difference = mean / published - 1
    return GridCell(f"{100 * difference:+.1f} %", difference, "inside" if lies_inside else "")


def _build_chart(
    key: str, title: str, cells: list[Mapping[str, Any]], x_title: str
) -> Chart | None:
    unit = str(cells[0]["unit"])
    cells = [cell for cell in cells if cell["unit"] == unit and cell["ours"] is not None]
    rows = list(dict.fromkeys(str(cell["row"]) for cell in cells))
    columns = list(dict.fromkeys(str(cell["column"]) for cell in cells))
    if not cells:
        return None
    cell_by_place = {(str(cell["row"]), str(cell["column"])): cell for cell in cells}
    lines: list[ChartLine] = []
    parts = []
    for name in columns:
        found = [cell_by_place.get((row, name)) for row in rows]
        simulated, low, high, published_values = (
            [None if c is None or c[key] is None else float(c[key]) for c in found]
            for key in ("ours", "low", "high", "published")
        )
        published = (
            published_values if any(value is not None for value in published_values) else None
        )
        lines.append(
            ChartLine(name, simulated, low, high, published, colour=len(lines) % MAX_CHART_LINES)
        )
        known = [value for value in simulated if value is not None]
        parts.append(
            f"{name} {format_number(min(known), 3)} to {format_number(max(known), 3)} {unit}"
        )
    alt = f"{title}: ours with intervals, next to published values; ours: {', '.join(parts)}."
    about = "Means with their 95 % intervals."
    if any(line.x is not None for line in lines):
        about = "Filled: ours with its 95 % interval. Hollow: published."
    if x_title:
        about += f" Across: {x_title}."
    return Chart(key, "", about, alt, "against", unit, [], lines, categories=rows)


def list_pictures(folder: Path) -> list[StudyPicture]:
    """Pictures that the study itself drew, but for those of its tables, which the page draws."""
    found = []
    for vector in sorted(folder.glob("*.svg")):
        if vector.stem.startswith("table-"):
            continue
        pixels = vector.with_suffix(".png")
        data, kind = vector.read_bytes(), "svg+xml"
        if len(data) > MAX_VECTOR_PICTURE_BYTES and pixels.is_file():
            data, kind = pixels.read_bytes(), "png"
        source = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
        found.append(StudyPicture(vector.stem.replace("-", " "), source))
    return found

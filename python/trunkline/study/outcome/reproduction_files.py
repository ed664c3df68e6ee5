"""A reproduction on disk: its JSON, its values as Parquet, and a picture of each table."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline.plot.figure import PICTURE_FORMATS, save_figure
from trunkline.plot.published_lines import PublishedLine, draw_published_lines
from trunkline.results import atomic_folder as folders
from trunkline.study.language.pictures import draw_pictures
from trunkline.study.outcome.compared_cells import to_json_number
from trunkline.study.run.checked_files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trunkline.study.outcome.reproduction import Reproduction

STUDY_JSON = "study.json"


def add_reproduction_files(
    reproduction: Reproduction, folder: str | Path, *, pdf: bool = False
) -> None:
    """Write a reproduction into the folder of its runs, the record last.

    folder: Folder that exists.
    pdf: Draw each picture as ``.pdf`` too.
    """
    with tempfile.TemporaryDirectory(prefix=".outcome-", dir=folder) as temporary:
        write_reproduction_files(reproduction, Path(temporary), pdf=pdf)
        names = sorted(path.name for path in Path(temporary).iterdir())
        for name in sorted(names, key=lambda name: name == STUDY_JSON):
            write_bytes(Path(folder) / name, (Path(temporary) / name).read_bytes())


def write_reproduction_files(
    reproduction: Reproduction, folder: Path, *, pdf: bool = False
) -> None:
    """Write a reproduction into a folder.

    ``study.json`` is what ``trunkline reproduce --json`` prints; ``values.parquet`` holds the
    value of every cell for every seed; the pictures that the study asks for, or else
    ``table-T`` for each table T, are there as ``.png`` and ``.svg``.

    folder: Folder that exists.
    pdf: Draw each as ``.pdf`` too, which takes longer than both: it holds the letters it uses.
    """
    _write_values(reproduction, folder / "values.parquet")
    if reproduction.study.pictures is None:
        figures = {
            f"table-{table}": draw_table(reproduction, table) for table in reproduction.tables
        }
    else:
        figures = draw_pictures(reproduction)
    if stored_fit := reproduction.study.read_stored_fit():
        from trunkline.study.fit.fit_files import draw_stored_marginals

        figures["posterior"] = draw_stored_marginals(reproduction.study, stored_fit)
    json_text = json.dumps(reproduction.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
    folders.write_text(folder / STUDY_JSON, json_text + "\n")
    for name, figure in figures.items():
        for kind in PICTURE_FORMATS if pdf else ("png", "svg"):
            save_figure(figure, folder / f"{name}.{kind}")
            # Laid out once, it is the same in every format, and takes half the time.
            figure.set_layout_engine("none")


def draw_table(reproduction: Reproduction, name: str) -> Figure:
    """Draw a table: ours with intervals, the published values next to them.

    Only columns in the unit of the first are drawn, as there is one axis.
    """
    study, table = reproduction.study, reproduction.tables[name]
    lines = []
    for column in table.columns:
        cells = [c for c in reproduction.cells if (c.table, c.column) == (name, column)]
        row = next(iter(table.rows))
        units = {study.get_unit(table, row, each) for each in (column, next(iter(table.columns)))}
        if not cells or len(units) > 1:
            continue
        lines.append(
            PublishedLine(
                column,
                [c.ours.mean for c in cells],
                [c.ours.mean if c.ours.low is None else c.ours.low for c in cells],
                [c.ours.mean if c.ours.high is None else c.ours.high for c in cells],
                [c.published for c in cells],
                [bool(c.doubt) for c in cells],
            )
        )
    numbers, unit = study.get_row_parameters(table)
    has_row_names = table.case.rows is not None
    row = next(iter(table.rows))
    first = study.find_column(table, row, next(iter(table.columns)))
    measure = (first.measure or "").removesuffix("_bit_s").removesuffix("_s").replace("_", " ")
    return draw_published_lines(
        f"Table {name}: {table.title}",
        [float(number) for number in range(len(table.rows))] if has_row_names else numbers,
        lines,
        x_label="" if has_row_names else f"{study.row_title} [{unit or '1'}]",
        x_names=list(table.rows) if has_row_names else None,
        y_label=f"{measure} [{first.unit}]".strip(),
    )


def _write_values(reproduction: Reproduction, path: Path) -> None:
    import polars as pl

    rows = [
        (table, row, column, reproduction.seeds[0] + place, to_json_number(value))
        for (table, column), values in reproduction.measured.columns.items()
        for row, seed_values in zip(reproduction.tables[table].rows, values.tolist(), strict=True)
        for place, value in enumerate(seed_values)
    ]
    names = ["table", "row", "column", "seed", "value"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    path.write_bytes(folders.encode_parquet(frame))

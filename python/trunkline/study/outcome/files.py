"""A reproduction on disk: its JSON, its values as Parquet, and a picture of each table."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline.plot.against import Line, against_published
from trunkline.plot.figure import FORMATS, save
from trunkline.results import folder as folders
from trunkline.study.language.pictures import pictures
from trunkline.study.run.disk import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trunkline.study.outcome.reproduction import Reproduction

STUDY = "study.json"


def add_to(done: Reproduction, folder: str | Path, *, pdf: bool = False) -> None:
    """Write a reproduction into the folder of its runs, the record last.

    Parameters
    ----------
    folder : str or Path
        Folder that exists.
    pdf : bool, default False
        Draw each picture as ``.pdf`` too.
    """
    with tempfile.TemporaryDirectory(prefix=".outcome-", dir=folder) as made:
        fill(done, Path(made), pdf=pdf)
        names = sorted(path.name for path in Path(made).iterdir())
        for name in sorted(names, key=lambda name: name == STUDY):
            write_bytes(Path(folder) / name, (Path(made) / name).read_bytes())


def fill(done: Reproduction, folder: Path, *, pdf: bool = False) -> None:
    """Write a reproduction into a folder.

    ``study.json`` is what ``trunkline reproduce --json`` prints; ``values.parquet`` holds the
    value of every cell for every seed; the pictures that the study asks for, or else
    ``table-T`` for each table T, are there as ``.png`` and ``.svg``.

    Parameters
    ----------
    folder : Path
        Folder that exists.
    pdf : bool, default False
        Draw each as ``.pdf`` too, which takes longer than both: it holds the letters it uses.
    """
    _values(done, folder / "values.parquet")
    if done.study.pictures is None:
        figures = {f"table-{table}": picture(done, table) for table in done.tables}
    else:
        figures = pictures(done)
    written = json.dumps(done.to_json(), indent=2, ensure_ascii=False)
    folders.write_text(folder / STUDY, written + "\n")
    for name, figure in figures.items():
        for kind in FORMATS if pdf else ("png", "svg"):
            save(figure, folder / f"{name}.{kind}")
            # Laid out once, it is the same in every format, and takes half the time.
            figure.set_layout_engine("none")


def picture(done: Reproduction, name: str) -> Figure:
    """Draw a table: ours with intervals, the published values beside.

    Only columns in the unit of the first are drawn, as there is one axis.
    """
    study, table = done.study, done.tables[name]
    lines = []
    for column in table.columns:
        cells = [c for c in done.cells if (c.table, c.column) == (name, column)]
        row = next(iter(table.rows))
        units = {study.unit(table, row, each) for each in (column, next(iter(table.columns)))}
        if not cells or len(units) > 1:
            continue
        lines.append(
            Line(
                column,
                [c.ours.mean for c in cells],
                [c.ours.mean if c.ours.low is None else c.ours.low for c in cells],
                [c.ours.mean if c.ours.high is None else c.ours.high for c in cells],
                [c.published for c in cells],
                [bool(c.doubt) for c in cells],
            )
        )
    numbers, unit = study.offered(table)
    named = table.case.rows is not None
    row = next(iter(table.rows))
    first = study.column(table, row, next(iter(table.columns)))
    measure = (first.measure or "").removesuffix("_bit_s").removesuffix("_s").replace("_", " ")
    return against_published(
        f"Table {name}: {table.title}",
        [float(number) for number in range(len(table.rows))] if named else numbers,
        lines,
        x_label="" if named else f"{study.row_title} [{unit or '1'}]",
        x_names=list(table.rows) if named else None,
        y_label=f"{measure} [{first.unit}]".strip(),
    )


def _values(done: Reproduction, path: Path) -> None:
    import polars as pl

    rows = [
        (table, row, column, done.seeds[0] + place, value)
        for (table, column), values in done.measured.columns.items()
        for row, of_seeds in zip(done.tables[table].rows, values.tolist(), strict=True)
        for place, value in enumerate(of_seeds)
    ]
    names = ["table", "row", "column", "seed", "value"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    path.write_bytes(folders.parquet(frame))

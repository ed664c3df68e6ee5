"""A reproduction on disk: its JSON, its values as Parquet, and a picture of each table."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.plot.against import Line, against_published
from trunkline.plot.figure import FORMATS, save
from trunkline.results import folder as folders

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trunkline.study.reproduction import Reproduction

STUDY = "study.json"


def write(done: Reproduction, out: str | Path, *, overwrite: bool = False) -> Path:
    """Write a reproduction into a new folder.

    ``study.json`` is what ``trunkline reproduce --json`` prints; ``values.parquet`` holds the
    value of every cell for every seed; ``table-T.png``, ``.svg`` and ``.pdf`` draw table T.

    Parameters
    ----------
    done : Reproduction
        The study that was run.
    out : str or Path
        Folder to make.
    overwrite : bool, default False
        Replace an earlier reproduction there.

    Returns
    -------
    Path
        The folder; the same study and seeds give the same bytes.
    """

    def extra(folder: Path) -> None:
        _values(done, folder / "values.parquet")

    figures = {f"table-{table}": picture(done, table) for table in done.study.cases}
    return write_pictured(out, done.to_json(), figures, overwrite=overwrite, extra=extra)


def write_pictured(
    out: str | Path,
    record: dict[str, Any],
    figures: Mapping[str, Figure],
    *,
    overwrite: bool = False,
    extra: Callable[[Path], None] | None = None,
) -> Path:
    """Write the record of a reproduction and its pictures into a new folder.

    Parameters
    ----------
    out : str or Path
        Folder to make.
    record : dict
        Goes into the folder's JSON file.
    figures : mapping of str to Figure
        Pictures by name; each is saved in every format.
    overwrite : bool, default False
        Replace an earlier reproduction there.
    extra : callable, optional
        Adds further files to the folder.

    Returns
    -------
    Path
        The folder.
    """

    def fill(folder: Path) -> None:
        written = json.dumps(record, indent=2, ensure_ascii=False)
        folders.write_text(folder / STUDY, written + "\n")
        if extra is not None:
            extra(folder)
        for name, figure in figures.items():
            for kind in FORMATS:
                save(figure, folder / f"{name}.{kind}")

    return folders.replace(out, fill, marker=STUDY, overwrite=overwrite)


def picture(done: Reproduction, table: str) -> Figure:
    """Draw a table: ours with intervals, the published values beside."""
    study = done.study
    lines = []
    for name in study.columns:
        cells = [c for c in done.cells if (c.table, c.column) == (table, name)]
        lines.append(
            Line(
                name,
                [c.ours.mean for c in cells],
                [c.ours.mean if c.ours.low is None else c.ours.low for c in cells],
                [c.ours.mean if c.ours.high is None else c.ours.high for c in cells],
                [c.published for c in cells],
                [bool(c.doubt) for c in cells],
            )
        )
    own = study.cases[table].rows
    column = next(iter(study.columns.values()))
    measure = column.measure.removesuffix("_bit_s").removesuffix("_s").replace("_", " ")
    return against_published(
        f"Table {table}: {study.cases[table].title}",
        study.offered() if own is None else [float(number) for number in range(len(own))],
        lines,
        x_label=f"{study.row_title} [{column.unit}]" if own is None else "",
        x_names=None if own is None else list(own),
        y_label=f"{measure} [{column.unit}]",
    )


def _values(done: Reproduction, path: Path) -> None:
    import polars as pl

    rows = [
        (table, row, column, study_seed, value)
        for (table, column), values in done.measured.columns.items()
        for row, of_seeds in zip(done.study.rows(table), values.tolist(), strict=True)
        for study_seed, value in zip(done.seeds, of_seeds, strict=True)
    ]
    names = ["table", "row", "column", "seed", "value"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    written = io.BytesIO()
    frame.write_parquet(written, compression="zstd", compression_level=3, statistics=True)
    path.write_bytes(written.getvalue())

"""A reproduction on disk: its JSON, its values as Parquet, and a picture of each table."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.plot.against import Line, against_published
from trunkline.plot.figure import FORMATS, save
from trunkline.results import folder as folders
from trunkline.study.store import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trunkline.study.reproduction import Reproduction

STUDY = "study.json"


class Written:
    """Something that is written as a few files."""

    def fill(self, folder: Path) -> None:
        """Write the files into a folder."""
        raise NotImplementedError

    def write(self, out: str | Path, *, overwrite: bool = False) -> Path:
        """Write the files into a new folder, which is whole or not there.

        Parameters
        ----------
        out : str or Path
            Folder to make.
        overwrite : bool, default False
            Replace an earlier reproduction there.

        Returns
        -------
        Path
            The folder; the same study and seeds give the same bytes.
        """
        return folders.replace(out, self.fill, marker=STUDY, overwrite=overwrite)

    def add_to(self, folder: str | Path) -> None:
        """Write the files into the folder of the study's runs, the record last.

        Parameters
        ----------
        folder : str or Path
            Folder that exists.
        """
        with tempfile.TemporaryDirectory(prefix=".outcome-", dir=folder) as made:
            self.fill(Path(made))
            names = sorted(path.name for path in Path(made).iterdir())
            for name in sorted(names, key=lambda name: name == STUDY):
                write_bytes(Path(folder) / name, (Path(made) / name).read_bytes())


def fill(done: Reproduction, folder: Path) -> None:
    """Write a reproduction into a folder.

    ``study.json`` is what ``trunkline reproduce --json`` prints; ``values.parquet`` holds the
    value of every cell for every seed; ``table-T.png``, ``.svg`` and ``.pdf`` draw table T.

    Parameters
    ----------
    done : Reproduction
        The study that was run.
    folder : Path
        Folder that exists.
    """
    _values(done, folder / "values.parquet")
    figures = {f"table-{table}": picture(done, table) for table in done.study.cases}
    fill_pictured(folder, done.to_json(), figures)


def fill_pictured(folder: Path, record: dict[str, Any], figures: Mapping[str, Figure]) -> None:
    """Write the record of a reproduction and its pictures into a folder.

    Parameters
    ----------
    folder : Path
        Folder that exists.
    record : dict
        Goes into the folder's JSON file.
    figures : mapping of str to Figure
        Pictures by name; each is saved in every format.
    """
    written = json.dumps(record, indent=2, ensure_ascii=False)
    folders.write_text(folder / STUDY, written + "\n")
    for name, figure in figures.items():
        for kind in FORMATS:
            save(figure, folder / f"{name}.{kind}")


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

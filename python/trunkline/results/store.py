"""Results on disk: a folder of Parquet tables and ``run.json``, whole or not there at all.

Nothing in the files tells the time: the same runs give the same bytes.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.results import folder as folders
from trunkline.results.decode.columns import empty
from trunkline.results.results import Provenance, Results
from trunkline.results.table import Column, Table
from trunkline.results.tables import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

FORMAT = 1
RUN = "run.json"
NETWORK = "network.json"
PLAN = "plan.json"
TYPES = {"str": "String", "i64": "Int64", "f64": "Float64"}
"""What polars calls the kinds of columns."""


class Unreadable(ValueError):
    """A folder's results cannot be read: damaged, or written by another version."""


def write(
    runs: Sequence[Results],
    directory: str | Path,
    *,
    network_json: str | None = None,
    plan_json: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write runs of one scenario into a new folder.

    Parameters
    ----------
    runs : sequence of Results
        One or more replications, in the order wanted.
    directory : str or Path
        Folder to make; its parents are made too.
    plan_json : str, optional
        The plan of its traffic engineering, kept beside them too.
    overwrite : bool, default False
        Replace the folder if it holds earlier results.

    Raises
    ------
    FileExistsError
        The folder exists and ``overwrite`` is off, or it holds something else than results.
    """
    if not runs:
        msg = "no run to write"
        raise ValueError(msg)

    def fill(folder: Path) -> None:
        _fill(folder, runs, network_json, plan_json)

    return folders.replace(directory, fill, marker=RUN, overwrite=overwrite)


def read(directory: str | Path) -> list[Results]:
    """Read runs back.

    Returns
    -------
    list of Results
        In the order written; their hashes are checked.

    Raises
    ------
    FileNotFoundError
        It holds no results.
    Unreadable
        Another version wrote it, or a table does not have the hash it was written with.
    """
    import polars as pl

    folder = Path(directory)
    about = read_json(folder / RUN)
    if about.get("format") != FORMAT:
        msg = f"{folder / RUN}: format {about.get('format')!r} is not {FORMAT}"
        raise Unreadable(msg)
    frames = {name: _frame(folder, name) for name in SCHEMAS}
    try:
        return _runs(folder, about, frames)
    except (KeyError, TypeError, AttributeError, OverflowError, pl.exceptions.PolarsError):
        msg = f"{folder} is damaged, or its tables come from another program"
        raise Unreadable(msg) from None


def read_json(path: Path) -> dict[str, Any]:
    """An object of a JSON file of results.

    Raises
    ------
    FileNotFoundError
        There is none.
    Unreadable
        It holds none.
    """
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        msg = f"{path} is damaged: it holds no JSON object"
        raise Unreadable(msg)
    return said


def _runs(folder: Path, about: dict[str, Any], frames: dict[str, Any]) -> list[Results]:
    import polars as pl

    scenario = about["provenance"]
    runs = []
    for number, run in enumerate(about["runs"]):
        tables = {}
        for name, fields in SCHEMAS.items():
            frame = frames[name]
            if len(frame):
                frame = frame.filter(pl.col("run") == number)
            columns = {f.name: Column(frame[f.name]) for f in fields} if len(frame) else empty(name)
            tables[name] = Table(name, fields, columns)
        results = Results(tables, Provenance(**scenario, seed=run["seed"]))
        if results.hash() != run["hash"]:
            msg = f"{folder}: run {number} (seed {run['seed']}) is not as it was written"
            raise Unreadable(msg)
        runs.append(results)
    return runs


def _fill(
    folder: Path, runs: Sequence[Results], network_json: str | None, plan_json: str | None
) -> None:
    import polars as pl

    for name in SCHEMAS:
        frames = [
            _numbered(number, run.seed, run.tables[name])
            for number, run in enumerate(runs)
            if len(run.tables[name])
        ]
        # Through memory, so that a full disk is the operating system's error and says so.
        written = folders.parquet(pl.concat(frames, rechunk=True)) if frames else _no_rows(name)
        (folder / f"{name}.parquet").write_bytes(written)
    provenance = runs[0].provenance.to_dict()
    del provenance["seed"]
    about: dict[str, Any] = {
        "format": FORMAT,
        "provenance": provenance,
        "runs": [{"seed": run.seed, "hash": run.hash()} for run in runs],
    }
    folders.write_text(folder / RUN, json.dumps(about, indent=2, sort_keys=True) + "\n")
    if network_json is not None:
        folders.write_text(folder / NETWORK, network_json + "\n")
    if plan_json is not None:
        folders.write_text(folder / PLAN, plan_json + "\n")


def _numbered(number: int, seed: int, table: Table) -> pl.DataFrame:
    """A table with the number and the seed of its run."""
    import polars as pl

    run = pl.Series("run", [number], dtype=pl.Int64).new_from_index(0, len(table))
    seeds = pl.Series("seed", [seed], dtype=pl.UInt64).new_from_index(0, len(table))
    return pl.DataFrame([run, seeds, *table.to_polars().get_columns()])


@functools.cache
def _no_rows(name: str) -> bytes:
    """The file of a table without rows, as most are in most runs."""
    return folders.parquet(_numbered(0, 0, Table(name, SCHEMAS[name], empty(name))))


def _frame(folder: Path, name: str) -> Any:
    """A table of a folder, with every column that this version knows."""
    import polars as pl

    path = folder / f"{name}.parquet"
    if not path.is_file():
        msg = f"{folder}: {path.name} is missing; another version wrote it, or it is damaged"
        raise Unreadable(msg)
    try:
        frame = pl.read_parquet(path)
    except pl.exceptions.PolarsError:
        msg = f"{path} is damaged: it is no Parquet file, or not all of one"
        raise Unreadable(msg) from None
    lacking = [field.name for field in SCHEMAS[name] if field.name not in frame.columns]
    if lacking:
        msg = f"{path} has no column {lacking[0]}; another version wrote it: run it again"
        raise Unreadable(msg)
    kinds = {field.name: TYPES[field.kind] for field in SCHEMAS[name]} | {"run": "Int64"}
    if any(str(frame.schema.get(column)) != kind for column, kind in kinds.items()):
        msg = f"{path} is damaged, or comes from another program"
        raise Unreadable(msg)
    return frame

"""Results on disk: a folder of Parquet tables and ``run.json``, complete or absent.

No file has a time stamp: the same runs give the same bytes.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.results import atomic_folder as folders
from trunkline.results.decode.columns import make_empty_columns
from trunkline.results.results import Provenance, Results
from trunkline.results.schemas import SCHEMAS
from trunkline.results.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

RESULTS_FORMAT = 1
RUN_FILE = "run.json"
NETWORK_FILE = "network.json"
PLAN_FILE = "plan.json"
VERDICT_FILE = "verdict.json"  # Output of `trunkline verify --json`, if a user put it there.
POLARS_TYPES = {"str": "String", "i64": "Int64", "f64": "Float64"}
"""Names of the types of columns in polars."""


class UnreadableResultsError(ValueError):
    """A folder's results cannot be read: damaged, or written by another version."""


def write_results(
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
        The plan of its traffic engineering, kept with them too.
    overwrite : bool, default False
        Replace the folder if it holds earlier results.

    Raises
    ------
    FileExistsError
        The folder exists and ``overwrite`` is off, or it holds something else than results.
    """
    if not runs:
        raise ValueError("no run to write")

    def fill(folder: Path) -> None:
        _write_tables(folder, runs, network_json, plan_json)

    return folders.write_folder(directory, fill, marker=RUN_FILE, overwrite=overwrite)


def read_results(directory: str | Path) -> list[Results]:
    """Read runs back.

    Returns
    -------
    list of Results
        In the order written; their hashes are checked.

    Raises
    ------
    FileNotFoundError
        It holds no results.
    UnreadableResultsError
        Another version wrote it, or a table does not have the hash it was written with.
    """
    import polars as pl

    folder = Path(directory)
    run_record = read_json(folder / RUN_FILE)
    if run_record.get("format") != RESULTS_FORMAT:
        msg = f"{folder / RUN_FILE}: format {run_record.get('format')!r} is not {RESULTS_FORMAT}"
        raise UnreadableResultsError(msg)
    frames = {name: _read_frame(folder, name) for name in SCHEMAS}
    try:
        return _build_runs(folder, run_record, frames)
    except (KeyError, TypeError, AttributeError, OverflowError, pl.exceptions.PolarsError):
        msg = f"{folder} is damaged, or its tables come from another program"
        raise UnreadableResultsError(msg) from None


def read_json(path: Path) -> dict[str, Any]:
    """Read an object of a JSON file of results.

    Raises FileNotFoundError: There is none.
    Raises UnreadableResultsError: It holds none.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise UnreadableResultsError(f"{path} is damaged: it holds no JSON object")
    return content


def _build_runs(folder: Path, run_record: dict[str, Any], frames: dict[str, Any]) -> list[Results]:
    import polars as pl

    scenario = run_record["provenance"]
    runs = []
    for number, run in enumerate(run_record["runs"]):
        tables = {}
        for name, fields in SCHEMAS.items():
            frame = frames[name]
            if len(frame):
                frame = frame.filter(pl.col("run") == number)
            columns = (
                {f.name: Column(frame[f.name]) for f in fields}
                if len(frame)
                else make_empty_columns(name)
            )
            tables[name] = Table(name, fields, columns)
        results = Results(tables, Provenance(**scenario, seed=run["seed"]))
        if results.hash() != run["hash"]:
            msg = f"{folder}: run {number} (seed {run['seed']}) differs from its checksum"
            raise UnreadableResultsError(msg)
        runs.append(results)
    return runs


def _write_tables(
    folder: Path, runs: Sequence[Results], network_json: str | None, plan_json: str | None
) -> None:
    import polars as pl

    for name in SCHEMAS:
        frames = [
            _add_run_columns(number, run.seed, run.tables[name])
            for number, run in enumerate(runs)
            if len(run.tables[name])
        ]
        # Through memory, so that a full disk is the operating system's error and says so.
        parquet_bytes = (
            folders.encode_parquet(pl.concat(frames, rechunk=True))
            if frames
            else _encode_empty_table(name)
        )
        (folder / f"{name}.parquet").write_bytes(parquet_bytes)
    provenance = runs[0].provenance.to_dict()
    del provenance["seed"]
    run_record: dict[str, Any] = {
        "format": RESULTS_FORMAT,
        "provenance": provenance,
        "runs": [{"seed": run.seed, "hash": run.hash()} for run in runs],
    }
    folders.write_text(folder / RUN_FILE, json.dumps(run_record, indent=2, sort_keys=True) + "\n")
    if network_json is not None:
        folders.write_text(folder / NETWORK_FILE, network_json + "\n")
    if plan_json is not None:
        folders.write_text(folder / PLAN_FILE, plan_json + "\n")


def _add_run_columns(number: int, seed: int, table: Table) -> pl.DataFrame:
    """A table with the number and the seed of its run."""
    import polars as pl

    run = pl.Series("run", [number], dtype=pl.Int64).new_from_index(0, len(table))
    seeds = pl.Series("seed", [seed], dtype=pl.UInt64).new_from_index(0, len(table))
    return pl.DataFrame([run, seeds, *table.to_polars().get_columns()])


@functools.cache
def _encode_empty_table(name: str) -> bytes:
    """The file of a table without rows, as most are in most runs."""
    return folders.encode_parquet(
        _add_run_columns(0, 0, Table(name, SCHEMAS[name], make_empty_columns(name)))
    )


def _read_frame(folder: Path, name: str) -> Any:
    """Read a table of a folder, with every column that this version knows."""
    import polars as pl

    path = folder / f"{name}.parquet"
    if not path.is_file():
        msg = f"{folder}: {path.name} is missing; another version wrote it, or it is damaged"
        raise UnreadableResultsError(msg)
    try:
        frame = pl.read_parquet(path)
    except pl.exceptions.PolarsError:
        msg = f"{path} is damaged: it is no Parquet file, or not all of one"
        raise UnreadableResultsError(msg) from None
    missing_columns = [field.name for field in SCHEMAS[name] if field.name not in frame.columns]
    if missing_columns:
        msg = f"{path} has no column {missing_columns[0]}; another version wrote it: run it again"
        raise UnreadableResultsError(msg)
    kinds = {field.name: POLARS_TYPES[field.kind] for field in SCHEMAS[name]} | {"run": "Int64"}
    if any(str(frame.schema.get(column)) != kind for column, kind in kinds.items()):
        raise UnreadableResultsError(f"{path} is damaged, or comes from another program")
    return frame

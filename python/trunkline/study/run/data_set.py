"""The data set of a study: a row for each run, written and read back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline import notebook_form
from trunkline.results import Results, store as results_store
from trunkline.stats import Interval, mean_interval
from trunkline.stats.control_variates import controlled_interval
from trunkline.study.errors import DamagedStudyFile, StudyError
from trunkline.study.run import journal
from trunkline.study.run.checked_files import (
    DATA_FOLDER,
    JOURNAL_FILE,
    read_manifest,
    verify_digest,
)
from trunkline.study.run.journal import RunRecord
from trunkline.study.run.run_measures import (
    collect_units,
    list_agreements,
    list_controls,
    list_value_names,
    select_value_controls,
)
from trunkline.study.run.run_plan import FIXED_COLUMNS

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import xarray as xr


def build_frame(
    plan: Mapping[str, Any],
    records_by_run: Mapping[int, RunRecord],
    places: Sequence[tuple[int, int]],
    labels: Sequence[str],
) -> pl.DataFrame:
    """Build the rows of the runs that are done, in order.

    Returns: ``run``, ``point``, ``part``, ``seed``, a column for each label, one for each value,
        then ``hash``, ``events``, ``packet_hops``.
    """
    import polars as pl

    runs = sorted(records_by_run)
    records = [records_by_run[run] for run in runs]
    points = [plan["points"][places[run][0]] for run in runs]
    names = list(dict.fromkeys(name for record in records for name in record.values))
    for name in names:
        if name in labels or name in FIXED_COLUMNS:
            raise StudyError(f"a value and a parameter are both called {name!r}")
    columns: dict[str, pl.Series] = {
        "run": pl.Series(runs, dtype=pl.Int64),
        "point": pl.Series([places[run][0] for run in runs], dtype=pl.Int64),
        "part": pl.Series([point["part"] for point in points], dtype=pl.String),
        "seed": pl.Series([places[run][1] for run in runs], dtype=pl.UInt64),
    }
    for label in labels:
        label_values = [point["labels"].get(label) for point in points]
        columns[label] = pl.Series(label_values, dtype=pl.String)
    for name in names:
        values = [record.values.get(name) for record in records]
        columns[name] = pl.Series(values, dtype=_choose_column_type(values), strict=False)
    columns["hash"] = pl.Series([record.hash for record in records], dtype=pl.String)
    for name in ("events", "packet_hops"):
        counts = [getattr(record, name) for record in records]
        columns[name] = pl.Series(counts, dtype=pl.Int64)
    return pl.DataFrame(columns)


def _choose_column_type(values: list[Any]) -> Any:
    import polars as pl

    kinds = {type(value) for value in values if value is not None}
    if kinds == {list}:
        return pl.List(pl.Float64)
    return pl.String if kinds == {str} else pl.Float64


def read_records(path: Path) -> Iterator[RunRecord]:
    """Read the records of a file of the data set."""
    import polars as pl

    try:
        table = pl.read_parquet(path)
    except pl.exceptions.PolarsError:
        raise DamagedStudyFile(
            f"{path} is damaged: it is no Parquet file, or not all of one"
        ) from None
    manifest = json.loads((path.parent.parent / "manifest.json").read_text("utf-8"))
    given = [list_value_names(text) for text in manifest["measures"]]
    for row in table.iter_rows(named=True):
        names = given[manifest["points"][row["point"]]["measure"]]
        values = {name: row[name] for name in names}
        yield RunRecord(row["run"], row["hash"], row["events"], row["packet_hops"], values)


class Runs:
    """The runs of a study that have ended.

    table: A row for each.
    manifest: Plan of the study.
    """

    def __init__(self, table: pl.DataFrame, manifest: Mapping[str, Any], folder: Path) -> None:
        self.table, self.manifest, self.folder = table, manifest, folder

    @property
    def complete(self) -> bool:
        """Whether all have ended."""
        return bool(self.manifest.get("files"))

    @property
    def labels(self) -> list[str]:
        """Names of the columns that tell points apart."""
        return list_labels(self.manifest)

    @property
    def values(self) -> list[str]:
        """Names of the columns of measures, without control variates."""
        others = {*FIXED_COLUMNS, *self.labels}
        others |= {n for text in self.manifest["measures"] for n in list_controls(text)}
        return [name for name in self.table.columns if name not in others]

    @property
    def units(self) -> dict[str, str]:
        """Units of the values, as far as the study file says."""
        return collect_units(self.manifest["measures"])

    @property
    def agreements(self) -> list[str]:
        """List the columns that show whether a run keeps an agreement: 1 or 0."""
        return list_agreements(self.manifest["measures"])

    def part(self, name: str) -> pl.DataFrame:
        """Rows of one part, without the columns that it has not."""
        import polars as pl

        rows = self.table.filter(pl.col("part") == name)
        # The columns of the part exist also where no run has a value.
        own = set(self.list_measured_values(rows["point"]))
        return rows.select(
            column.name for column in rows if column.name in own or column.null_count() < len(rows)
        )

    def list_measured_values(self, points: Iterable[int]) -> list[str]:
        """List the values that runs of these points have, those without a number included."""
        measures = dict.fromkeys(self.manifest["points"][point]["measure"] for point in points)
        named = (list_value_names(self.manifest["measures"][each]) for each in measures)
        return list(dict.fromkeys(name for names in named for name in names))

    def estimate_mean(self, name: str, rows: pl.DataFrame) -> Interval:
        """Mean of a value over rows that all have one, by control variates where these have them.

        rows: Of the table, of points that have one measure but for its constants.
        """
        measure = self.manifest["points"][rows["point"][0]]["measure"]
        text = self.manifest["measures"][measure]
        numbers = rows[name].to_list()
        controls = {each: rows[each].to_list() for each in list_controls(text)}
        if not controls:
            return mean_interval(numbers)
        return controlled_interval(numbers, select_value_controls(text, name, controls))

    def read_kept_run(self, run: int) -> Results:
        """Read all tables of a run that is kept."""
        return results_store.read_results(self.folder / "runs" / str(run))[0]

    def _repr_html_(self) -> str:
        return notebook_form.render_html("study", self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return notebook_form.build_mime_bundle("study", self)

    def to_polars(self) -> pl.DataFrame:
        """Convert it to a polars data frame."""
        return self.table

    def to_pandas(self) -> pd.DataFrame:
        """Convert it to a pandas data frame; needs the extra ``pandas``."""
        return self.table.to_pandas()

    def to_xarray(self) -> xr.Dataset:
        """Convert it to an xarray data set over points and seeds; needs the extra ``xarray``.

        Returns: With a dimension for each label where the points are the full product of the
            labels' values, else with one dimension ``point`` and the labels as coordinates along
            it. Lists are left out.
        """
        import numpy as np
        import polars as pl
        import xarray as xr

        keys = [label for label in self.labels if self.table[label].n_unique() > 1]
        if self.table["part"].n_unique() > 1:
            keys.insert(0, "part")
        axes = {key: self.table[key].unique(maintain_order=True).to_list() for key in keys}
        product = int(np.prod([len(axis) for axis in axes.values()]))
        points = self.table["point"].unique(maintain_order=True).to_list()
        if not keys or product != len(points):
            axes = {"point": points}
        axes["seed"] = self.table["seed"].unique().sort().to_list()
        places = [
            self.table[key].replace_strict(
                {v: i for i, v in enumerate(axis)}, return_dtype=pl.Int64
            )
            for key, axis in axes.items()
        ]
        shape = tuple(len(axis) for axis in axes.values())
        data = {}
        for name in self.values:
            if self.table[name].dtype != pl.Float64:
                continue
            block = np.full(shape, np.nan)
            block[tuple(place.to_numpy() for place in places)] = self.table[name].to_numpy()
            data[name] = (tuple(axes), block)
        data_set = xr.Dataset(data, coords=axes)
        if "point" in axes:
            firsts = self.table.unique("point", keep="first", maintain_order=True)
            data_set = data_set.assign_coords(
                {key: ("point", firsts[key].to_list()) for key in keys}
            )
        return data_set

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Ask with SQL, in which the table is called ``runs``; needs the extra ``sql``.

        query: For example ``"select seed, avg(goodput) from runs group by seed"``.
        """
        import duckdb

        database = duckdb.connect()
        database.register("runs", self.table)
        return database.sql(query)


def read(folder: str | Path) -> Runs:
    """Read a study back, whether or not all its runs have ended.

    Raises StudyError: It holds no study, or a file differs from its checksum.
    """
    import polars as pl

    study_folder = Path(folder)
    manifest = read_manifest(study_folder)
    files = [name for name in manifest.get("files", {}) if name.startswith(DATA_FOLDER)]
    if files:
        tables = [
            pl.read_parquet(verify_digest(study_folder / n, manifest["files"][n])) for n in files
        ]
        return Runs(pl.concat(tables, how="diagonal"), manifest, study_folder)
    path = study_folder / JOURNAL_FILE
    ended, damaged = journal.read_journal(path)
    if damaged:
        listed = ", ".join(map(str, damaged[:5]))
        hint = "resume the study to repeat the lost runs"
        raise DamagedStudyFile(f"{path} is damaged in line {listed}; {hint}")
    records_by_run = {record.run: record for record in ended}
    return Runs(
        build_frame(manifest, records_by_run, list_run_places(manifest), list_labels(manifest)),
        manifest,
        study_folder,
    )


def list_labels(plan: Mapping[str, Any]) -> list[str]:
    """List the names of the labels that distinguish points."""
    return list(dict.fromkeys(label for point in plan["points"] for label in point["labels"]))


def list_run_places(plan: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Point and seed of every run."""
    return [
        (place, seed) for place, point in enumerate(plan["points"]) for seed in expand_seeds(point)
    ]


def expand_seeds(point: Mapping[str, Any]) -> Sequence[int]:
    """Expand the seeds of a point as the manifest holds it."""
    seeds = point["seeds"]
    return range(seeds["from"], seeds["to"] + 1) if isinstance(seeds, dict) else list(seeds)


def list_kept_runs(plan: Mapping[str, Any]) -> set[int]:
    """List the numbers of the runs that keep all their tables."""
    found: set[int] = set()
    first = 0
    for point in plan["points"]:
        found |= set(range(first, first + point["keep"]))
        first += len(expand_seeds(point))
    return found

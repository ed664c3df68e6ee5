"""Numbers out of the samples of probes: means over a time, shares of a state, sums over flows."""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trunkline.results import Results
from trunkline.study.errors import StudyError

FloatArray = NDArray[np.float64]


class ProbeSamples:
    """The series of a run."""

    def __init__(self, results: Results) -> None:
        self._results = results

    @functools.cached_property
    def _probes(self) -> dict[tuple[str, str, int], tuple[NDArray[np.int64], FloatArray]]:
        """Times [ns] and values by measure, target and drop precedence, -1 for all of them."""
        series = self._results.series
        probe = series.column("probe").to_array()
        times = series.column("time_ns").to_array()
        values = series.column("value").to_array()
        measures, targets = series["measure"], series["target"]
        precedences = series["precedence"]
        numbers, firsts = np.unique(probe, return_index=True)
        found = {}
        for number, first in zip(numbers, firsts, strict=True):
            rows = np.flatnonzero(probe == number)
            key = str(measures[first]), str(targets[first]), int(precedences[first])
            found[key] = times[rows], values[rows]
        return found

    def compute_value(
        self, name: str, column: Mapping[str, Any]
    ) -> float | list[float | None] | None:
        """Work out a column of a study that asks for a series.

        name: Name of the column.
        Returns: In the unit of the column; a list where all samples are kept. None where no sample
            has a value, or of several targets, one has none.
        Raises StudyError: No probe recorded it, or not then.
        """
        series_spec, target_name = column["series"], column["of"]
        stem = target_name.removesuffix("*")
        parts = [
            _fold_over_time(series_spec, times, values)
            for (measure, target, precedence), (times, values) in self._probes.items()
            if measure == series_spec["measure"]
            and precedence == series_spec.get("precedence", -1)
            and (target == target_name if stem == target_name else target.startswith(stem))
        ]
        if not parts or not len(parts[0]):
            raise StudyError(
                f"column {name}: no samples of {series_spec['measure']} of {target_name}"
            )
        folded = (
            _FOLD_FUNCTIONS[series_spec.get("targets", "sum")](np.array(parts), 0) / column["scale"]
        )
        numbers = [None if math.isnan(sample) else float(sample) for sample in folded.tolist()]
        return numbers if series_spec.get("time") == "all" else numbers[0]


def _fold_over_time(
    series_spec: Mapping[str, Any], times: NDArray[np.int64], values: FloatArray
) -> FloatArray:
    """A sample is about the time that ends with it; one without a value is none."""
    is_within = (
        times > series_spec["after"] if "after" in series_spec else np.ones(len(times), dtype=bool)
    )
    if "to" in series_spec:
        is_within &= times <= series_spec["to"]
    chosen: FloatArray = values[is_within]
    if "equals" in series_spec:
        chosen = np.where(np.isnan(chosen), np.nan, chosen == series_spec["equals"])
    if series_spec.get("time") == "all" or not len(chosen):
        return chosen
    known = chosen[~np.isnan(chosen)]
    return np.array(
        [_FOLD_FUNCTIONS[series_spec.get("time", "mean")](known, 0) if len(known) else np.nan]
    )


_FOLD_FUNCTIONS: dict[str, Callable[[FloatArray, int], Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
}

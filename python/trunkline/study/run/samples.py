"""Numbers out of the samples of probes: means over a time, shares of a state, sums over flows."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trunkline.results import Results
from trunkline.study.errors import Refused

Floats = NDArray[np.float64]


class Samples:
    """The series of a run."""

    def __init__(self, results: Results) -> None:
        self._results = results

    @functools.cached_property
    def _probes(self) -> dict[tuple[str, str, int], tuple[NDArray[np.int64], Floats]]:
        """Times [ns] and values by measure, target and drop precedence, -1 for all of them."""
        series = self._results.series
        probe = series.column("probe").array()
        times = series.column("time_ns").array()
        values = series.column("value").array()
        mask = series.column("value").mask()
        if mask is not None:
            values = np.where(mask, values, np.nan)
        measures, targets = series["measure"], series["target"]
        precedences = series["precedence"]
        numbers, firsts = np.unique(probe, return_index=True)
        found = {}
        for number, first in zip(numbers, firsts, strict=True):
            rows = np.flatnonzero(probe == number)
            key = str(measures[first]), str(targets[first]), int(precedences[first])
            found[key] = times[rows], values[rows]
        return found

    def value(self, name: str, column: Mapping[str, Any]) -> float | list[float]:
        """Work out a column of a study that asks for a series.

        Parameters
        ----------
        name : str
            What the column is called.

        Returns
        -------
        float or list of float
            In the unit of the column; a list where all samples are kept.

        Raises
        ------
        Refused
            No probe recorded it, or not then.
        """
        said, of = column["series"], column["of"]
        stem = of.removesuffix("*")
        parts = [
            _over_time(said, times, values)
            for (measure, target, precedence), (times, values) in self._probes.items()
            if measure == said["measure"]
            and precedence == said.get("precedence", -1)
            and (target == of if stem == of else target.startswith(stem))
        ]
        if not parts or not len(parts[0]):
            raise Refused(f"column {name}: no samples of {said['measure']} of {of}")
        together = _FOLDS[said.get("targets", "sum")](np.array(parts), 0) / column["scale"]
        made: list[float] = together.tolist()
        return made if said.get("time") == "all" else made[0]


def _over_time(said: Mapping[str, Any], times: NDArray[np.int64], values: Floats) -> Floats:
    """A sample is about the time that ends with it."""
    within = times > said["after"] if "after" in said else np.ones(len(times), dtype=bool)
    if "to" in said:
        within &= times <= said["to"]
    chosen: Floats = values[within]
    if "equals" in said:
        chosen = (chosen == said["equals"]).astype(float)
    if said.get("time") == "all" or not len(chosen):
        return chosen
    return np.array([_FOLDS[said.get("time", "mean")](chosen, 0)])


_FOLDS: dict[str, Callable[[Floats, int], Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
}

"""Likelihood of the published values at a setting.

A published value is the mean of some runs of the authors, rounded. All of them together have a
normal law around our means, whose covariance is the sum of

- the variance from run to run, as our replications have it, over the number of published runs,
- that of rounding: of a uniform law as wide as the last digit,
- that of our means, which the emulator knows only so well. Its errors are those of the components,
  so that all cells have them together: taken as independent, they would seem to average out, and
- that of the misfit: what no setting explains. Its deviation is a share of the value, or, where a
  study compares by difference, of the mean of the published values of that unit. The share is a
  parameter too (Kennedy and O'Hagan, Bayesian Calibration of Computer Models, JRSS B 63, 2001):
  without it values that the model cannot reach would pin the parameters to a wrong place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trunkline.study.fit.emulator import Emulator
from trunkline.study.fit.parameter_space import FloatArray, ParameterSpace

MISFIT_RANGE = (0.001, 0.5)
"""Range of the misfit's share; equal ratios in it are as likely at first."""


@dataclass(frozen=True)
class TargetCell:
    """A value that a fit is to explain.

    Parameters
    ----------
    table, row, column, unit : str
        Which cell.
    value, rounded_to : float
        What was published, and what it is a multiple of.
    runs : int
        Runs that it is the mean of.
    scale : float
        What the misfit is a share of.
    """

    table: str
    row: str
    column: str
    unit: str
    value: float
    rounded_to: float
    runs: int
    scale: float

    @property
    def label(self) -> str:
        """Place of the cell, in words."""
        return ", ".join(each for each in (self.table, self.row, self.column) if each)


@dataclass(frozen=True)
class CellSources:
    """Values of ours that published ones are compared with.

    Parameters
    ----------
    places : tuple of (str, str, str)
        Table, row and column of each value that a trial gives.
    of_reading : ndarray of int, shape (readings, cells)
        The place that each published value is compared with, by each reading of the document.
    dimension : int, default 0
        Dimension of the unit cube that chooses among the readings, if there are several.
    """

    places: tuple[tuple[str, str, str], ...]
    of_reading: NDArray[np.int_]
    dimension: int = 0

    @classmethod
    def as_published(cls, cells: Sequence[TargetCell]) -> CellSources:
        """Each published value is compared with the cell of its own name."""
        places = tuple((cell.table, cell.row, cell.column) for cell in cells)
        return cls(places, np.arange(len(cells))[None, :])

    def find_places(self, points: FloatArray) -> NDArray[np.int_]:
        """Places of the cells at points of the unit cube, of shape (n, cells)."""
        count = len(self.of_reading)
        if count == 1:
            return np.repeat(self.of_reading, len(points), axis=0)
        number = np.minimum((points[:, self.dimension] * count).astype(int), count - 1)
        found: NDArray[np.int_] = self.of_reading[number]
        return found

    def pick(self, points: FloatArray, values: FloatArray) -> FloatArray:
        """Values of the cells, of shape (n, ..., cells), among those that trials give."""
        if len(self.of_reading) == 1:
            return values[..., self.of_reading[0]]
        places = self.find_places(points)
        if len(points) == 1:  # Nested sampling asks point by point, which this serves in a tenth.
            return values[..., places[0]]
        shape = (len(points), *(1,) * (values.ndim - 2), places.shape[1])
        picked: FloatArray = np.take_along_axis(values, places.reshape(shape), axis=-1)
        return picked


def measure_distances(cells: Sequence[TargetCell], values: FloatArray) -> FloatArray:
    """Mean distance from what was published, each as a share of the scale of its cell.

    values: shape (n, cells)
    Returns: shape (n,)
    """
    published = np.array([cell.value for cell in cells])
    scales = np.array([cell.scale for cell in cells])
    distances: FloatArray = np.mean(np.abs(values - published) / scales, axis=1)
    return distances


def compute_misfit(share: FloatArray) -> FloatArray:
    """Misfit at shares of its prior's probability."""
    low, high = np.log(MISFIT_RANGE)
    misfit: FloatArray = np.exp(low + share * (high - low))
    return misfit


class CellLikelihood:
    """Log probability of the published values at a point: the parameters, then the misfit.

    Parameters
    ----------
    cells : sequence of TargetCell
        What was published, in the order of the emulator's cells if there are no sources.
    counted : ndarray of bool, optional
        Cells that count; all if left out.
    sources : CellSources, optional
        What they are compared with among the emulator's cells; each with its own if left out.
    has_misfit : bool, default True
        Whether points have the misfit as their last coordinate; there is none if not.
    """

    def __init__(
        self,
        space: ParameterSpace,
        emulator: Emulator,
        cells: Sequence[TargetCell],
        counted: NDArray[np.bool_] | None = None,
        *,
        sources: CellSources | None = None,
        has_misfit: bool = True,
    ) -> None:
        self.space, self.emulator, self.cells = space, emulator, tuple(cells)
        self.sources = sources or CellSources.as_published(cells)
        self.has_misfit = has_misfit
        self.counted = np.ones(len(cells), bool) if counted is None else counted
        self._values = np.array([cell.value for cell in cells])
        self._steps = np.array([cell.rounded_to for cell in cells])
        self._runs = np.array([cell.runs for cell in cells], float)
        self._scales = np.array([cell.scale for cell in cells])

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the unit cube: the parameters, and the misfit if there is one."""
        return len(self.space) + self.has_misfit

    def predict(
        self, points: FloatArray, *, with_misfit: bool = True
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Predict the published values.

        Parameters
        ----------
        points : ndarray of shape (n, dimensions)
            Point of the unit cube: the parameters, then the misfit.
        with_misfit : bool, default True
            Whether what no setting explains is in the variance.

        Returns
        -------
        mean, variance : ndarray of shape (n, cells) each
            The variance is the part that is independent from cell to cell.
        loadings : ndarray of shape (n, components, cells)
            The part that cells have together, as :class:`Prediction` has it.
        """
        found = self.emulator.predict(self.space.to_coordinates(points[:, : len(self.space)]))
        pick = self.sources.pick
        variance = pick(points, found.roughness) + pick(points, found.run_variance) / self._runs
        variance = variance + self._steps**2 / 12
        if with_misfit and self.has_misfit:
            misfit = compute_misfit(points[:, -1])
            variance = variance + (misfit[:, None] * self._scales) ** 2
        return pick(points, found.mean), variance, pick(points, found.loadings)

    def compute_log_probabilities(
        self, points: FloatArray, counted: NDArray[np.bool_] | None = None
    ) -> FloatArray:
        """Log probability of the published values together, of shape (n,).

        That of the density times the rounding steps. The covariance is diagonal but for a few
        components, so that it is inverted by Woodbury's identity.

        Parameters
        ----------
        counted : ndarray of bool, optional
            Cells that count; those of the likelihood if left out.
        """
        chosen = self.counted if counted is None else counted
        mean, variance, loadings = self.predict(points)
        error = (self._values - mean)[:, chosen]
        inverse = 1.0 / variance[:, chosen]
        loads = loadings[:, :, chosen]
        weighted = loads * inverse[:, None, :]
        inner = np.eye(loads.shape[1]) + weighted @ loads.transpose(0, 2, 1)
        projected = np.einsum("nkc,nc->nk", weighted, error)
        solved = np.linalg.solve(inner, projected[:, :, None])[:, :, 0]
        squared = np.sum(error**2 * inverse, axis=1) - np.sum(projected * solved, axis=1)
        log_determinant = np.linalg.slogdet(inner)[1] - np.sum(np.log(inverse), axis=1)
        steps = np.log(self._steps[chosen]).sum()
        count = int(np.sum(chosen))
        found: FloatArray = steps - 0.5 * (squared + log_determinant + count * np.log(2 * np.pi))
        return found

    def __call__(self, point: FloatArray) -> float:
        """Log probability of all cells that count."""
        return float(self.compute_log_probabilities(point[None, :])[0])

    def draw_values(
        self, points: FloatArray, *, with_misfit: bool = True, seed: int = 1
    ) -> FloatArray:
        """Draw the values that might have been published, one set for each point."""
        mean, variance, loadings = self.predict(points, with_misfit=with_misfit)
        rng = np.random.default_rng(seed)
        shared = np.einsum("nkc,nk->nc", loadings, rng.standard_normal(loadings.shape[:2]))
        drawn: FloatArray = mean + shared + np.sqrt(variance) * rng.standard_normal(mean.shape)
        return drawn

"""How likely the published values are at a setting.

A published value is the mean of some runs of the authors, rounded. Its probability is that of its
rounding interval under a normal law around our mean, whose variance is the sum of

- the variance from run to run, as our replications have it, over the number of published runs,
- that of our mean, which the emulator knows only so well, and
- that of the misfit: what no setting explains. Its deviation is a share of the value, or, where a
  study compares by difference, of the mean of the published values of that unit. The share is a
  parameter too (Kennedy and O'Hagan, Bayesian Calibration of Computer Models, JRSS B 63, 2001):
  without it values that the model cannot reach would pin the parameters to a wrong place.

Cells count as independent of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from trunkline.study.fit.emulator import Emulator
from trunkline.study.fit.parameter_space import FloatArray, ParameterSpace

MISFIT_RANGE = (0.001, 0.5)
"""Range of the misfit's share; equal ratios in it are as likely at first."""


@dataclass(frozen=True)
class TargetCell:
    """A value that a fit is to explain."""

    # table, row, column, unit: Which cell.
    table: str
    row: str
    column: str
    unit: str
    # value, rounded_to: What was published, and what it is a multiple of.
    value: float
    rounded_to: float
    runs: int  # Runs that it is the mean of.
    scale: float  # What the misfit is a share of.

    @property
    def label(self) -> str:
        """Its place, in words."""
        return ", ".join(each for each in (self.table, self.row, self.column) if each)


def compute_misfit(share: FloatArray) -> FloatArray:
    """Misfit at shares of its prior's probability."""
    low, high = np.log(MISFIT_RANGE)
    misfit: FloatArray = np.exp(low + share * (high - low))
    return misfit


class CellLikelihood:
    """Log probability of the published values at a point: the parameters, then the misfit.

    cells: In the order of the emulator's cells.
    counted: Cells that count; all if left out.
    has_misfit: Whether points have the misfit as their last coordinate; there is none if not.
    """

    def __init__(
        self,
        space: ParameterSpace,
        emulator: Emulator,
        cells: Sequence[TargetCell],
        counted: NDArray[np.bool_] | None = None,
        *,
        has_misfit: bool = True,
    ) -> None:
        self.space, self.emulator, self.cells = space, emulator, tuple(cells)
        self.has_misfit = has_misfit
        self.counted = np.ones(len(cells), bool) if counted is None else counted
        self._values = np.array([cell.value for cell in cells])
        self._halves = np.array([cell.rounded_to for cell in cells]) / 2
        self._runs = np.array([cell.runs for cell in cells], float)
        self._scales = np.array([cell.scale for cell in cells])

    @property
    def dimensions(self) -> int:
        """Of the unit cube: the parameters, and the misfit if there is one."""
        return len(self.space) + self.has_misfit

    def compute_moments(
        self, points: FloatArray, *, with_misfit: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of what would be published, of shape (n, cells) each.

        points: shape (n, dimensions): Of the unit cube: the parameters, then the misfit.
        with_misfit: Whether what no setting explains is in the variance.
        """
        found = self.emulator.predict(self.space.to_coordinates(points[:, : len(self.space)]))
        variance = found.variance + found.run_variance / self._runs
        if with_misfit and self.has_misfit:
            misfit = compute_misfit(points[:, -1])
            variance = variance + (misfit[:, None] * self._scales) ** 2
        return found.mean, np.maximum(variance, (0.1 * self._halves) ** 2)

    def compute_log_probabilities(self, points: FloatArray) -> FloatArray:
        """Log probability of the rounding interval of each cell, of shape (n, cells)."""
        mean, variance = self.compute_moments(points)
        deviation = np.sqrt(variance)
        offset = np.abs(self._values - mean)
        # Both limits on the lower side, where the difference of two tails keeps its digits.
        upper = log_ndtr((self._halves - offset) / deviation)
        lower = log_ndtr((-self._halves - offset) / deviation)
        probability: FloatArray = upper + np.log1p(-np.exp(np.minimum(lower - upper, -1e-12)))
        return probability

    def __call__(self, point: FloatArray) -> float:
        """Log probability of all cells that count."""
        found = self.compute_log_probabilities(point[None, :])[0]
        return float(found[self.counted].sum())

"""The unit cube of the parameters that are inferred: settings, designs, coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trunkline.study.language.priors import ParameterPrior

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class FreeParameter:
    """A parameter that is inferred."""

    name: str  # Its name.
    prior: ParameterPrior  # Its possible values.
    held_at: str = ""  # Its value where it is not inferred; empty if there is none.
    is_run: bool = True  # Whether a run depends on it, or only what its values are compared with.


class ParameterSpace:
    """All parameters that are inferred. parameters: One dimension of the unit cube each."""

    def __init__(self, parameters: Sequence[FreeParameter]) -> None:
        self.parameters = tuple(parameters)
        self.names = [each.name for each in self.parameters]
        groups: list[int] = []
        steps: list[tuple[int, int, float]] = []
        for place, parameter in enumerate(self.parameters):
            count = len(parameter.prior.readings)
            if not parameter.is_run or count == 1:
                own = [(1, -1, 0.0)]
            elif parameter.prior.is_continuous:
                own = [(0, -1, 1.0)]
            elif parameter.prior.is_ordered:
                own = [(count, -1, 1 / (count - 1))]
            else:
                own = [(count, reading, 1 / math.sqrt(2)) for reading in range(count)]
            groups += [place] * len(own)
            steps += own
        self.groups = np.array(groups)
        """Parameter that each coordinate of the emulator is of."""
        self._counts = np.array([count for count, _, _ in steps])
        self._readings = np.array([reading for _, reading, _ in steps])
        self._sizes = np.array([size for _, _, size in steps])

    def __len__(self) -> int:
        return len(self.parameters)

    def format_settings(self, point: Sequence[float]) -> dict[str, str]:
        """Format the values of all parameters at a point of the unit cube."""
        return {
            parameter.name: parameter.prior.format_at(float(share))
            for parameter, share in zip(self.parameters, point, strict=True)
        }

    def to_coordinates(self, points: FloatArray) -> FloatArray:
        """Points as the emulator sees them.

        Numbers are from 0 to 1; readings that are no numbers have a coordinate each, so that any
        two of them are as far from each other.

        points: shape (n, parameters): Points of the unit cube.
        Returns: shape (n, coordinates):
        """
        shares = points[:, self.groups]
        numbers = np.minimum(np.floor(shares * self._counts), self._counts - 1)
        numbers = np.where(self._counts == 0, shares, numbers)
        numbers = np.where(self._readings < 0, numbers, numbers == self._readings)
        coordinates: FloatArray = numbers * self._sizes
        return coordinates

    def spread_points(self, count: int, first: int = 0) -> FloatArray:
        """Spread the points of a Sobol sequence, scrambled with a fixed seed.

        count, first: How many, from which one on; earlier points do not depend on how many there
            are.
        """
        from scipy.stats import qmc

        power = math.ceil(math.log2(max(first + count, 2)))
        points = qmc.Sobol(len(self), scramble=True, rng=1).random_base2(power)
        return np.clip(points[first : first + count], 1e-9, 1 - 1e-9)

    def find_point(self, settings: Mapping[str, str]) -> FloatArray | None:
        """The point where every parameter has these values; None where one is out of its prior."""
        point = np.empty(len(self))
        for place, parameter in enumerate(self.parameters):
            share = parameter.prior.find_share(settings[parameter.name])
            if share is None:
                return None
            point[place] = share
        return point

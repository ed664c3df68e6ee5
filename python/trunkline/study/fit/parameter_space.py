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
        for place, parameter in enumerate(self.parameters):
            prior = parameter.prior
            is_scale = prior.is_continuous or prior.is_ordered or len(prior.readings) == 1
            groups += [place] * (1 if is_scale or not parameter.is_run else len(prior.readings))
        self.groups = np.array(groups)
        """Parameter that each coordinate of the emulator is of."""

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
        columns: list[FloatArray] = []
        for place, parameter in enumerate(self.parameters):
            share, readings = points[:, place], parameter.prior.readings
            if not parameter.is_run:
                columns.append(np.zeros(len(points)))
                continue
            if not readings:
                columns.append(share)
                continue
            number = np.minimum((share * len(readings)).astype(int), len(readings) - 1)
            if parameter.prior.is_ordered:
                columns.append(number / (len(readings) - 1))
            elif len(readings) == 1:
                columns.append(np.zeros(len(points)))
            else:
                columns += [(number == each) / np.sqrt(2) for each in range(len(readings))]
        return np.column_stack(columns)

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

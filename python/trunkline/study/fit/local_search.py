"""The next setting to run: near the trial whose values are nearest to the published ones.

Candidates differ from that trial in few parameters, and the emulator says which of them is nearest
to what was published: dynamic coordinate search (Regis and Shoemaker, Combining Radial Basis
Function Surrogates and Dynamic Coordinate Search in High-Dimensional Expensive Black-Box
Optimization, Engineering Optimization 45, 2013, section 3.2). The nearest is always one that was
run, so that it is no further away than the first trial, whatever the emulator believes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trunkline.study.fit.parameter_space import FloatArray, ParameterSpace

CANDIDATES = 400
"""Candidates among which the emulator chooses each point."""

STEP_SIZES = (0.15, 0.05, 0.3)
"""Standard deviations of a step, as shares of the prior's probability: one for a point in turn."""

MOVED_PARAMETERS = 4.0
"""A candidate differs from the nearest trial in so many parameters on average."""


def propose_points(
    space: ParameterSpace,
    nearest: FloatArray,
    measure: Callable[[FloatArray], FloatArray],
    count: int,
    seed: int,
) -> FloatArray:
    """Points of the unit cube that are worth a run.

    Parameters
    ----------
    nearest : ndarray of shape (parameters,)
        Point of the nearest trial.
    measure : callable
        Distances that points of shape (n, parameters) are believed to have.
    count : int
        How many points.
    seed : int
        The same seed gives the same points.

    Returns
    -------
    ndarray of shape (count, parameters)
    """
    rng = np.random.default_rng(seed)
    is_range = np.array([each.prior.is_range for each in space.parameters])
    chosen = []
    for number in range(count):
        size = STEP_SIZES[number % len(STEP_SIZES)]
        shape = (CANDIDATES, len(space))
        is_moved = rng.random(shape) < min(1.0, MOVED_PARAMETERS / len(space))
        is_moved[np.arange(CANDIDATES), rng.integers(len(space), size=CANDIDATES)] = True
        stepped = nearest + size * rng.standard_normal(shape)
        # A step beyond an end comes back from it.
        stepped = 1 - np.abs(1 - np.abs(stepped) % 2)
        moved = np.where(is_range, stepped, rng.random(shape))
        candidates = np.where(is_moved, moved, nearest).clip(1e-9, 1 - 1e-9)
        chosen.append(candidates[int(np.argmin(measure(candidates)))])
    return np.array(chosen)

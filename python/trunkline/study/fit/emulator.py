"""A regression that predicts runs at settings that were not run.

Gaussian processes over principal components: a trial runs the study at one setting. Its cells go
up and down together, so they are written as few components (Higdon et al., Computer Model
Calibration Using High-Dimensional Output, JASA 103, 2008), each a Gaussian process of the settings
with a linear part, a Matern 5/2 part whose length is its own for each parameter, and noise
(Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, equations 2.25, 2.26, 5.8,
5.9 and 5.12). Lengths have the prior of Hvarfner et al. (Vanilla Bayesian Optimization Performs
Great in High Dimensions, ICML 2024), which grows with the number of parameters, so that one that
does nothing is found to do nothing.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

from trunkline.study.fit.parameter_space import FloatArray

EXPLAINED_VARIANCE = 0.99
"""Share of the cells' variance over the trials that the components hold."""

MAX_COMPONENTS = 10

MAX_PLAIN_RATIO = 5.0
"""A positive cell whose largest value is so many times its median is predicted by its log."""

NEAR_TRIALS = 8
"""Trials that a local variance is about the mean of, at least."""

_ROOT_5 = np.sqrt(5.0)
_MIN_NOISE = 1e-6
_LENGTH_DEVIATION = np.sqrt(3.0)
_PART = 256
"""Settings that are predicted at a time, to bound the memory."""


class GaussianProcess:
    """One component as a function of the settings.

    Parameters
    ----------
    coordinates : ndarray of shape (trials, coordinates)
        Where it was run.
    groups : ndarray of shape (coordinates,)
        Parameter of each coordinate; those of one parameter share a length.
    values : ndarray of shape (trials,)
        The results, with mean 0 and variance 1.
    """

    def __init__(self, coordinates: FloatArray, groups: FloatArray, values: FloatArray) -> None:
        self.coordinates, self.groups, self.values = coordinates, groups, values
        self.count = int(groups.max()) + 1
        distances = (coordinates[:, None, :] - coordinates[None, :, :]) ** 2
        self._squares = np.stack(
            [distances[:, :, groups == each].sum(axis=2) for each in range(self.count)]
        )
        self._centred = coordinates - 0.5
        self._dot = self._centred @ self._centred.T
        self._log_length_mean = np.sqrt(2.0) + np.log(self.count) / 2
        start = np.concatenate(
            [np.full(self.count, min(self._log_length_mean, 1.0)), np.log([0.5, 0.5, 0.1])]
        )
        bounds = [(-3.0, 6.0)] * self.count + [(-7.0, 5.0)] * 2 + [(np.log(_MIN_NOISE), 2.0)]
        found = minimize(
            self.score, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 80}
        )
        self.lengths = np.exp(found.x[: self.count])
        self.variance, self.linear, self.noise = np.exp(found.x[self.count :])
        covariance = self._covariance(found.x)[0]
        self._factor = cholesky(covariance, lower=True)
        self.weights = cho_solve((self._factor, True), values)
        self.inverse_factor = solve_triangular(self._factor, np.eye(len(values)), lower=True)

    def _covariance(self, logs: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        lengths = np.exp(logs[: self.count])
        variance, linear, noise = np.exp(logs[self.count :])
        squared = np.tensordot(1.0 / lengths**2, self._squares, axes=1)
        root = _ROOT_5 * np.sqrt(squared)
        decay = np.exp(-root)
        matern = variance * (1 + root + 5 / 3 * squared) * decay
        # Derivative of the Matern part by the log of a length, but for its square and the length.
        slope = variance * 5 / 3 * (1 + root) * decay
        covariance = matern + linear * self._dot
        covariance[np.diag_indices_from(covariance)] += noise + 1e-9
        return covariance, matern, slope

    def score(self, logs: FloatArray) -> tuple[float, FloatArray]:
        """Negative log of the posterior density of the lengths and variances, and its gradient."""
        covariance, matern, slope = self._covariance(logs)
        try:
            factor = cholesky(covariance, lower=True)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(logs)
        weights = cho_solve((factor, True), self.values)
        inverse = cho_solve((factor, True), np.eye(len(self.values)))
        inner = np.outer(weights, weights) - inverse
        lengths = np.exp(logs[: self.count])
        _, linear, noise = np.exp(logs[self.count :])
        gradient = np.empty_like(logs)
        gradient[: self.count] = (
            -0.5 * np.tensordot(self._squares, inner * slope, axes=2) / lengths**2
        )
        gradient[self.count] = -0.5 * np.sum(inner * matern)
        gradient[self.count + 1] = -0.5 * linear * np.sum(inner * self._dot)
        gradient[self.count + 2] = -0.5 * noise * np.trace(inner)
        score = 0.5 * self.values @ weights + np.log(np.diag(factor)).sum()
        offset = (logs[: self.count] - self._log_length_mean) / _LENGTH_DEVIATION
        gradient[: self.count] += offset / _LENGTH_DEVIATION
        # Variances near that of the values, noise of any size.
        scales = logs[self.count : self.count + 2]
        gradient[self.count : self.count + 2] += scales / 4
        return float(score + 0.5 * offset @ offset + scales @ scales / 8), gradient

    @functools.cached_property
    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance, without noise, of each trial as the others predict it."""
        inverse_diagonal = np.sum(self.inverse_factor**2, axis=0)
        mean = self.values - self.weights / inverse_diagonal
        return mean, np.maximum(1.0 / inverse_diagonal - self.noise, 1e-12)


@dataclass(frozen=True)
class Prediction:
    """Predicted values of a trial.

    Parameters
    ----------
    mean : ndarray of shape (n, cells)
        Mean over runs.
    loadings : ndarray of shape (n, components, cells)
        Uncertainty of a mean that was not run: its error is the sum over the components of a
        standard normal number, the same for all cells, times these.
    roughness : ndarray of shape (n, cells)
        Variance of the mean that the components do not have, independent from cell to cell.
    run_variance : ndarray of shape (n, cells)
        Variance from run to run.
    """

    mean: FloatArray
    loadings: FloatArray
    roughness: FloatArray
    run_variance: FloatArray


class Emulator:
    """The cells of a study as functions of the settings.

    Parameters
    ----------
    coordinates : ndarray of shape (trials, coordinates)
        Where trials were run.
    groups : ndarray of shape (coordinates,)
        Parameter of each coordinate.
    outcomes : ndarray of shape (trials, runs, cells)
        Value of each cell in each run; two runs of a trial or more.
    """

    def __init__(self, coordinates: FloatArray, groups: FloatArray, outcomes: FloatArray) -> None:
        self.coordinates = coordinates
        means = outcomes.mean(axis=1)
        self._spreads = outcomes.var(axis=1, ddof=1)
        self.is_constant = means.std(axis=0) <= 0
        # Waiting times and losses grow by orders of magnitude: their logs are smoother.
        lowest, middle = means.min(axis=0), np.median(means, axis=0)
        self._is_log = (lowest > 0) & (means.max(axis=0) > MAX_PLAIN_RATIO * middle)
        levels = self._to_levels(means)
        level_spreads = self._spreads / outcomes.shape[1]
        level_spreads = np.where(
            self._is_log, level_spreads / np.where(self._is_log, means, 1.0) ** 2, level_spreads
        )
        self._centre = levels.mean(axis=0)
        self._scales = np.where(self.is_constant, 1.0, levels.std(axis=0))
        standard = (levels - self._centre) / self._scales
        _, singular, rows = np.linalg.svd(standard, full_matrices=False)
        shares = np.cumsum(singular**2) / max(float(np.sum(singular**2)), 1e-300)
        count = min(int(np.searchsorted(shares, EXPLAINED_VARIANCE)) + 1, MAX_COMPONENTS, len(rows))
        scores = standard @ rows[:count].T
        sizes = np.maximum(scores.std(axis=0), 1e-12)
        self._rows = rows[:count] * sizes[:, None] * self._scales
        self.processes = [
            GaussianProcess(coordinates, groups, scores[:, each] / sizes[each])
            for each in range(count)
        ]
        self._weights = np.stack([process.weights for process in self.processes])
        self._inverse_factors = np.stack([process.inverse_factor for process in self.processes])
        self._variances = np.array([process.variance for process in self.processes])
        self._linears = np.array([process.linear for process in self.processes])
        self._scales_of_lengths = np.column_stack(
            [1.0 / process.lengths[groups] ** 2 for process in self.processes]
        )
        self._nearness_scales = np.minimum(self._scales_of_lengths[:, 0], 16.0)
        left_out = [process.left_out for process in self.processes]
        predicted = np.column_stack([mean for mean, _ in left_out]) @ self._rows + self._centre
        unsure = np.column_stack([variance for _, variance in left_out]) @ self._rows**2
        self.left_out_errors = levels - predicted
        # Error beyond the processes and the run-to-run spread of a trial's mean.
        self._excess = self.left_out_errors**2 - unsure - level_spreads
        expected = unsure + np.maximum(self._excess.mean(axis=0), 0) + level_spreads
        self.left_out_z = self.left_out_errors / np.sqrt(np.maximum(expected, 1e-300))

    def _to_levels(self, values: FloatArray) -> FloatArray:
        """Values, or their logs where they grow by orders of magnitude."""
        return np.where(self._is_log, np.log(np.where(self._is_log, values, 1.0)), values)

    @property
    def explained_shares(self) -> FloatArray:
        """Share of each cell's variance over the trials that the other trials predict."""
        shares: FloatArray = 1 - np.mean(self.left_out_errors**2, axis=0) / self._scales**2
        return shares

    def predict(self, coordinates: FloatArray) -> Prediction:
        """Predict what trials would give.

        Parameters
        ----------
        coordinates : ndarray of shape (n, coordinates)
            Where.
        """
        parts = [
            self._predict_part(coordinates[first : first + _PART])
            for first in range(0, len(coordinates), _PART)
        ]
        if len(parts) == 1:
            return parts[0]
        return Prediction(
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.loadings for part in parts]),
            np.concatenate([part.roughness for part in parts]),
            np.concatenate([part.run_variance for part in parts]),
        )

    def _predict_part(self, coordinates: FloatArray) -> Prediction:
        steps = (coordinates[:, None, :] - self.coordinates[None, :, :]) ** 2
        squared = steps @ self._scales_of_lengths
        root = _ROOT_5 * np.sqrt(squared)
        centred = coordinates - 0.5
        dot = centred @ (self.coordinates - 0.5).T
        cross = self._variances * (1 + root + 5 / 3 * squared) * np.exp(-root)
        cross += self._linears * dot[:, :, None]
        levels = np.einsum("ntk,kt->nk", cross, self._weights) @ self._rows + self._centre
        solved = np.matmul(self._inverse_factors, cross.transpose(2, 1, 0))
        prior = self._variances + self._linears * np.sum(centred**2, axis=1)[:, None]
        unsure = np.maximum(prior - np.einsum("ktn,ktn->nk", solved, solved), 1e-12)
        nearness = _weigh_trials(steps @ self._nearness_scales)
        loadings = np.sqrt(unsure)[:, :, None] * self._rows[None, :, :]
        roughness = np.maximum(nearness @ self._excess, 0.0)
        means = levels
        if self._is_log.any():
            means = np.where(self._is_log, np.exp(np.where(self._is_log, levels, 0.0)), levels)
            slopes = np.where(self._is_log, means, 1.0)
            loadings = loadings * slopes[:, None, :]
            roughness = roughness * slopes**2
        return Prediction(means, loadings, roughness, nearness @ self._spreads)


def _weigh_trials(squared: FloatArray) -> FloatArray:
    """Compute the weights of trials for a local mean, by their squared distances.

    The bandwidth is the distance of a near trial, so that it is small where trials are dense.
    """
    count = squared.shape[1]
    near = min(max(NEAR_TRIALS, count // 10), count - 1)
    width = np.maximum(np.partition(squared, near, axis=1)[:, near : near + 1], 1e-9)
    weights = np.exp(-squared / width)
    normalised: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return normalised

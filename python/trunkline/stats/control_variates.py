"""Control variates: intervals that use an offered load whose mean is known.

In runs in which the sources happen to offer more than their mean, packets wait longer, too. The
part of a measure's spread that the offered load explains is taken out by regression on its
deviations from the known mean.

Source: S. S. Lavenberg and P. D. Welch, A perspective on the use of control variables to increase
the efficiency of Monte Carlo simulations, Management Science 27(3), 1981; A. M. Law, Simulation
Modeling and Analysis, section 11.4. For values that are normal given the controls the estimate is
without bias and the interval exact; for others both hold better with more runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trunkline.stats.holm import compute_paired_p
from trunkline.stats.interval import Interval, check_confidence, mean_interval, student_quantile

if TYPE_CHECKING:
    from trunkline.results import Results

MIN_CONTROLLED_RUNS = 8
"""Runs below which the regression has too few degrees of freedom to gain anything."""


@dataclass(frozen=True, slots=True)
class OfferedMean:
    """Mean load that a flow offers within the measured time, over all seeds.

    Parameters
    ----------
    column : {"bytes_sent", "packets_sent", "started"}
        What is counted: a column of ``flows``, or transfers, of ``completions``.
    mean : float
        Its mean.
    unit_bytes : float
        Mean size of one of what is counted [B]; 1 of bytes.
    """

    column: str
    mean: float
    unit_bytes: float


@dataclass(frozen=True, slots=True, eq=False)
class ControlledValues:
    """Values of a measure with the controls of the same runs.

    Parameters
    ----------
    values : sequence of float
        One a run.
    deviations : array, shape (runs, controls)
        Each control less its known mean.
    """

    values: Sequence[float]
    deviations: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ControlledMean:
    """A mean with the part taken out that controls explain."""

    mean: float  # Intercept of the least-squares plane through the values.
    error: float  # Its standard error.
    degrees: int  # Degrees of freedom: one less for each control.


def fit_controls(values: Sequence[float], deviations: NDArray[np.float64]) -> ControlledMean | None:
    """Fit a plane of the controls to independent values.

    Controls that never vary are left out. Returns: None below ``MIN_CONTROLLED_RUNS`` runs, without
    a control that varies, or if the values never vary.
    """
    n = len(values)
    if n < MIN_CONTROLLED_RUNS or min(values) == max(values):
        return None
    varying = deviations[:, np.ptp(deviations, axis=0) > 0]
    if not varying.shape[1]:
        return None
    observed = np.asarray(values, dtype=np.float64)
    # Columns of one length keep the rank's tolerance independent of the counts' size.
    plane = np.column_stack([np.ones(n), varying / np.linalg.norm(varying, axis=0)])
    coefficients, _, rank, _ = np.linalg.lstsq(plane, observed, rcond=None)
    residuals = observed - plane @ coefficients
    degrees = n - int(rank)
    intercept_variance = np.linalg.pinv(plane.T @ plane, hermitian=True)[0, 0]
    error = float(np.sqrt(residuals @ residuals / degrees * intercept_variance))
    return ControlledMean(float(coefficients[0]), error, degrees)


def controlled_interval(
    values: Sequence[float], deviations: NDArray[np.float64], *, confidence: float = 0.95
) -> Interval:
    """Mean and interval of independent values, with the part that controls explain taken out.

    Parameters
    ----------
    values : sequence of float
        One a run; at least one.
    deviations : array, shape (runs, controls)
        Each control less its known mean. Controls that never vary are left out.

    Returns
    -------
    Interval
        The intercept of the least-squares plane through the values, ``± t * its standard error``,
        with one degree of freedom less for each control. Below ``MIN_CONTROLLED_RUNS`` runs it is
        Student's interval of the mean.
    """
    fitted = fit_controls(values, deviations)
    if fitted is None:
        return mean_interval(values, confidence=confidence)
    check_confidence(confidence)
    half = float(student_quantile((1 + confidence) / 2, fitted.degrees) * fitted.error)
    return Interval(fitted.mean, fitted.mean - half, fitted.mean + half, len(values))


def compute_controlled_p(
    differences: Sequence[float], deviations: NDArray[np.float64]
) -> float | None:
    """Two-sided p-value of the test that the mean of a controlled interval is zero.

    Returns: As `compute_paired_p` does, whose value it is where that interval is Student's.
    """
    from scipy.special import stdtr

    fitted = fit_controls(differences, deviations)
    if fitted is None:
        return compute_paired_p(differences, [0.0] * len(differences))
    if fitted.error == 0:
        return 0.0 if fitted.mean else 1.0
    return float(2 * stdtr(fitted.degrees, -abs(fitted.mean / fitted.error)))


def read_offered_deviations(
    runs: Sequence[Results], offered_means: Mapping[str, OfferedMean]
) -> dict[str, NDArray[np.float64]]:
    """Bytes that each flow offered beyond its mean, run by run.

    Parameters
    ----------
    offered_means : mapping of str to OfferedMean
        By the flow's name.

    Returns
    -------
    dict
        By flow: an array of one value a run, whose mean over all seeds is zero.
    """
    deviations = {name: np.zeros(len(runs)) for name in offered_means}
    for number, run in enumerate(runs):
        counts = {
            (flow, column): count
            for column in ("bytes_sent", "packets_sent")
            for flow, count in zip(run.flows["flow"], run.flows[column], strict=True)
        }
        rows = run.completions
        for flow, sizes, count in zip(rows["flow"], rows["sizes"], rows["started"], strict=True):
            if sizes == "all":
                counts[flow, "started"] = count
        for name, offered in offered_means.items():
            beyond_mean = float(counts[name, offered.column] or 0) - offered.mean
            deviations[name][number] = beyond_mean * offered.unit_bytes
    return deviations


def select_controls(
    deviations: Mapping[str, NDArray[np.float64]], flow: str | None, runs: int
) -> NDArray[np.float64]:
    """Choose the controls of one row: its own flow's offer, and that of all others together.

    The choice does not depend on the values, which would bias the interval.

    flow: Name of the row's flow; None if it belongs to several.
    runs: Number of runs.
    Returns: Array of shape (runs, 0 to 2).
    """
    own = [] if flow is None or flow not in deviations else [deviations[flow]]
    others = [values for name, values in deviations.items() if name != flow]
    controls = own + ([np.sum(others, axis=0)] if others else [])
    return np.column_stack(controls) if controls else np.zeros((runs, 0))

"""Means of replications and their confidence intervals.

Source: Student, The probable error of a mean, Biometrika 6(1), 1908; A. M. Law, Simulation
Modeling and Analysis, section 4.5. Replications with different seeds are independent, and each
value is itself an average over a run, so that their mean is close to normal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval.

    Parameters
    ----------
    mean : float
        Mean of the values, in their unit.
    low, high : float or None
        Ends of the interval; None if there is one value, which has no spread.
    n : int
        Number of values.
    """

    mean: float
    low: float | None
    high: float | None
    n: int

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends; None if there is no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width; None if there is no interval."""
        return None if self.high is None else self.high - self.mean

    def at_least(self, min_half_width: float) -> Interval:
        """Widen the interval to at least this half width: the precision is no better."""
        if self.ends is None:
            return self
        low, high = self.ends
        low, high = min(low, self.mean - min_half_width), max(high, self.mean + min_half_width)
        return Interval(self.mean, low, high, self.n)

    def scale(self, factor: float) -> Interval:
        """The same in a unit of which one of the present is `factor`, above 0."""
        low, high = (None, None) if self.ends is None else (end * factor for end in self.ends)
        return Interval(self.mean * factor, low, high, self.n)

    def predict(self, runs: int) -> Interval:
        """Interval that holds the mean of `runs` further values with the same probability.

        A prediction interval, ``mean ± t * s * sqrt(1 / n + 1 / runs)``: W. Q. Meeker, G. J. Hahn
        and L. A. Escobar, Statistical Intervals. A further run is compared with this,
        and not with the interval of the mean, which no single run needs to be in.
        """
        if self.ends is None:
            return self
        wider = math.sqrt(1 + self.n / runs)
        low, high = (self.mean + (end - self.mean) * wider for end in self.ends)
        return Interval(self.mean, low, high, self.n)

    @property
    def wider_half_width(self) -> float | None:
        """The wider half of an interval that may lean to one side; None if there is none."""
        return None if self.ends is None else max(abs(end - self.mean) for end in self.ends)

    @property
    def relative_half_width(self) -> float | None:
        """The wider half of the interval over the mean's size; None if there is none.

        Zero where the interval has no width, infinite where the mean alone is zero.
        """
        half = self.wider_half_width
        if not half:
            return half
        return half / abs(self.mean) if self.mean else math.inf


def mean_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Mean and Student-t interval of independent values.

    Parameters
    ----------
    values : sequence of float
        One a replication; at least one.
    confidence : float, default 0.95
        Probability that the interval holds the true mean, above 0 and below 1.

    Returns
    -------
    Interval
        ``mean ± t * s / sqrt(n)``, with ``s`` the sample deviation (divisor ``n - 1``) and ``t``
        the quantile of Student's distribution with ``n - 1`` degrees of freedom.
    """
    n = len(values)
    if n == 0:
        raise ValueError("an interval needs at least one value")
    check_confidence(confidence)
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, None, None, n)
    least, greatest = min(values), max(values)
    if least == greatest:
        return Interval(least, least, greatest, n)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = student_quantile((1 + confidence) / 2, n - 1) * math.sqrt(variance / n)
    return Interval(mean, mean - half, mean + half, n)


def paired_difference(
    first: Sequence[float], second: Sequence[float], *, confidence: float = 0.95
) -> Interval:
    """Mean of ``first - second``, pair by pair, with its interval.

    Runs with the same seed share their random numbers, so the effect of chance on both cancels in
    the difference and the interval is narrower than that of two separate means.

    Parameters
    ----------
    first, second : sequence of float
        Values of the same seeds in the same order.
    """
    if len(first) != len(second):
        msg = f"pairs need as many values on each side, not {len(first)} and {len(second)}"
        raise ValueError(msg)
    differences = [a - b for a, b in zip(first, second, strict=True)]
    return mean_interval(differences, confidence=confidence)


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is no probability, such as 95."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be above 0 and below 1, not {confidence}")


def student_quantile(probability: float, degrees: float) -> float:
    """Quantile of Student's distribution with ``degrees`` degrees of freedom."""
    from scipy.special import stdtrit  # scipy.stats takes four times as long to import

    return float(stdtrit(degrees, probability))

"""Exact confidence interval of a share.

Source: C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits illustrated in the
case of the binomial, Biometrika 26(4), 1934. It has the true share at least as often as claimed,
whatever the share, also where all runs agree.
"""

from trunkline.stats.interval import Interval, check_confidence


def share_interval(hits: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Share of independent runs in which something happens, with its interval.

    Parameters
    ----------
    hits : int
        Runs in which it did [0 .. n].
    n : int
        Runs; at least one.
    confidence : float, default 0.95
        Probability that the interval holds the true share, above 0 and below 1.

    Returns
    -------
    Interval
        Of 0 to 1; seldom symmetric.
    """
    from scipy.special import betaincinv

    check_confidence(confidence)
    if not 0 <= hits <= n or n == 0:
        raise ValueError(f"{hits} of {n} is no share")
    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return Interval(hits / n, low, high, n)

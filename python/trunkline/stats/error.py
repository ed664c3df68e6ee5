"""Errors of our values against published ones."""

import math
from collections.abc import Sequence


def mean_absolute_percentage(simulated: Sequence[float], published: Sequence[float]) -> float:
    """Mean absolute percentage error: mean of ``|ours - published| / |published|``, in per cent.

    Parameters
    ----------
    simulated, published : sequence of float
        Values of the same cells in one unit; none published as zero.
    """
    pairs = _pair_values(simulated, published)
    return 100 * math.fsum(abs(a - b) / abs(b) for a, b in pairs) / len(pairs)


def mean_log_ratio(simulated: Sequence[float], published: Sequence[float]) -> float:
    """Mean of ``|ln(ours / published)|``, which counts twice as much and half as much alike.

    Parameters
    ----------
    simulated, published : sequence of float
        Positive values of the same cells in one unit.
    """
    pairs = _pair_values(simulated, published)
    return math.fsum(abs(math.log(a / b)) for a, b in pairs) / len(pairs)


def _pair_values(
    simulated: Sequence[float], published: Sequence[float]
) -> list[tuple[float, float]]:
    pairs = list(zip(simulated, published, strict=True))
    if not pairs:
        raise ValueError("an error needs at least one cell")
    return pairs

"""Sequential stopping: as many replications as an interval of a given width needs.

Source: A. M. Law, Simulation Modeling and Analysis, section 9.4.1 (relative precision): a half
width within the share *g* / (1 + *g*) of our mean is within the share *g* of the true one. To stop
when the interval looks narrow prefers runs that are alike by chance, so that the coverage is a
little below the level; a first look at 10 runs keeps the loss to a few per cent.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from trunkline.stats.control_variates import ControlledValues, controlled_interval
from trunkline.stats.interval import Interval, mean_interval

FIRST_RUNS = 10
ReplicationValues = Mapping[str, Sequence[float] | ControlledValues]


@dataclass(frozen=True, slots=True)
class Precision:
    """Precision after a number of replications.

    Parameters
    ----------
    runs : int
        Replications.
    reached : bool
        Whether every interval is as narrow as wanted.
    widest : str
        Name of the measure with the widest interval for its mean; empty if there is none.
    relative : float or None
        Half of that interval over the mean; None if there is no interval, as of one value, or
        the mean alone is zero.
    plain_runs : int or None
        Replications that probably give the same precision without control variates and without
        common random numbers; None if there were neither.
    """

    runs: int
    reached: bool
    widest: str
    relative: float | None
    plain_runs: int | None = None


def assess_precision(
    measures: ReplicationValues, target: float, *, confidence: float = 0.95
) -> Precision:
    """Compare the intervals of several measures with the required width.

    Parameters
    ----------
    measures : mapping of str to sequence of float or ControlledValues
        Values of the replications by the measure's name; one that never varied is exact.
    target : float
        Half width over the true mean, above 0 and below 1, e.g. 0.02.
    """
    check_target(target)
    plain_values = {
        name: each.values if isinstance(each, ControlledValues) else each
        for name, each in measures.items()
    }
    runs = max((len(values) for values in plain_values.values()), default=0)
    intervals = {
        name: controlled_interval(each.values, each.deviations, confidence=confidence)
        if isinstance(each, ControlledValues)
        else mean_interval(each, confidence=confidence)
        for name, each in measures.items()
        if plain_values[name]
    }
    widest, share = _find_widest(intervals, measures)
    if not widest:
        return Precision(runs, False, "", None)
    known = None if math.isinf(share) else share
    plain_runs = None
    if 0 < share < math.inf and any(
        isinstance(each, ControlledValues) for each in measures.values()
    ):
        plain_intervals = {
            name: mean_interval(values, confidence=confidence)
            for name, values in plain_values.items()
            if values
        }
        _, plain_share = _find_widest(plain_intervals, measures)
        if math.isfinite(plain_share):
            # The width falls as one over the root of the number of runs.
            plain_runs = math.ceil(runs * (plain_share / share) ** 2)
    return Precision(runs, share <= target / (1 + target), widest, known, plain_runs)


def _find_widest(
    intervals: Mapping[str, Interval], measures: ReplicationValues
) -> tuple[str, float]:
    """Name of the measure with the widest interval for its mean, and that share."""
    widest, widest_share = "", -1.0
    for name in measures:
        share = intervals[name].relative_half_width if name in intervals else None
        share = math.inf if share is None else share
        if share > widest_share:
            widest, widest_share = name, share
    return widest, widest_share


def plan_runs(reached_precision: Precision, target: float, *, max_runs: int) -> int:
    """Replications to have done by the next look: as many as now if it is time to stop.

    The width falls as one over the root of the number, which says how many are likely to do; at
    most the double is asked for at once, as the estimate of the spread may be far off.

    Parameters
    ----------
    max_runs : int
        Never more than this.
    """
    check_target(target)
    runs, share = reached_precision.runs, reached_precision.relative
    if reached_precision.reached:
        return runs
    wanted_runs = FIRST_RUNS
    if runs >= FIRST_RUNS:
        estimated_runs = math.inf if share is None else runs * (share * (1 + target) / target) ** 2
        wanted_runs = max(runs + 1, math.ceil(min(estimated_runs, 2 * runs)))
    return max(runs, min(wanted_runs, max_runs))


def until(
    run_more: Callable[[int, int], ReplicationValues],
    target: float,
    *,
    max_runs: int,
    confidence: float = 0.95,
) -> Precision:
    """Replicate until the intervals of all measures are narrow enough, or the cap is reached.

    Parameters
    ----------
    run_more : callable
        Runs the replications from one number up to, not including, another, and returns the
        values of all replications so far by measure.
    max_runs : int
        Maximum number of replications.

    Returns
    -------
    Precision
        What was reached. The numbers looked at depend on the values alone, not on the machine.
    """
    reached_precision = Precision(0, False, "", None)
    while (
        planned_runs := plan_runs(reached_precision, target, max_runs=max_runs)
    ) > reached_precision.runs:
        reached_precision = assess_precision(
            run_more(reached_precision.runs, planned_runs), target, confidence=confidence
        )
        reached_precision = replace(reached_precision, runs=planned_runs)
    return reached_precision


def check_target(target: float) -> None:
    """Refuse a precision that is no share, such as 2 for 2 %."""
    if not 0 < target < 1:
        raise ValueError(f"the precision must be above 0 and below 1, not {target}")

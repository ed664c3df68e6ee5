"""Histograms that merge, and quantiles with intervals from them.

The engine counts each delay in a bucket of a fixed layout: 64 to an octave, so that a bucket's
upper end is at most 1/64 above any value in it. Histograms of different runs, shards or machines
add up bucket by bucket, exactly and in any order.

Source: S. Asmussen and P. W. Glynn, Stochastic Simulation, section III.5 (sectioning): the
quantile of all runs together has less bias than the mean of the runs' quantiles; the spread of the
latter about it gives the interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from trunkline.results import Results
from trunkline.stats.interval import Interval, check_confidence, student_quantile

BUCKET_WIDTH_RATIO = 1 / 64  # Width of a bucket over its upper end, at most: an octave has 64.


class Histogram:
    """Counts by bucket.

    Parameters
    ----------
    counts : mapping of int to int, optional
        From the upper end of a bucket to its count; all of one layout.
    """

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self.counts = {end: n for end, n in sorted((counts or {}).items()) if n}
        self.total = sum(self.counts.values())

    @classmethod
    def merge(cls, parts: Iterable[Histogram]) -> Histogram:
        """Merge all that was counted in several."""
        counts: dict[int, int] = {}
        for part in parts:
            for end, n in part.counts.items():
                counts[end] = counts.get(end, 0) + n
        return cls(counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Histogram: {self.total} values in {len(self.counts)} buckets>"

    def find_quantile(self, probability: float) -> int | None:
        """Upper end of the bucket in which the value of rank ceil(probability n) lies.

        Parameters
        ----------
        probability : float
            Above 0, at most 1.

        Returns
        -------
        int or None
            In the unit of the buckets; None if nothing was counted.
        """
        if not 0 < probability <= 1:
            raise ValueError(f"probability must be above 0 and at most 1, not {probability}")
        rank = math.ceil(probability * self.total)
        cumulative = 0
        for end, n in self.counts.items():
            cumulative += n
            if cumulative >= rank:
                return end
        return None


def read_flow_delays(results: Results, flow: str) -> Histogram:
    """One-way delays of a flow in one run [ns]."""
    return read_delay_histograms(results).get(flow, Histogram())


def read_delay_histograms(results: Results, table: str = "flows") -> dict[str, Histogram]:
    """One-way delays in one run [ns], of all flows or aggregates that had a packet delivered.

    table: one of "flows", "aggregates"; whether each flow stands alone, or the flows of a DSCP
        together.
    """
    flows = results.flows
    names = flows["flow"] if table == "flows" else flows["dscp"]
    name_of = dict(zip(flows["flow"], names, strict=True))
    counts: dict[str, dict[int, int]] = {}
    greatest = dict(zip(flows["flow"], flows["delay_max_ns"], strict=True))
    delays = results.delays
    for flow, upper, n in zip(delays["flow"], delays["upper_ns"], delays["packets"], strict=True):
        flow_counts = counts.setdefault(str(name_of[flow]), {})
        # The last bucket ends where the delays do.
        end = min(int(each) for each in (upper, greatest[flow]) if each is not None)
        flow_counts[end] = flow_counts.get(end, 0) + int(n or 0)
    return {name: Histogram(flow_counts) for name, flow_counts in counts.items()}


def read_completion_histograms(results: Results) -> dict[tuple[str, str], Histogram]:
    """Completion times in one run [ns], by flow and bin of sizes, where one is complete."""
    counts: dict[tuple[str, str], dict[int, int]] = {}
    times = results.tables["completion_times"]
    columns = (times[name] for name in ("flow", "sizes", "upper_ns", "count"))
    for flow, sizes, end, n in zip(*columns, strict=True):
        counts.setdefault((str(flow), str(sizes)), {})[int(end or 0)] = int(n or 0)
    return {name: Histogram(bucket_counts) for name, bucket_counts in counts.items()}


def pooled_quantile(
    parts: Sequence[Histogram],
    probability: float,
    *,
    confidence: float = 0.95,
    merged: Histogram | None = None,
) -> Interval:
    """Quantile over all runs, with the interval by sections: each run is one.

    Parameters
    ----------
    parts : sequence of Histogram
        One an independent run; those that counted nothing are left out.
    probability : float
        Which quantile, above 0 and at most 1.
    confidence : float, default 0.95
        Probability that the interval holds the true quantile.
    merged : Histogram, optional
        All parts merged, if that is known already.

    Returns
    -------
    Interval
        ``mean`` is the quantile *q* of the merged histogram and the ends are *q* ∓ *t s* / √*n*
        with *s*² the sum of (quantile of a run − *q*)² over *n* − 1, *t* of *n* − 1 degrees of
        freedom, at least the width of a bucket. In the unit of the buckets.

    Raises
    ------
    ValueError
        Nothing was counted in any.
    """
    check_confidence(confidence)
    filled = [part for part in parts if part.total]
    point = (merged or Histogram.merge(filled)).find_quantile(probability)
    if point is None:
        raise ValueError("a quantile needs at least one value")
    n = len(filled)
    if n == 1:
        return Interval(float(point), None, None, n)
    each = [part.find_quantile(probability) or 0 for part in filled]
    spread = math.fsum((value - point) ** 2 for value in each) / (n - 1)
    half_width = student_quantile((1 + confidence) / 2, n - 1) * math.sqrt(spread / n)
    return Interval(float(point), point - half_width, point + half_width, n).at_least(
        point * BUCKET_WIDTH_RATIO
    )

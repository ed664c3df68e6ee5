"""Differences of means between two sides, paired by seed, with a verdict on each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trunkline.compare.side import Side
from trunkline.results import Results
from trunkline.stats import Interval, holm, mean_interval, paired_difference, paired_p
from trunkline.stats.interval import student_quantile
from trunkline.stats.metric import Metric, values

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric on both sides.

    Parameters
    ----------
    metric, row : str
        Column (``table.column``) and its row.
    a, b : Interval
        Mean of each side with its own interval.
    difference : Interval
        Mean of B − A over pairs of one seed, with its interval.
    unpaired_half : float or None
        Half width if the seeds had not been shared (Welch); None for one pair.
    correlation : float or None
        Correlation of the pairs; None where a side does not vary.
    p : float or None
        Two-sided p-value of the paired test; None for one pair.
    p_holm : float or None
        The same, adjusted for the number of metrics by Holm's procedure.
    verdict : str
        ``alike`` (every pair), ``B higher``, ``B lower``, ``within`` the margin,
        ``no difference shown``, or ``one pair``.
    """

    metric: str
    row: str
    a: Interval
    b: Interval
    difference: Interval
    unpaired_half: float | None
    correlation: float | None
    p: float | None
    p_holm: float | None
    verdict: str

    @property
    def relative(self) -> float | None:
        """Difference over the mean of A; None where that is zero."""
        return self.difference.mean / abs(self.a.mean) if self.a.mean else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides compared.

    Parameters
    ----------
    a, b : str
        Names of the sides.
    seeds : list of int
        Seeds of the pairs.
    differences : list of Difference
        In the order of metrics and rows.
    only_a, only_b : list of str
        Metrics that one side alone has.
    identical : bool
        Whether each pair has one results hash.
    within : float or None
        Margin of equivalence, as a share of A's mean.
    notes : list of str
        What to know before believing it, such as versions that differ.
    """

    a: str
    b: str
    seeds: list[int]
    differences: list[Difference]
    only_a: list[str]
    only_b: list[str]
    identical: bool
    within: float | None
    notes: list[str]

    @property
    def held(self) -> bool:
        """Whether the sides count as the same.

        With a margin: every difference is sure to be within it. Without: none is shown, and there
        are enough runs to show one. A metric that only one side has is a difference.
        """
        if self.identical:
            return True
        good = {"alike", "within"} if self.within is not None else {"alike", "no difference shown"}
        same_rows = not self.only_a and not self.only_b
        return same_rows and all(each.verdict in good for each in self.differences)

    def verdict(self) -> str:
        """The outcome in a line."""
        count = len(self.differences)
        if self.identical:
            return f"identical: all {len(self.seeds)} runs have the same results hash"
        shown = sum(each.verdict in ("B higher", "B lower") for each in self.differences)
        if any(each.verdict == "one pair" for each in self.differences):
            return "NOT ENOUGH RUNS: one pair shows no spread, so nothing can be said of chance"
        if self.within is not None:
            inside = sum(each.verdict in ("within", "alike") for each in self.differences)
            margin = f"± {100 * self.within:g} %"
            return f"{inside} of {count} metrics are within {margin}, {shown} differ beyond it"
        if shown:
            return f"{shown} of {count} metrics differ (Holm: at most 5 % chance of one false find)"
        return f"no difference shown in {count} metrics over {len(self.seeds)} pairs"

    def to_json(self) -> dict[str, Any]:
        """As ``trunkline compare --json`` prints it."""
        about = asdict(self)
        about["differences"] = [
            {**asdict(each), "relative": each.relative} for each in self.differences
        ]
        return {"schema": 1, **about, "held": self.held, "verdict": self.verdict()}


def compare(
    a: Side,
    b: Side,
    metrics: Sequence[Metric],
    *,
    runs: int = 10,
    seed: int | None = None,
    within: float | None = None,
    threads: int | None = None,
) -> Comparison:
    """Compare two sides over runs of the same seeds.

    Sides on disk are compared over the seeds that both have; a scenario beside them is run with
    theirs.

    Parameters
    ----------
    a, b : Side
        What to compare.
    metrics : sequence of Metric
        What to look at.
    runs : int, default 10
        Seeds, where both sides are run.
    seed : int, optional
        The first of them; that of A's scenario if left out.
    within : float, optional
        Margin of equivalence, as a share of A's mean.
    threads : int, optional
        Runs at once; all cores if left out.

    Raises
    ------
    ValueError
        No seed is on both sides, or a metric names a row that is on neither.
    """
    seeds = seeds_of(a, b, runs, seed)
    of_a, of_b = a.take(seeds, threads=threads), b.take(seeds, threads=threads)
    in_a, in_b = _known(of_a, metrics), _known(of_b, metrics)
    for metric in metrics:
        if metric.row and not any(key[1] == metric.row for key in (*in_a, *in_b)):
            msg = f"{metric.table} has no row {metric.row!r} on either side"
            raise ValueError(msg)
    found: list[Difference] = []
    for key in in_a:
        if key not in in_b:
            continue
        pairs = [
            (x, y)
            for x, y in zip(in_a[key], in_b[key], strict=True)
            if x is not None and y is not None
        ]
        if pairs:
            found.append(_difference(key, [x for x, _ in pairs], [y for _, y in pairs]))
    return Comparison(
        a.name,
        b.name,
        seeds,
        _judged(found, within),
        [" of ".join(key) for key in in_a if key not in in_b],
        [" of ".join(key) for key in in_b if key not in in_a],
        all(x.hash() == y.hash() for x, y in zip(of_a, of_b, strict=True)),
        within,
        _notes(a, b, of_a, of_b),
    )


def seeds_of(a: Side, b: Side, runs: int, seed: int | None) -> list[int]:
    """Seeds of the pairs: those that sides on disk have in common, else consecutive ones.

    Raises
    ------
    ValueError
        There are none.
    """
    if a.stored or b.stored:
        chosen = [each for each in (a, b) if each.stored]
        seeds = [each for each in chosen[0].runs if all(each in side.runs for side in chosen)]
        if not seeds:
            msg = f"{a.name} and {b.name} have no seed in common, so no runs to pair"
            raise ValueError(msg)
        return seeds
    assert a.network is not None
    first = int(a.network["run"]["seed"]) if seed is None else seed
    if first + runs > 2**64:
        msg = f"seed {first} with {runs} runs goes beyond 2^64 - 1"
        raise ValueError(msg)
    return list(range(first, first + runs))


def _known(runs: Sequence[Results], metrics: Sequence[Metric]) -> dict[Any, list[float | None]]:
    every = [Metric(metric.table, metric.column) for metric in metrics]
    named = {(f"{m.table}.{m.column}", m.row) for m in metrics if m.row}
    whole = {f"{m.table}.{m.column}" for m in metrics if not m.row}
    return {
        key: its
        for key, its in values(runs, dict.fromkeys(every)).items()
        if (key in named or key[0] in whole) and any(value is not None for value in its)
    }


def _difference(key: tuple[str, str], first: list[float], second: list[float]) -> Difference:
    n = len(first)
    a, b = mean_interval(first), mean_interval(second)
    difference = paired_difference(second, first)
    unpaired = correlation = None
    if n > 1:
        spread_a = math.fsum((x - a.mean) ** 2 for x in first) / (n - 1)
        spread_b = math.fsum((y - b.mean) ** 2 for y in second) / (n - 1)
        unpaired = _welch_half(spread_a, spread_b, n)
        if spread_a > 0 and spread_b > 0:
            pairs = zip(first, second, strict=True)
            both = math.fsum((x - a.mean) * (y - b.mean) for x, y in pairs) / (n - 1)
            correlation = both / math.sqrt(spread_a * spread_b)
    p = paired_p(second, first)
    return Difference(*key, a, b, difference, unpaired, correlation, p, None, "")


def _welch_half(first: float, second: float, n: int) -> float:
    """Half width of the difference of two separate means (Welch, Biometrika 34, 1947)."""
    total = first + second
    if total == 0:
        return 0.0
    degrees = (n - 1) * total**2 / (first**2 + second**2)
    return student_quantile(0.975, degrees) * math.sqrt(total / n)


def _judged(found: list[Difference], within: float | None) -> list[Difference]:
    adjusted = iter(holm([each.p for each in found if each.p is not None]))
    judged = []
    for each in found:
        p_holm = None if each.p is None else next(adjusted)
        verdict = _verdict(each, p_holm, within)
        fields = {name: getattr(each, name) for name in Difference.__slots__}
        judged.append(Difference(**{**fields, "p_holm": p_holm, "verdict": verdict}))
    return judged


def _verdict(each: Difference, p_holm: float | None, within: float | None) -> str:
    low, high = each.difference.low, each.difference.high
    if low is None or high is None or p_holm is None:
        return "alike" if each.difference.mean == 0 else "one pair"
    if low == high == 0:
        return "alike"
    margin = None if within is None else within * abs(each.a.mean)
    if margin is not None and -margin <= low <= high <= margin:
        return "within"
    if p_holm < LEVEL:
        return "B higher" if each.difference.mean > 0 else "B lower"
    return "no difference shown"


def _notes(a: Side, b: Side, of_a: Sequence[Results], of_b: Sequence[Results]) -> list[str]:
    notes = []
    versions = [of_a[0].provenance.version, of_b[0].provenance.version]
    if versions[0] != versions[1]:
        notes.append(f"made by versions {versions[0]} (A) and {versions[1]} (B)")
    if len(of_a) > 1 and all(len({run.hash() for run in runs}) == 1 for runs in (of_a, of_b)):
        notes.append("nothing in either side is random: one pair tells all, and p says nothing")
    spare = [len(side.runs) - len(of_a) for side in (a, b)]
    if any(spare):
        notes.append(f"seeds on one side alone are left out: {spare[0]} of A, {spare[1]} of B")
    measured = [of_a[0].summary["measured_s"], of_b[0].summary["measured_s"]]
    if measured[0] != measured[1]:
        notes.append(f"measured times differ: {measured[0]:g} s (A) and {measured[1]:g} s (B)")
    return notes

"""Differences of means between two sides, paired by seed where they can be, with verdicts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trunkline import notebook_form
from trunkline.compare.operand import ComparisonOperand
from trunkline.results import Results
from trunkline.stats import (
    Interval,
    Precision,
    compute_unpaired_p,
    holm,
    mean_interval,
    plan_runs,
    unpaired_difference,
)
from trunkline.stats.control_variates import (
    OfferedMean,
    compute_controlled_p,
    controlled_interval,
    read_offered_deviations,
    select_controls,
)
from trunkline.stats.metric import Metric, collect_values, find_flow_of_row

FloatArray = NDArray[np.float64]
OfferedMeans = Mapping[str, OfferedMean]

SIGNIFICANCE_LEVEL = 0.05
DEFAULT_COMPARED_METRICS = tuple(
    Metric("flows", name) for name in ("goodput_bit_s", "delay_mean_s", "delay_p99_s", "loss_ratio")
)
"""Metrics that a comparison uses by default."""


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """One metric on both sides."""

    # metric, row: Column (``table.column``) and its row.
    metric: str
    row: str
    # a, b: Mean of each side with its own interval.
    a: Interval
    b: Interval
    # Mean of B − A over pairs of one seed, or of separate means (Welch), with its interval.
    difference: Interval
    unpaired_half: float | None  # Half width of separate means; None for one run.
    # Correlation of the pairs; None without pairs, or where a side does not vary.
    correlation: float | None
    p: float | None  # Two-sided p-value of the test that goes with the interval; None for one run.
    p_holm: float | None  # The same, adjusted for the number of metrics by Holm's procedure.
    # ``alike`` (every pair), ``B higher``, ``B lower``, ``within`` the margin, ``no difference
    # shown``, or ``one run``.
    verdict: str

    @property
    def relative_difference(self) -> float | None:
        """Difference over the mean of A; None where that is zero."""
        return self.difference.mean / abs(self.a.mean) if self.a.mean else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides compared."""

    # a, b: Names of the sides.
    a: str
    b: str
    # seeds, seeds_b: Seeds of A and of B.
    seeds: list[int]
    seeds_b: list[int]
    paired: bool  # Whether they are the same, so that differences are those of pairs.
    differences: list[MetricDifference]  # In the order of metrics and rows.
    # only_a, only_b: Metrics that one side alone has.
    only_a: list[str]
    only_b: list[str]
    # Metrics that in some pairs have a value on one side alone, and in how many: nothing arrived on
    # the other.
    one_sided: list[str]
    identical: bool  # Whether each pair has one results hash.
    within: float | None  # Margin of equivalence, as a share of A's mean.
    notes: list[str]  # Cautions, such as versions that differ.

    @property
    def held(self) -> bool:
        """Whether the sides count as the same.

        With a margin: every difference is sure to be within it. Without: none is shown, and there
        are enough runs to show one. A metric that only one side has, be it in one pair, is a
        difference.
        """
        if self.identical:
            return True
        good = {"alike", "within"} if self.within is not None else {"alike", "no difference shown"}
        same_rows = not self.only_a and not self.only_b and not self.one_sided
        return same_rows and all(each.verdict in good for each in self.differences)

    def verdict(self) -> str:
        """The outcome in a line."""
        count = len(self.differences)
        if self.identical:
            runs = "both runs" if len(self.seeds) == 1 else f"all {len(self.seeds)} runs"
            return f"identical: {runs} have the same results hash"
        shown_count = sum(each.verdict in ("B higher", "B lower") for each in self.differences)
        if any(each.verdict == "one run" for each in self.differences):
            return "NOT ENOUGH RUNS: one run shows no spread, so chance cannot be judged"
        if self.within is not None:
            inside = sum(each.verdict in ("within", "alike") for each in self.differences)
            margin = f"± {100 * self.within:g} %"
            return (
                f"{inside} of {count} metrics are within {margin}, {shown_count} differ beyond it"
            )
        if shown_count:
            return (
                f"{shown_count} of {count} metrics differ (Holm: at most 5 % chance of "
                f"one false find)"
            )
        if self.one_sided:
            have = "1 has" if len(self.one_sided) == 1 else f"{len(self.one_sided)} have"
            return (
                f"no difference shown in {count} metrics over {len(self.seeds)} pairs; "
                f"{have} a value on one side alone in some"
            )
        runs = f"{len(self.seeds)} pairs"
        if not self.paired:
            runs = f"{len(self.seeds)} and {len(self.seeds_b)} runs"
        return f"no difference shown in {count} metrics over {runs}"

    def list_largest(self, max_count: int) -> list[MetricDifference]:
        """List all differences if there are no more than `max_count`, else the largest.

        Those that are shown not to be chance come first, each by how much of A's mean it is.
        """
        if len(self.differences) <= max_count:
            return self.differences

        def size(each: MetricDifference) -> tuple[bool, float]:
            none = math.inf if each.difference.mean else 0.0
            share = none if each.relative_difference is None else abs(each.relative_difference)
            return each.verdict in ("B higher", "B lower"), share

        return sorted(self.differences, key=size, reverse=True)[:max_count]

    def _repr_html_(self) -> str:
        return notebook_form.render_html("comparison", self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return notebook_form.build_mime_bundle("comparison", self)

    def assess_precision(self, target: float) -> Precision:
        """Assess how sure the differences are.

        target: Half of the 95 % interval of a difference over the larger of the two means.
        """
        widest, widest_share = "", -1.0
        for each in self.differences:
            half_width = each.difference.half_width
            size = max(abs(each.a.mean), abs(each.b.mean))
            share = math.inf if half_width is None else half_width / size if size else 0.0
            if share > widest_share:
                widest, widest_share = f"{each.metric} of {each.row}", share
        known = None if not widest or math.isinf(widest_share) else widest_share
        pairs = len(self.seeds)
        return Precision(
            pairs,
            bool(widest) and widest_share <= target,
            widest,
            known,
            self._count_plain_runs(known) if self.paired and known else None,
        )

    def _count_plain_runs(self, share: float) -> int:
        """Runs of each side with seeds of its own that probably make the widest interval as narrow.

        share: Half of the widest interval of a difference over the larger mean, above 0.
        """
        plain_shares = [
            each.unpaired_half / size
            for each in self.differences
            if each.unpaired_half is not None
            and (size := max(abs(each.a.mean), abs(each.b.mean))) > 0
        ]
        # The width falls as one over the root of the number of runs.
        return math.ceil(len(self.seeds) * (max(plain_shares) / share) ** 2)

    def to_json(self) -> dict[str, Any]:
        """Build the object that ``trunkline compare --json`` prints."""
        about = asdict(self)
        about["differences"] = [
            {**asdict(each), "relative": each.relative_difference} for each in self.differences
        ]
        return {"schema": 1, **about, "held": self.held, "verdict": self.verdict()}


def compare_operands(
    a: ComparisonOperand,
    b: ComparisonOperand,
    metrics: Sequence[Metric],
    *,
    runs: int = 10,
    seed: int | None = None,
    within: float | None = None,
    threads: int | None = None,
    offered_means: tuple[OfferedMeans, OfferedMeans] | None = None,
) -> Comparison:
    """Compare two sides over runs of the same seeds, or over separate runs where they share none.

    Sides on disk are compared over the seeds that both have; a scenario next to them is run with
    theirs. Two sides on disk with fewer than two seeds in common are not paired.

    Parameters
    ----------
    seed : int, optional
        The first of them; that of A's scenario if left out.
    within : float, optional
        Margin of equivalence, as a share of A's mean.
    threads : int, optional
        Runs at once; all cores if left out.
    offered_means : tuple of two mappings, optional
        Known mean loads of A's and of B's flows, for intervals by control variates.

    Raises
    ------
    ValueError
        A metric names a row that is on neither side, or there are control variates but no pairs.
    """
    seeds, seeds_b = _choose_seeds(a, b, runs, seed)
    paired = seeds == seeds_b
    if offered_means is not None and not paired:
        raise ValueError("control variates need runs of the same seeds on both sides")
    runs_a, runs_b = a.get_runs(seeds, threads=threads), b.get_runs(seeds_b, threads=threads)
    values_by_key_a = _collect_known_values(runs_a, metrics)
    values_by_key_b = _collect_known_values(runs_b, metrics)
    for metric in metrics:
        if metric.row and not any(
            key[1] == metric.row for key in (*values_by_key_a, *values_by_key_b)
        ):
            raise ValueError(f"{metric.table} has no row {metric.row!r} on either side")
    sides = zip((runs_a, runs_b), offered_means or ({}, {}), strict=True)
    deviations = [read_offered_deviations(runs, means) for runs, means in sides]
    metric_differences: list[MetricDifference] = []
    one_sided: list[str] = []
    for key in values_by_key_a:
        if key not in values_by_key_b:
            continue
        first, second = values_by_key_a[key], values_by_key_b[key]
        controls = None
        if paired:
            pairs = list(zip(first, second, strict=True))
            if lone := sum((x is None) != (y is None) for x, y in pairs):
                one_sided.append(f"{' of '.join(key)}, {lone} of {len(pairs)} pairs")
            is_known = [x is not None and y is not None for x, y in pairs]
            # Sides that offer the same have each control twice, which changes nothing.
            controls = np.hstack(
                [select_controls(each, find_flow_of_row(*key), len(pairs)) for each in deviations]
            )[is_known]
            pairs = [pair for pair, known in zip(pairs, is_known, strict=True) if known]
            first, second = [x for x, _ in pairs], [y for _, y in pairs]
        values_a, values_b = ([v for v in side if v is not None] for side in (first, second))
        if values_a and values_b:
            metric_differences.append(_build_difference(key, values_a, values_b, controls))
    return Comparison(
        a.name,
        b.name,
        seeds,
        seeds_b,
        paired,
        _judge_differences(metric_differences, within),
        [" of ".join(key) for key in values_by_key_a if key not in values_by_key_b],
        [" of ".join(key) for key in values_by_key_b if key not in values_by_key_a],
        one_sided,
        paired and all(x.hash() == y.hash() for x, y in zip(runs_a, runs_b, strict=True)),
        within,
        _list_notes(a, b, runs_a, runs_b),
    )


def compare_until_precise(
    a: ComparisonOperand,
    b: ComparisonOperand,
    metrics: Sequence[Metric],
    target: float,
    *,
    max_pairs: int,
    seed: int | None = None,
    within: float | None = None,
    threads: int | None = None,
    offered_means: tuple[OfferedMeans, OfferedMeans] | None = None,
) -> tuple[Comparison, Precision]:
    """Compare two scenarios over as many pairs as their differences need.

    target: Half of the 95 % interval of a difference over the larger of the two means.
    max_pairs: Never more pairs than this.
    offered_means: As `compare_operands` takes them.
    """
    reached_precision = Precision(0, False, "", None)
    while (
        planned_pairs := plan_runs(reached_precision, target, max_runs=max_pairs)
    ) > reached_precision.runs:
        comparison = compare_operands(
            a,
            b,
            metrics,
            runs=planned_pairs,
            seed=seed,
            within=within,
            threads=threads,
            offered_means=offered_means,
        )
        reached_precision = comparison.assess_precision(target)
    return comparison, reached_precision


def list_common_seeds(
    a: ComparisonOperand, b: ComparisonOperand, runs: int, seed: int | None
) -> list[int]:
    """List the seeds that both sides have or can have; none if two sides on disk share none.

    Raises ValueError: They go beyond 2^64 - 1.
    """
    if a.is_stored or b.is_stored:
        chosen = [each for each in (a, b) if each.is_stored]
        return [each for each in chosen[0].runs if all(each in side.runs for side in chosen)]
    assert a.network is not None
    first = int(a.network["run"]["seed"]) if seed is None else seed
    if first + runs > 2**64:
        raise ValueError(f"seed {first} with {runs} runs goes beyond 2^64 - 1")
    return list(range(first, first + runs))


def _choose_seeds(
    a: ComparisonOperand, b: ComparisonOperand, runs: int, seed: int | None
) -> tuple[list[int], list[int]]:
    """Choose the seeds of A and of B: the same if they can be paired, else all that each has."""
    common = list_common_seeds(a, b, runs, seed)
    # One pair of many runs would waste the others.
    is_unpaired = a.is_stored and b.is_stored and len(common) < min(2, len(a.runs), len(b.runs))
    return (list(a.runs), list(b.runs)) if is_unpaired else (common, common)


def _collect_known_values(
    runs: Sequence[Results], metrics: Sequence[Metric]
) -> dict[Any, list[float | None]]:
    every = [Metric(metric.table, metric.column) for metric in metrics]
    named_rows = {(f"{m.table}.{m.column}", m.row) for m in metrics if m.row}
    whole_columns = {f"{m.table}.{m.column}" for m in metrics if not m.row}
    return {
        key: run_values
        for key, run_values in collect_values(runs, dict.fromkeys(every)).items()
        if (key in named_rows or key[0] in whole_columns)
        and any(value is not None for value in run_values)
    }


def _build_difference(
    key: tuple[str, str],
    first: list[float],
    second: list[float],
    controls: FloatArray | None,
) -> MetricDifference:
    """Build the difference of two sides.

    controls: Control variates of pairs, shape (pairs, 0 to 4); None if the sides are not paired.
    """
    a, b = mean_interval(first), mean_interval(second)
    separate_difference = unpaired_difference(second, first)
    if controls is None:
        p = compute_unpaired_p(second, first)
        return MetricDifference(
            *key, a, b, separate_difference, separate_difference.half_width, None, p, None, ""
        )
    correlation = None
    spread_a = math.fsum((x - a.mean) ** 2 for x in first)
    spread_b = math.fsum((y - b.mean) ** 2 for y in second)
    if spread_a > 0 and spread_b > 0:
        pairs = zip(first, second, strict=True)
        covariance = math.fsum((x - a.mean) * (y - b.mean) for x, y in pairs)
        correlation = covariance / math.sqrt(spread_a * spread_b)
    differences = [y - x for x, y in zip(first, second, strict=True)]
    difference = controlled_interval(differences, controls)
    p = compute_controlled_p(differences, controls)
    return MetricDifference(
        *key, a, b, difference, separate_difference.half_width, correlation, p, None, ""
    )


def _judge_differences(
    metric_differences: list[MetricDifference], within: float | None
) -> list[MetricDifference]:
    adjusted = iter(holm([each.p for each in metric_differences if each.p is not None]))
    judged = []
    for each in metric_differences:
        p_holm = None if each.p is None else next(adjusted)
        verdict = _judge_difference(each, p_holm, within)
        judged.append(replace(each, p_holm=p_holm, verdict=verdict))
    return judged


def _judge_difference(
    metric_difference: MetricDifference, p_holm: float | None, within: float | None
) -> str:
    low, high = metric_difference.difference.low, metric_difference.difference.high
    if low is None or high is None or p_holm is None:
        return "alike" if metric_difference.difference.mean == 0 else "one run"
    if low == high == 0:
        return "alike"
    margin = None if within is None else within * abs(metric_difference.a.mean)
    if margin is not None and -margin <= low <= high <= margin:
        return "within"
    if p_holm < SIGNIFICANCE_LEVEL:
        return "B higher" if metric_difference.difference.mean > 0 else "B lower"
    return "no difference shown"


def _list_notes(
    a: ComparisonOperand, b: ComparisonOperand, runs_a: Sequence[Results], runs_b: Sequence[Results]
) -> list[str]:
    notes = []
    versions = [runs_a[0].provenance.version, runs_b[0].provenance.version]
    if versions[0] != versions[1]:
        notes.append(f"made by versions {versions[0]} (A) and {versions[1]} (B)")
    if len(runs_a) > 1 and all(len({run.hash() for run in runs}) == 1 for runs in (runs_a, runs_b)):
        notes.append("neither side is random: one pair shows everything, and p has no meaning")
    if not {run.seed for run in runs_a} & {run.seed for run in runs_b}:
        notes.append("no seed is on both sides: separate means, Welch's interval, wider than pairs")
    elif [run.seed for run in runs_a] != [run.seed for run in runs_b]:
        notes.append("one seed alone is on both sides: separate means, Welch's interval")
    spare = [len(side.runs) - len(runs_a) for side in (a, b)]
    if [run.seed for run in runs_a] == [run.seed for run in runs_b] and any(spare):
        notes.append(f"seeds on one side alone are left out: {spare[0]} of A, {spare[1]} of B")
    measured = [runs_a[0].summary["measured_s"], runs_b[0].summary["measured_s"]]
    if measured[0] != measured[1]:
        notes.append(f"measured times differ: {measured[0]:g} s (A) and {measured[1]:g} s (B)")
    return notes

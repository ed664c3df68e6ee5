"""Distributions of one-way delays, from the histograms that every run keeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from trunkline.plot.canvas import add_legend, choose_line_style, create_canvas, escape_plot_text
from trunkline.plot.figure import apply_house_style
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource, name_line
from trunkline.stats.histogram import Histogram, read_delay_histograms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MS_PER_NS = 1e-6  # Milliseconds in a nanosecond.
MAX_DENSITY_BARS = 50
ATOM_RATIO = 4
"""Packets of the first bucket over those of the next above which the first did not wait."""
FIT_KINDS = ("exponential", "normal", "gamma", "lognormal")


def cdf(sources: Sequence[PlotSource], choice: PlotChoice) -> Figure:
    """Draw the share of packets whose one-way delay is at most so much.

    sources: Results; all runs of each together.
    Raises MissingData: No packet arrived.
    """
    with apply_house_style():
        figure, axes = create_canvas(
            choice.title or "Distribution of one-way delays", "delay [ms]", "share of packets"
        )
        for number, (name, histogram) in enumerate(_collect_histograms(sources, choice)):
            times_ms, shares = compute_cumulative(histogram, MS_PER_NS, histogram.total)
            axes.plot(
                times_ms,
                shares,
                label=escape_plot_text(name),
                drawstyle="steps-post",
                **choose_line_style(number),
            )
        axes.set_ylim(0, 1.01)
        add_legend(axes)
    return figure


def compute_cumulative(
    delay_counts: Histogram, unit: float, total: int
) -> tuple[list[float], list[float]]:
    """Make the steps of a distribution: upper ends of buckets times `unit`, shares of `total`.

    They begin at the lower end of the first bucket, below which nothing is.
    """
    ends = [end * unit for end in delay_counts.counts]
    shares = [
        cumulative_count / total for cumulative_count in accumulate(delay_counts.counts.values())
    ]
    return [ends[0] * 63 / 64, *ends], [0.0, *shares]


def histogram(sources: Sequence[PlotSource], choice: PlotChoice) -> Figure:
    """Draw the density of one-way delays, and a distribution fitted to its first two moments.

    sources: Results; all runs of each together.
    choice: Flows to draw, and the distribution: one of ``FITS``, ``best`` for the likeliest of
        them, or ``none``.
    Raises MissingData: No packet arrived.
    """
    with apply_house_style():
        figure, axes = create_canvas(
            choice.title or "Density of one-way delays", "delay [ms]", "density [1/ms]"
        )
        for number, (name, found) in enumerate(_collect_histograms(sources, choice)):
            colour = choose_line_style(number)["color"]
            edges, density = compute_densities(found)
            axes.stairs(
                density, edges, fill=True, alpha=0.35, color=colour, label=escape_plot_text(name)
            )
            if choice.fit != "none":
                fit = fit_distribution(found, choice.fit)
                if fit is not None:
                    grid = [
                        edges[0] + (edges[-1] - edges[0]) * step / 400 for step in range(1, 401)
                    ]
                    axes.plot(
                        grid,
                        [fit.pdf(x) for x in grid],
                        color=colour,
                        linewidth=1.6,
                        label=f"{fit.about}, distance {fit.distance:.3f}",
                    )
                    # A density that is infinite at its end would flatten the rest.
                    axes.set_ylim(top=1.25 * max(density))
        axes.legend(loc="upper right", fontsize=9)
    return figure


def compute_densities(delay_counts: Histogram) -> tuple[list[float], list[float]]:
    """Compute a histogram in bars of equal width up to the 99.9th percentile.

    delay_counts: Counts of delays [ns].
    Returns: Edges [ms], one more than bars, and densities [1/ms].
    """
    ends = list(delay_counts.counts)
    low = ends[0] * 63 / 64 * MS_PER_NS
    high = max((delay_counts.find_quantile(0.999) or ends[-1]) * MS_PER_NS, low * 1.001 + 1e-9)
    # Bars narrower than the buckets would show these.
    bars = max(5, min(MAX_DENSITY_BARS, math.floor((high - low) / (high / 64)), len(ends)))
    width = (high - low) / bars
    sums = [0.0] * bars
    for end, count in delay_counts.counts.items():
        # Spread over the bucket, which begins at 63/64 of its end at the least.
        left, right = max(end * 63 / 64 * MS_PER_NS, low), end * MS_PER_NS
        span = max(right - left, 1e-12)
        for bar in range(bars):
            a, b = low + bar * width, low + (bar + 1) * width
            overlap = min(b, right) - max(a, left)
            if overlap > 0:
                sums[bar] += count * overlap / span
    edges = [low + bar * width for bar in range(bars + 1)]
    return edges, [each / (delay_counts.total * width) for each in sums]


@dataclass(frozen=True, slots=True)
class FittedDistribution:
    """A distribution with the mean and the variance of a histogram."""

    about: str
    pdf: Callable[[float], float]  # Density [1/ms] at a delay [ms].
    distance: float  # Greatest difference of the distribution functions (Kolmogorov).
    likelihood: float  # Mean logarithm of the probabilities that it gives the buckets.


def fit_distribution(delay_counts: Histogram, kind: str) -> FittedDistribution | None:
    """Fit by moments, counting from the least delay.

    Where many packets have the least delay, as where a queue is often empty, these are told apart
    and the distribution describes the others.

    delay_counts: Counts of delays [ns].
    kind: One of ``FITS``, or ``best``.
    Returns: None where all delays are alike.
    """
    pairs = [(end * MS_PER_NS, count) for end, count in delay_counts.counts.items()]
    least_delay = pairs[0][0] * 63 / 64
    least_count = pairs[0][1] if len(pairs) > 2 and pairs[0][1] > ATOM_RATIO * pairs[1][1] else 0
    if least_count:
        least_delay = pairs[0][0]
        pairs = pairs[1:]
    rest = delay_counts.total - least_count
    mean = math.fsum(x * n for x, n in pairs) / rest
    variance = math.fsum((x - mean) ** 2 * n for x, n in pairs) / rest
    if variance <= 0 or mean <= least_delay:
        return None
    kinds = FIT_KINDS if kind == "best" else (kind,)
    fits = [
        _fit_kind(each, least_delay, mean, variance, pairs, least_count / delay_counts.total)
        for each in kinds
    ]
    return max(fits, key=lambda fit: fit.likelihood)


def _fit_kind(
    kind: str,
    least_delay: float,
    mean: float,
    variance: float,
    pairs: Sequence[tuple[float, int]],
    atom: float,
) -> FittedDistribution:
    from scipy import stats

    mean_above_least = mean - least_delay
    fitted_law: Any
    if kind == "exponential":
        fitted_law = stats.expon(loc=least_delay, scale=mean_above_least)
        about = f"mean {mean_above_least:.3g} ms"
    elif kind == "normal":
        fitted_law = stats.norm(loc=mean, scale=math.sqrt(variance))
        about = f"mean {mean:.3g} ms, sd {math.sqrt(variance):.3g} ms"
    elif kind == "gamma":
        shape, scale = mean_above_least**2 / variance, variance / mean_above_least
        fitted_law = stats.gamma(shape, loc=least_delay, scale=scale)
        about = f"shape {shape:.3g}, scale {scale:.3g} ms"
    elif kind == "lognormal":
        sigma2 = math.log1p(variance / mean_above_least**2)
        fitted_law = stats.lognorm(
            math.sqrt(sigma2), loc=least_delay, scale=mean_above_least / math.exp(sigma2 / 2)
        )
        about = (
            f"sigma {math.sqrt(sigma2):.3g}, median "
            f"{mean_above_least / math.exp(sigma2 / 2):.3g} ms"
        )
    else:
        raise ValueError(f"{kind!r} is no distribution to fit; choose from {', '.join(FIT_KINDS)}")
    total = sum(count for _, count in pairs)
    cumulative_count, distance, likelihood = 0, 0.0, 0.0
    # Probability that a law puts below the least delay is cut off.
    before = float(fitted_law.cdf(least_delay))
    for end, count in pairs:
        cumulative_count += count
        below = float(fitted_law.cdf(end))
        distance = max(distance, (1 - atom) * abs(cumulative_count / total - below))
        likelihood += count * math.log(max(below - before, 1e-300))
        before = below
    if kind != "normal":
        about = f"{about} above {least_delay:.3g} ms"
    description = f"{kind}, {about}"
    if atom:
        description = f"{atom:.0%} at the least; {description}"
    return FittedDistribution(
        description, lambda x: (1 - atom) * float(fitted_law.pdf(x)), distance, likelihood / total
    )


def _collect_histograms(
    sources: Sequence[PlotSource], choice: PlotChoice
) -> list[tuple[str, Histogram]]:
    """Collect the name of each line and its delays, the runs of a source together."""
    labelled_histograms = []
    for source in sources:
        by_flow: dict[str, list[Histogram]] = {}
        for run in source.runs:
            for flow, each in read_delay_histograms(run).items():
                by_flow.setdefault(flow, []).append(each)
        if not by_flow:
            raise MissingData(f"{source.label} has no delays: no data arrived after the warm-up")
        choice.check_names(list(by_flow))
        for flow, parts in by_flow.items():
            if choice.is_chosen(flow):
                labelled_histograms.append(
                    (name_line(source, flow, sources), Histogram.merge(parts))
                )
    return labelled_histograms

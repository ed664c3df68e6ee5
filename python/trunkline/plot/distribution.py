"""Distributions of one-way delays, from the histograms that every run keeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from trunkline.plot.canvas import canvas, legend, look, plain
from trunkline.plot.figure import style
from trunkline.plot.sources import Choice, Lacking, Source, named
from trunkline.stats.histogram import Histogram, delays_by

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MILLI = 1e-6
"""Milliseconds in a nanosecond."""
BARS = 50
ATOM = 4
"""So many times the packets of the next bucket in the first say that these did not wait."""
FITS = ("exponential", "normal", "gamma", "lognormal")


def cdf(sources: Sequence[Source], choice: Choice) -> Figure:
    """Draw the share of packets whose one-way delay is at most so much.

    Parameters
    ----------
    sources : sequence of Source
        Results; all runs of each together.

    Raises
    ------
    Lacking
        No packet arrived.
    """
    with style():
        figure, axes = canvas(
            choice.title or "Distribution of one-way delays", "delay [ms]", "share of packets"
        )
        for number, (name, histogram) in enumerate(_histograms(sources, choice)):
            at, shares = cumulative(histogram, MILLI, histogram.n)
            axes.plot(at, shares, label=plain(name), drawstyle="steps-post", **look(number))
        axes.set_ylim(0, 1.01)
        legend(axes)
    return figure


def cumulative(counted: Histogram, unit: float, of: int) -> tuple[list[float], list[float]]:
    """Steps of a distribution: upper ends of buckets times `unit`, and shares of `of` up to them.

    They begin at the lower end of the first bucket, below which nothing is.
    """
    ends = [end * unit for end in counted.counts]
    shares = [seen / of for seen in accumulate(counted.counts.values())]
    return [ends[0] * 63 / 64, *ends], [0.0, *shares]


def histogram(sources: Sequence[Source], choice: Choice) -> Figure:
    """Draw the density of one-way delays, and a distribution fitted to its first two moments.

    Parameters
    ----------
    sources : sequence of Source
        Results; all runs of each together.
    choice : Choice
        Flows to draw, and the distribution: one of ``FITS``, ``best`` for the likeliest of them, or
        ``none``.

    Raises
    ------
    Lacking
        No packet arrived.
    """
    with style():
        figure, axes = canvas(
            choice.title or "Density of one-way delays", "delay [ms]", "density [1/ms]"
        )
        for number, (name, found) in enumerate(_histograms(sources, choice)):
            colour = look(number)["color"]
            edges, density = densities(found)
            axes.stairs(density, edges, fill=True, alpha=0.35, color=colour, label=plain(name))
            if choice.fit != "none":
                fit = fitted(found, choice.fit)
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


def densities(found: Histogram) -> tuple[list[float], list[float]]:
    """A histogram in bars of equal width up to the 99.9th percentile.

    Parameters
    ----------
    found : Histogram
        Of delays [ns].

    Returns
    -------
    (list of float, list of float)
        Edges [ms], one more than bars, and densities [1/ms].
    """
    ends = list(found.counts)
    low = ends[0] * 63 / 64 * MILLI
    high = max((found.quantile(0.999) or ends[-1]) * MILLI, low * 1.001 + 1e-9)
    # Bars narrower than the buckets would show these.
    bars = max(5, min(BARS, math.floor((high - low) / (high / 64)), len(ends)))
    width = (high - low) / bars
    sums = [0.0] * bars
    for end, count in found.counts.items():
        # Spread over the bucket, which begins at 63/64 of its end at the least.
        left, right = max(end * 63 / 64 * MILLI, low), end * MILLI
        span = max(right - left, 1e-12)
        for bar in range(bars):
            a, b = low + bar * width, low + (bar + 1) * width
            overlap = min(b, right) - max(a, left)
            if overlap > 0:
                sums[bar] += count * overlap / span
    edges = [low + bar * width for bar in range(bars + 1)]
    return edges, [each / (found.n * width) for each in sums]


@dataclass(frozen=True, slots=True)
class Fit:
    """A distribution with the mean and the variance of a histogram.

    Parameters
    ----------
    pdf : callable
        Density [1/ms] at a delay [ms].
    distance : float
        Greatest difference of the distribution functions (Kolmogorov).
    likelihood : float
        Mean logarithm of the probabilities that it gives the buckets.
    """

    about: str
    pdf: Callable[[float], float]
    distance: float
    likelihood: float


def fitted(found: Histogram, kind: str) -> Fit | None:
    """Fit by moments, counting from the least delay.

    Where many packets have the least delay, as where a queue is often empty, these are told apart
    and the distribution describes the others.

    Parameters
    ----------
    found : Histogram
        Of delays [ns].
    kind : str
        One of ``FITS``, or ``best``.

    Returns
    -------
    Fit or None
        None where all delays are alike.
    """
    pairs = [(end * MILLI, count) for end, count in found.counts.items()]
    least = pairs[0][0] * 63 / 64
    at_least = pairs[0][1] if len(pairs) > 2 and pairs[0][1] > ATOM * pairs[1][1] else 0
    if at_least:
        least = pairs[0][0]
        pairs = pairs[1:]
    rest = found.n - at_least
    mean = math.fsum(x * n for x, n in pairs) / rest
    variance = math.fsum((x - mean) ** 2 * n for x, n in pairs) / rest
    if variance <= 0 or mean <= least:
        return None
    kinds = FITS if kind == "best" else (kind,)
    fits = [_fit(each, least, mean, variance, pairs, at_least / found.n) for each in kinds]
    return max(fits, key=lambda fit: fit.likelihood)


def _fit(
    kind: str,
    least: float,
    mean: float,
    variance: float,
    pairs: Sequence[tuple[float, int]],
    atom: float,
) -> Fit:
    from scipy import stats

    above = mean - least
    law: Any
    if kind == "exponential":
        law, about = stats.expon(loc=least, scale=above), f"mean {above:.3g} ms"
    elif kind == "normal":
        law = stats.norm(loc=mean, scale=math.sqrt(variance))
        about = f"mean {mean:.3g} ms, sd {math.sqrt(variance):.3g} ms"
    elif kind == "gamma":
        shape, scale = above**2 / variance, variance / above
        law = stats.gamma(shape, loc=least, scale=scale)
        about = f"shape {shape:.3g}, scale {scale:.3g} ms"
    elif kind == "lognormal":
        sigma2 = math.log1p(variance / above**2)
        law = stats.lognorm(math.sqrt(sigma2), loc=least, scale=above / math.exp(sigma2 / 2))
        about = f"sigma {math.sqrt(sigma2):.3g}, median {above / math.exp(sigma2 / 2):.3g} ms"
    else:
        msg = f"{kind!r} is no distribution to fit; choose from {', '.join(FITS)}"
        raise ValueError(msg)
    total = sum(count for _, count in pairs)
    seen, distance, likelihood = 0, 0.0, 0.0
    # What a law puts below the least delay is lost to it.
    before = float(law.cdf(least))
    for end, count in pairs:
        seen += count
        below = float(law.cdf(end))
        distance = max(distance, (1 - atom) * abs(seen / total - below))
        likelihood += count * math.log(max(below - before, 1e-300))
        before = below
    if kind != "normal":
        about = f"{about} above {least:.3g} ms"
    said = f"{kind}, {about}"
    if atom:
        said = f"{atom:.0%} at the least; {said}"
    return Fit(said, lambda x: (1 - atom) * float(law.pdf(x)), distance, likelihood / total)


def _histograms(sources: Sequence[Source], choice: Choice) -> list[tuple[str, Histogram]]:
    """Name of each line and its delays, the runs of a source together."""
    found = []
    for source in sources:
        by_flow: dict[str, list[Histogram]] = {}
        for run in source.runs:
            for flow, each in delays_by(run).items():
                by_flow.setdefault(flow, []).append(each)
        if not by_flow:
            msg = f"{source.label} has no delays: no packet arrived after the warm-up"
            raise Lacking(msg)
        choice.checked(list(by_flow))
        for flow, parts in by_flow.items():
            if choice.wants(flow):
                found.append((named(source, flow, sources), Histogram.merged(parts)))
    return found

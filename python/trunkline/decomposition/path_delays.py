"""Delays of paths from the waits at their ports: sums of independent waits, by Fourier transforms.

Neighbouring links are taken as independent (L. Kleinrock, Communication Nets, 1964). What of their
dependence matters most is in the runs of the links: packets that come over one link are spaced by
it, so that they do not wait for each other again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline.decomposition.wait_distribution import WaitDistribution
from trunkline.results.decode.columns import QUANTILES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GRID_POINTS: Final = 4096  # Points of a distribution; no path waits longer than the grid is long.
FACTOR_STEPS: Final = 100
"""Factors of waits are rounded to one over this, so that equal ones share a transform."""
STREAMS_AT_ONCE: Final = 512
MIXTURE_POINTS: Final = 16_384
"""Points of the distribution of an aggregate, from its shortest delay to its longest."""
CURVE_SHARES: Final[Floats] = np.concatenate(
    [np.arange(1, 99) / 100, 1 - np.array([10, 8, 6, 5, 4, 3, 2, 1, 0.5, 0.2, 0.1]) / 1000]
)
"""Shares of the packets at which curves of delay are kept, so that times of a run can be mixed."""
ROUNDING_ERROR: Final = 1e-6  # Error of a sum of transforms in single precision, over its total.


@dataclass(frozen=True, slots=True, eq=False)
class PathDelays:
    """Delays and losses of S streams."""

    mean: Floats  # shape (S,): Mean delay from end to end [s].
    # shape (S,): By name (``p50``, ``p90``, ``p95``, ``p99``, ``p999``) [s].
    quantiles: dict[str, Floats]
    loss: Floats  # shape (S,): Share of the packets lost [0 .. 1].
    # shape (A,): Of the packets of all streams of each aggregate together [s]; nan of one without
    # packets.
    aggregate_quantiles: dict[str, Floats]
    # curve, aggregate_curve: shapes (S, K), (A, K): Delay below which each share of the packets is,
    # for the shares of `CURVE_SHARES` [s].
    curve: Floats
    aggregate_curve: Floats


@dataclass(frozen=True, slots=True, eq=False)
class SizeDelays:
    """Delays that the size of a packet adds: K sizes of one law."""

    bytes_: Floats  # shape (K,): Bytes beyond the smallest packet.
    share: Floats  # shape (K,): Share of packets.


@dataclass(frozen=True, slots=True, eq=False)
class PathWaits:
    """Waits along paths: S streams, H hops."""

    # stream, step: shape (H,): Stream of each hop, and its place in the stream's path.
    stream: Ints
    step: Ints
    distribution: Ints  # shape (H,): Number of the distribution of the wait, before its factor.
    factor: Floats  # shape (H,): Factor of the wait.
    fixed: Floats  # shape (S,): Delay of a packet of mean size without queues [s].
    seconds_per_byte: Floats  # shape (S,): Sum of transmission times of a byte over the path [s].
    # shape (S,): Number of the law of each stream's sizes; -1 for packets of one size.
    size_law: Ints
    aggregate: Ints  # shape (S,): Aggregate of each stream, counted from 0.
    packet_rate: Floats  # shape (S,): Packets per second that it sends.


class DelayComposer:
    """Puts delays of paths together.

    distributions: By their number.
    size_laws: Laws of packet sizes by their number, as compiled networks have them.
    """

    def __init__(
        self, distributions: Sequence[WaitDistribution], size_laws: Sequence[Mapping[str, Any]]
    ) -> None:
        self.distributions = distributions
        self._max_ns = np.array([each.wait_ns[-1] for each in distributions])
        self._mean_ns = np.array([each.mean_ns for each in distributions])
        self._loss = np.array([each.loss for each in distributions])
        self._sizes = [_spread_sizes(law) for law in size_laws]
        self._transforms: dict[tuple[int, int, int], NDArray[np.complex64]] = {}

    def compose(self, waits: PathWaits) -> PathDelays:
        """Delays of all streams: their paths' waits are added, their losses multiplied."""
        count = len(waits.fixed)
        factor = np.rint(waits.factor * FACTOR_STEPS) / FACTOR_STEPS
        hop_max = self._max_ns[waits.distribution] * factor
        hop_mean = self._mean_ns[waits.distribution] * factor
        mean_ns = np.bincount(waits.stream, hop_mean, count)
        spread_ns = np.zeros(count)
        for number, law in enumerate(self._sizes):
            chosen = waits.size_law == number
            spread_ns[chosen] = law.bytes_[-1] * waits.seconds_per_byte[chosen] * 1e9
        longest_ns = np.bincount(waits.stream, hop_max, count) + spread_ns
        # Grids are of powers of two, so that streams share transforms.
        exponent = np.ceil(np.log2(np.maximum(longest_ns, 1) / (GRID_POINTS - 2))).astype(np.int64)
        kept = np.ones(count)
        np.multiply.at(kept, waits.stream, 1 - self._loss[waits.distribution])
        quantiles = {name: np.zeros(count) for name in QUANTILES}
        curve = np.zeros((count, len(CURVE_SHARES)))
        order = np.lexsort((waits.step, waits.stream))
        starts = np.searchsorted(waits.stream[order], np.arange(count + 1))
        offset = waits.fixed - self._compute_size_mean(waits)
        mixtures = _AggregateMixtures(
            waits.aggregate, offset, offset + 2.0**exponent * GRID_POINTS * 1e-9
        )
        for level in np.unique(exponent).tolist():
            streams = np.flatnonzero(exponent == level)
            for part in np.split(streams, range(STREAMS_AT_ONCE, len(streams), STREAMS_AT_ONCE)):
                transform = self._multiply(waits, factor, part, order, starts, level)
                density = np.fft.irfft(transform, GRID_POINTS)
                step_s = 2.0**level * 1e-9
                below = np.cumsum(density, axis=1)
                for name, probability in QUANTILES.items():
                    point = (below < probability - ROUNDING_ERROR).sum(axis=1)
                    quantiles[name][part] = offset[part] + point * step_s
                points = _find_curve_points(below, np.ones(len(part)))
                curve[part] = offset[part, None] + points * step_s
                mixtures.add(part, density * (waits.packet_rate * kept)[part, None], step_s)
        return PathDelays(
            waits.fixed + mean_ns * 1e-9,
            quantiles,
            1 - kept,
            mixtures.find_quantiles(),
            curve,
            mixtures.find_curves(),
        )

    def _compute_size_mean(self, waits: PathWaits) -> Floats:
        """Compute how much longer a packet of mean size takes than the smallest [s]."""
        means = np.array([float(law.bytes_ @ law.share) for law in self._sizes] + [0.0])
        mean_s: Floats = means[waits.size_law] * waits.seconds_per_byte
        return mean_s

    def _multiply(
        self, waits: PathWaits, factor: Floats, streams: Ints, order: Ints, starts: Ints, level: int
    ) -> NDArray[np.complex64]:
        product = np.ones((len(streams), GRID_POINTS // 2 + 1), dtype=np.complex64)
        lengths = starts[streams + 1] - starts[streams]
        for step in range(int(lengths.max(initial=0))):
            rows = np.flatnonzero(lengths > step)
            hops = order[starts[streams[rows]] + step]
            keys = np.stack(
                [waits.distribution[hops], np.rint(factor[hops] * FACTOR_STEPS).astype(np.int64)]
            )
            unique, which = np.unique(keys, axis=1, return_inverse=True)
            table = np.stack([self._transform(level, *key) for key in unique.T.tolist()])
            product[rows] *= table[which.reshape(-1)]
        for row, stream in enumerate(streams.tolist()):
            law = int(waits.size_law[stream])
            if law >= 0:
                sizes = self._sizes[law]
                delays = sizes.bytes_ * waits.seconds_per_byte[stream] * 1e9
                product[row] *= _transform_grid(delays, sizes.share, level)
        return product

    def _transform(self, level: int, distribution: int, steps: int) -> NDArray[np.complex64]:
        key = (level, distribution, steps)
        if key not in self._transforms:
            waits = self.distributions[distribution]
            self._transforms[key] = _transform_grid(
                waits.wait_ns * (steps / FACTOR_STEPS), waits.share, level
            )
        return self._transforms[key]


class _AggregateMixtures:
    """Delays of all packets of each aggregate, on one grid for each."""

    def __init__(self, aggregate: Ints, least: Floats, greatest: Floats) -> None:
        count = int(aggregate.max(initial=-1)) + 1
        self._aggregate, self._offset = aggregate, least
        self._begin, end = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(self._begin, aggregate, least)
        np.maximum.at(end, aggregate, greatest)
        self._step = np.maximum(end - self._begin, 1e-12) / (MIXTURE_POINTS - 1)
        self._density = np.zeros((count, MIXTURE_POINTS))

    def add(self, streams: Ints, density: Floats, step_s: float) -> None:
        """Add the packets of some streams, by points of their own grid."""
        times = np.arange(density.shape[1]) * step_s
        for aggregate in np.unique(self._aggregate[streams]).tolist():
            rows = np.flatnonzero(self._aggregate[streams] == aggregate)
            late = self._offset[streams[rows]] - self._begin[aggregate]
            place = (late[:, None] + times) / self._step[aggregate]
            points = np.minimum(np.rint(place).astype(np.int64), MIXTURE_POINTS - 1)
            self._density[aggregate] += np.bincount(
                points.ravel(), np.maximum(density[rows], 0.0).ravel(), MIXTURE_POINTS
            )

    def find_quantiles(self) -> dict[str, Floats]:
        below = np.cumsum(self._density, axis=1)
        total = below[:, -1]
        found = {}
        for name, probability in QUANTILES.items():
            point = (below < (probability - ROUNDING_ERROR) * total[:, None]).sum(axis=1)
            found[name] = np.where(total > 0, self._begin + point * self._step, np.nan)
        return found

    def find_curves(self) -> Floats:
        below = np.cumsum(self._density, axis=1)
        total = below[:, -1]
        points = _find_curve_points(below, total)
        delays = self._begin[:, None] + points * self._step[:, None]
        return np.where(total[:, None] > 0, delays, np.nan)


def _find_curve_points(below: Floats, total: Floats) -> Floats:
    """Point of each row at which its sum reaches each share of its total."""
    wanted = (CURVE_SHARES - ROUNDING_ERROR) * total[:, None]
    rows = [np.searchsorted(row, shares) for row, shares in zip(below, wanted, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(wanted.shape)


def find_mixed_quantile(
    curves: Sequence[Floats], weights: Sequence[float], probability: float
) -> float:
    """Quantile of the delays of several times together [s].

    curves: Delays at `CURVE_SHARES` in each of them [s].
    weights: Packets of each; of at least one above zero.
    """
    used = [(curve, weight) for curve, weight in zip(curves, weights, strict=True) if weight > 0]
    total = sum(weight for _, weight in used)
    delays = np.sort(np.concatenate([curve for curve, _ in used]))
    below = np.zeros(len(delays))
    for curve, weight in used:
        below += weight / total * np.interp(delays, curve, CURVE_SHARES, left=0.0, right=1.0)
    place = min(int(np.searchsorted(below, probability)), len(delays) - 1)
    if place == 0 or below[place] == below[place - 1]:
        return float(delays[place])
    part = (probability - below[place - 1]) / (below[place] - below[place - 1])
    step = delays[place] - delays[place - 1]
    return float(delays[place - 1] + min(part, 1.0) * step)


def _transform_grid(value_ns: Floats, share: Floats, level: int) -> NDArray[np.complex64]:
    """Transform of values on a grid of 2^level ns; a value between two points counts at both."""
    place = value_ns / 2.0**level
    below = np.floor(place).astype(np.int64)
    part = place - below
    density = np.bincount(below, share * (1 - part), GRID_POINTS)
    density += np.bincount(below + 1, share * part, GRID_POINTS)
    transform: NDArray[np.complex64] = np.fft.rfft(density[:GRID_POINTS]).astype(np.complex64)
    return transform


def _spread_sizes(law: Mapping[str, Any]) -> SizeDelays:
    """List sizes beyond the smallest, with the shares of packets."""
    ((kind, parameters),) = law.items()
    if kind == "choice":
        sizes = np.array(parameters["bytes"], dtype=np.float64)
        weights = np.array(parameters["weights"], dtype=np.float64)
        order = np.argsort(sizes)
        return SizeDelays(sizes[order] - sizes.min(), weights[order] / weights.sum())
    probability = (np.arange(128) + 0.5) / 128
    if kind == "exponential":
        sizes = -parameters["mean_bytes"] * np.log1p(-probability)
    elif kind == "gumbel":
        sizes = np.maximum(-parameters["scale_bytes"] * np.log(-np.log(probability)), -math.inf)
        sizes = sizes - sizes.min()
    else:
        sizes = np.zeros(128)
    return SizeDelays(sizes, np.full(128, 1 / 128))

"""Agreements under every failure, without packets: loss by the fluid engine, delay by its limits.

A value of the screen has a least and a greatest limit (`trunkline.fluid.limits`), which hold its
error: the margins that `trunkline verify --engine fluid` allows, packets that are under way when a
link fails, and chance in runs as short as these. An agreement is held if the limit on the wrong
side keeps the bound, broken if the other one does not, and else open.

Absent, so always open: scores of calls, round trips, films, pages and transfers; what TCP gets and
loses; networks of which the fluid engine leaves out a part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from trunkline.fluid.engine import FailureSolver
from trunkline.fluid.limits import (
    LOSS_MARGIN,
    StreamLimits,
    compute_stream_limits,
    find_quantile_floor,
    find_quantile_limit,
    join_limits,
)
from trunkline.fluid.verification import MEASURES
from trunkline.results import dscp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trunkline.fluid.tables import FluidState
    from trunkline.scenario.sla import SlaBound

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

CHANCE_SIGMAS: Final = 3.0  # Standard deviations that chance in a run may be away from its mean.
JITTER_FACTOR: Final = 2 * (1 + CHANCE_SIGMAS / math.sqrt(31))
"""Greatest jitter over the mean wait.

Two waits differ by their sum at most, and an average with weights of 1/16 (RFC 3550 section 6.4.1)
has 1/31 of the variance.
"""
RARE_PACKETS: Final = 0.001
"""Packets of a run that may be later than the limit of its greatest delay, on average."""
QUANTILES: Final = {
    "delay_p50": 0.5,
    "delay_p90": 0.9,
    "delay_p95": 0.95,
    "delay_p99": 0.99,
    "delay_p999": 0.999,
}
RANDOM_DETECTIONS: Final = ("bfd", "hello")  # Kinds of detection whose time differs between seeds.


@dataclass(frozen=True, slots=True)
class ScreenedLevel:
    """A bound of an agreement under a failure, without packets."""

    row: str  # The flow or DSCP that is nearest to the wrong side, or farthest on it.
    # least, greatest: Limits of its value, in the unit of the bound; infinite without one.
    least: float
    value: float | None  # Mean of the fluid engine; None where it has none.
    greatest: float
    # Whether a flow of the agreement sends nothing, so that it cannot be judged.
    is_silent: bool = False
    # Source of the limits: the screen, or links simulated alone.
    by: Literal["screen", "links"] = "screen"

    def find_outcome(self, bound: SlaBound, error: float = 0.0) -> str:
        """``held``, ``broken``, ``open`` or ``not judged``, with a further error of the limits."""
        least, greatest = self.least - error, self.greatest + error
        if bound.at == "least":
            least, greatest, limit = -greatest, -least, -bound.value
        else:
            limit = bound.value
        if least > limit:
            return "broken"
        if self.is_silent:
            return "not judged"
        return "held" if greatest <= limit else "open"

    def measure_severity(self, bound: SlaBound) -> float:
        """Measure how far on the wrong side the limit is, larger for worse."""
        return self.greatest - bound.value if bound.at == "most" else bound.value - self.least


Levels = tuple[ScreenedLevel, ...]


@dataclass(frozen=True, slots=True)
class SlaScreen:
    """Every bound of the agreements under every failure."""

    # For each failure the levels of all bounds, in their order.
    levels: Mapping[str, Levels]
    refusal: str = ""  # Why the fluid engine has no values for this network; empty if it has.


class ScreenedNetwork:
    """A compiled network without failures, whose bounds are screened under one failure at a time.

    runs: Packet runs that the values are for: their chance is in the limits, and detection that
        differs between seeds has the same seeds.
    Raises FluidUnsupportedError: The fluid engine has no values for it.
    """

    def __init__(self, network: Mapping[str, Any], bounds: Sequence[SlaBound], runs: int) -> None:
        self._bounds, self._runs = bounds, runs
        recovery = network.get("recovery") or {}
        watchers = [*recovery.get("protections", ()), *filter(None, [recovery.get("rerouting")])]
        is_random = any(each["detection"]["kind"] in RANDOM_DETECTIONS for each in watchers)
        self._seeds = range(1, runs + 1) if is_random else (1,)
        self._flows = _FlowRows(network)
        self._solver = FailureSolver(network)

    def screen_failure(self, failure: Mapping[str, Any]) -> Levels:
        """Levels of all bounds under a compiled failure.

        Raises FluidUnsupportedError: The fluid engine has no values for this failure.
        """
        of_seeds = []
        for seed in self._seeds:
            course = _FailureCourse(self._solver.solve([failure], seed), failure["links"])
            of_seeds.append(
                [course.screen_bound(bound, self._flows, self._runs) for bound in self._bounds]
            )
        return tuple(
            _average_levels(bound, levels)
            for bound, levels in zip(self._bounds, zip(*of_seeds, strict=True), strict=True)
        )


def make_open_levels(bounds: Sequence[SlaBound]) -> Levels:
    """Levels of bounds of which nothing is known."""
    return tuple(ScreenedLevel(bound.rows[0], -math.inf, None, math.inf) for bound in bounds)


def _average_levels(bound: SlaBound, levels: Sequence[ScreenedLevel]) -> ScreenedLevel:
    """The mean over seeds, of the row that is worst with one of them."""
    worst = max(levels, key=lambda level: level.measure_severity(bound))
    values = [level.value for level in levels if level.value is not None]
    count = len(levels)
    return ScreenedLevel(
        worst.row,
        sum(level.least for level in levels) / count,
        sum(values) / count if len(values) == count else None,
        sum(level.greatest for level in levels) / count,
        worst.is_silent,
    )


class _FlowRows:
    """Rows of the results that belong to a flow."""

    def __init__(self, network: Mapping[str, Any]) -> None:
        names: dict[tuple[str, str], list[int]] = {}
        for number, flow in enumerate(network["flows"]):
            names.setdefault(("flows", flow["name"]), []).append(number)
            aggregate = dscp.name_code_point(flow["dscp"])
            names.setdefault(("aggregates", aggregate), []).append(number)
        self._flows = {key: np.array(flows) for key, flows in names.items()}

    def find_flows(self, table: str, row: str) -> Ints:
        return self._flows.get((table, row), np.zeros(0, dtype=np.int64))


class _FailureCourse:
    """Service of the flows before, during and after a failure: P phases, F flows."""

    def __init__(self, phases: Sequence[tuple[float, FluidState]], dead_links: Sequence[int]):
        first = phases[0][1]
        count = len(first.network["flows"])
        self.seconds = sum(seconds for seconds, _ in phases)
        sources = first.sources
        self.is_tcp, self.payload_share = sources.is_tcp, sources.payload_share
        self.packet_bits = 8 * sources.size
        self.limits: list[StreamLimits] = []
        sent, arrived, delays = [], [], []
        lost_least, lost_greatest = [], []
        for seconds, state in phases:
            limits = compute_stream_limits(state)
            self.limits.append(limits)
            packets = seconds / self.packet_bits
            offered = state.rates.sent[:count] * packets
            delivered = np.minimum(state.rates.arrived[:count] * packets, offered)
            drop = limits.drop_probability[:count]
            lost = offered - delivered
            margin, absorbed = limits.loss_margin[:count], limits.absorbed[:count]
            is_pathless = state.hop_loads.paths.lost[:count]
            lost_least.append(
                np.where(
                    is_pathless,
                    offered,
                    np.where(
                        drop >= 1,
                        0.0,
                        np.maximum(
                            lost * (1 - margin) - LOSS_MARGIN.floor * offered - absorbed, 0.0
                        ),
                    ),
                )
            )
            lost_greatest.append(np.minimum(lost * (1 + margin) + delivered * drop, offered))
            sent.append(offered)
            arrived.append(delivered)
            waits = state.hop_loads.sum_along(state.waits)[:count]
            delays.append(state.hop_loads.fixed[:count] + waits)
        self.sent, self.arrived = np.stack(sent), np.stack(arrived)
        self.mean_delay = np.stack(delays)
        self.lost_least, self.lost_greatest = np.stack(lost_least), np.stack(lost_greatest)
        self.is_unknown = np.isnan(sources.rate) | (np.isnan(self.sent).any(axis=0))
        paths = first.hop_loads.paths
        hit = np.unique(paths.flow[paths.stream[np.isin(paths.link, dead_links)]])
        # Packets under way when the path changes may be lost, or not.
        before = self.limits[0]
        transit = before.steady_delay[:count] + before.mean_wait[:count]
        rate = first.rates.sent[:count] / self.packet_bits
        self.under_way = np.zeros(count)
        self.under_way[hit] = (rate * transit)[hit] * (len(phases) - 1)

    def screen_bound(self, bound: SlaBound, rows: _FlowRows, runs: int) -> ScreenedLevel:
        """The level of a bound: of its rows the worst."""
        levels = []
        is_silent = False
        for row in bound.rows:
            flows = rows.find_flows(bound.table, row)
            level = self._screen_row(bound, row, flows, runs)
            if level is None:
                is_silent = True
            else:
                levels.append(level)
        if not levels:
            return ScreenedLevel(bound.rows[0], -math.inf, None, math.inf, is_silent=True)
        worst = max(levels, key=lambda level: level.measure_severity(bound))
        if bound.at == "most":
            least = max(level.least for level in levels)
            return ScreenedLevel(worst.row, least, worst.value, worst.greatest, is_silent)
        greatest = min(level.greatest for level in levels)
        return ScreenedLevel(worst.row, worst.least, worst.value, greatest, is_silent)

    def _screen_row(
        self, bound: SlaBound, row: str, flows: Ints, runs: int
    ) -> ScreenedLevel | None:
        """The level of a row; None if it sends nothing."""
        if not len(flows) or self.is_unknown[flows].any():
            return ScreenedLevel(row, -math.inf, None, math.inf)
        sent = float(self.sent[:, flows].sum())
        has_tcp = bool(self.is_tcp[flows].any())
        if not sent and not has_tcp:
            return None
        arrived = float(self.arrived[:, flows].sum())
        under_way = float(self.under_way[flows].sum())
        lost_most = min(sent, float(self.lost_greatest[:, flows].sum()) + under_way)
        lost_least = max(0.0, float(self.lost_least[:, flows].sum()) - under_way)
        limits: tuple[float, float] | None = None
        value: float | None = None
        if bound.measure == "loss" and not has_tcp:
            value, limits = _limit_loss(sent, arrived, lost_least, lost_most, runs)
        elif bound.measure in ("throughput", "goodput") and not has_tcp:
            value, limits = self._limit_rate(bound.measure, flows, lost_least, lost_most, runs)
        elif bound.measure.startswith("delay_") or bound.measure == "jitter":
            if sent and lost_least >= sent * (1 - 1e-9):
                # Nothing arrives that would have a delay.
                return ScreenedLevel(row, math.inf, None, math.inf)
            value, limits = self._limit_delay(bound.measure, flows, has_tcp=has_tcp)
        if limits is None:
            return ScreenedLevel(row, -math.inf, value, math.inf)
        return ScreenedLevel(row, limits[0], value, limits[1])

    def _limit_rate(
        self, measure: str, flows: Ints, lost_least: float, lost_most: float, runs: int
    ) -> tuple[float, tuple[float, float]]:
        """Limit the rate of what arrives [bit/s], and its limits."""
        share = self.payload_share[flows] if measure == "goodput" else np.ones(len(flows))
        bits = self.packet_bits[flows] * share
        sent = self.sent[:, flows].sum(axis=0)
        value = float((self.arrived[:, flows] * bits).sum()) / self.seconds
        margin = MEASURES["throughput"].share
        count = float(sent.sum())
        chance = CHANCE_SIGMAS / math.sqrt(max(count * runs, 1.0)) + margin
        sent_rate = float((sent * bits).sum()) / self.seconds
        size = float(bits.max()) / self.seconds
        least = sent_rate - lost_most * size
        greatest = sent_rate - lost_least * float(bits.min()) / self.seconds
        return value, (max(least - sent_rate * chance, 0.0), greatest + sent_rate * chance)

    def _limit_delay(
        self, measure: str, flows: Ints, *, has_tcp: bool
    ) -> tuple[float | None, tuple[float, float]]:
        """Mean delay if that is the measure [s], and limits of the measure."""
        parts = [_select_streams(limits, flows) for limits in self.limits]
        weight = self.arrived[:, flows]
        joined, weights = join_limits(parts), weight.ravel()
        used = weights > 0
        if has_tcp or not used.any():
            greatest = float(joined.greatest_delay.max())
            if measure == "jitter":
                return None, (0.0, greatest - float(joined.least_delay.min()))
            return None, (0.0, greatest)
        if measure == "delay_mean":
            delays, packets = self.mean_delay[:, flows].ravel(), float(weights.sum())
            mean = float(weights[used] @ delays[used]) / packets
            slowest = joined.unqueued_delay + joined.mean_wait
            least, most = (
                float(weights @ delay) / packets for delay in (joined.least_delay, slowest)
            )
            # Which flows a run has more packets of is chance too.
            variance = float(weights @ np.square(slowest - most)) / packets
            chance = CHANCE_SIGMAS * math.sqrt(variance / packets)
            limits = max(0.0, least - chance), most + chance
            return (None if math.isnan(mean) else mean), limits
        if measure == "jitter":
            varying = joined.steady_delay - joined.least_delay
            spread = joined.mean_wait + varying
            of_flow = spread.reshape(weight.shape).max(axis=0)
            total = float(weight.sum())
            return None, (0.0, JITTER_FACTOR * float(weight.sum(axis=0) @ of_flow) / total)
        packets = float(weights.sum())
        if measure in ("delay_max", "delay_range"):
            greatest = find_quantile_limit(joined, weights, RARE_PACKETS / packets)
            if np.isinf(joined.greatest_delay[used]).any():
                greatest = math.inf
            if measure == "delay_max":
                return None, (float(joined.least_delay[used].min()), greatest)
            return None, (0.0, greatest - float(joined.least_delay[used].min()))
        above = 1 - QUANTILES[measure]
        chance = CHANCE_SIGMAS * math.sqrt(above * (1 - above) / packets)
        floor = find_quantile_floor(joined.least_delay, weights, above + chance)
        later = max(above - chance, RARE_PACKETS / packets)
        return None, (floor, find_quantile_limit(joined, weights, later))


def _select_streams(limits: StreamLimits, streams: Ints) -> StreamLimits:
    return StreamLimits(
        **{name: getattr(limits, name)[streams] for name in StreamLimits.__dataclass_fields__}
    )


def _limit_loss(
    sent: float, arrived: float, lost_least: float, lost_most: float, runs: int
) -> tuple[float, tuple[float, float]]:
    """Part of the packets that is lost, and its limits."""
    value, least, most = (max(each, 0.0) / sent for each in (sent - arrived, lost_least, lost_most))
    chance = CHANCE_SIGMAS / math.sqrt(sent * runs)
    return value, (
        max(0.0, least - chance * math.sqrt(least)),
        min(1.0, most + chance * math.sqrt(most)),
    )

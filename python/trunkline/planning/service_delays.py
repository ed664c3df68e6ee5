"""Delays and losses of flows and classes over the phases of a run, each with one load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trunkline.decomposition.path_delays import find_mixed_quantile
from trunkline.results import dscp
from trunkline.results.decode.columns import QUANTILES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trunkline.decomposition.full_check import FullCheck
    from trunkline.decomposition.path_delays import PathDelays
    from trunkline.fluid.tables import FluidState
    from trunkline.scenario.sla import SlaBound

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

CHECKED_QUANTILES: Final = ("p50", "p90", "p95", "p99")
"""Percentiles that have the error of the 99th at most: the check has too few packets beyond it."""


@dataclass(frozen=True, slots=True, eq=False)
class ServicePhase:
    """Delays of F flows in a time with one load."""

    seconds: float
    delays: PathDelays
    is_cut: NDArray[np.bool_]  # shape (F,): Whether a flow has no path.
    sent: Floats  # shape (F,): Load that each sends [bit/s].

    @classmethod
    def from_state(cls, seconds: float, state: FluidState, delays: PathDelays) -> ServicePhase:
        """Take paths and loads of a state of the fluid engine."""
        count = len(state.network["flows"])
        is_cut = state.hop_loads.paths.lost[:count]
        return cls(seconds, delays, is_cut, state.rates.sent[:count])

    @property
    def arrived(self) -> Floats:
        """Load of each flow that arrives, over all seconds [bit]."""
        kept: Floats = np.where(self.is_cut, 0.0, 1 - self.delays.loss)
        return self.sent * kept * self.seconds


class ServiceDelays:
    """Delays and losses of the flows and classes of a network over some phases.

    flows: Of the compiled network.
    phases: At least one.
    members: By class (DSCP), the numbers of its flows.
    """

    def __init__(self, flows: Sequence[Mapping[str, Any]], phases: Sequence[ServicePhase]) -> None:
        self.phases = phases
        self.codes = [dscp.name_code_point(flow["dscp"]) for flow in flows]
        classes = np.array(self.codes)
        self.members: dict[str, Ints] = {
            name: np.flatnonzero(classes == name) for name in dict.fromkeys(self.codes)
        }
        self._class_number = {name: number for number, name in enumerate(self.members)}
        self._flow_number = {flow["name"]: number for number, flow in enumerate(flows)}

    def average_loss(self, flows: Ints) -> float:
        """Share of the packets of flows that is lost [0 .. 1]; 0 if they send nothing."""
        sent = sum(float(each.sent[flows].sum()) * each.seconds for each in self.phases)
        arrived = sum(float(each.arrived[flows].sum()) for each in self.phases)
        return max(0.0, 1 - arrived / sent) if sent else 0.0

    def measure(
        self, bound: SlaBound, row: str, check: FullCheck
    ) -> tuple[float | None, float | None]:
        """Measure the value of a row of a bound, and its error by a check, in its unit.

        Returns: None, None of a measure or class that is not compared; infinity if nothing arrives
            that would have a delay.
        """
        is_flow = bound.table == "flows"
        if not is_flow and bound.table != "aggregates":
            return None, None
        code = self.codes[self._flow_number[row]] if is_flow else row
        flows = np.array([self._flow_number[row]]) if is_flow else self.members.get(row)
        known = check.find_error(code)
        if flows is None or known is None:
            return None, None
        if bound.measure == "loss":
            return self.average_loss(flows), abs(known.loss_error) + self._find_under_way(flows)
        if not bound.measure.startswith("delay_"):
            return None, None
        name = bound.measure.removeprefix("delay_")
        if name != "mean" and name not in CHECKED_QUANTILES:
            return None, None
        weights = [float(each.arrived[flows].sum()) for each in self.phases]
        if not any(weights):
            return np.inf, 0.0
        if name == "mean":
            delays = [float(each.delays.mean[flows] @ each.arrived[flows]) for each in self.phases]
            mean = sum(delays) / sum(weights)
            return mean, mean * known.mean_error
        place = int(flows[0]) if is_flow else self._class_number[row]
        error = known.max_p99_error if is_flow else known.aggregate_p99_error
        quantile = self._find_quantile(name, place, weights, is_flow=is_flow)
        return quantile, quantile * error

    def _find_under_way(self, flows: Ints) -> float:
        """Share of the packets that are under way when a phase ends: lost, or not."""
        sent = sum(float(each.sent[flows].sum()) * each.seconds for each in self.phases)
        under_way = sum(
            float(each.sent[flows] @ each.delays.mean[flows]) for each in self.phases[:-1]
        )
        return min(under_way / sent, 1.0) if sent else 0.0

    def _find_quantile(
        self, name: str, place: int, weights: Sequence[float], *, is_flow: bool
    ) -> float:
        """Percentile of a flow or a class over all phases [s]."""
        if len(self.phases) == 1:
            delays = self.phases[0].delays
            quantiles = delays.quantiles if is_flow else delays.aggregate_quantiles
            return float(quantiles[name][place])
        curves = [
            (each.delays.curve if is_flow else each.delays.aggregate_curve)[place]
            for each in self.phases
        ]
        return find_mixed_quantile(curves, weights, QUANTILES[name])

"""Steady state of a run: the end of its warm-up, and the precision of its means.

Both read probes that are added to the network. Probes change no random number and no packet, so
that the course is that of the run itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trunkline.engine.packet_engine import Job, simulate_jobs
from trunkline.network import Network
from trunkline.results import Results
from trunkline.results.number_format import format_mean_and_half_width
from trunkline.results.schemas import find_field
from trunkline.results.terminal_tables import add_text_row, begin_table, render_to_text
from trunkline.stats import BatchMeans, batch_means, mser5

PILOT_RUNS = 5
PILOT_STEPS = 1000
BATCH_STEPS = 322
_MAX_SAMPLES = 2_000_000


@dataclass(frozen=True, slots=True)
class WarmUp:
    """End of the warm-up, from a pilot."""

    ns: int  # End of the warm-up [ns].
    # Whether all series settle within the first half of the run; if not, it is too short.
    found: bool
    cuts: dict[str, int]  # Cut of each series [ns].
    runs: int  # Pilot runs that were averaged.


def find_warm_up(network: Network, seeds: Sequence[int], *, threads: int | None = None) -> WarmUp:
    """Find the end of the warm-up by MSER-5 on the mean course of pilot runs.

    Three series are looked at: the throughput of all flows together, the mean delay of their
    packets, and the packets waiting on all links; the latest cut counts.

    network: Network to run; its own warm-up does not count.
    seeds: Seeds of the pilot runs; at least one.
    threads: Runs at once; all cores if left out.
    Raises ValueError: The run is too short to be cut into steps.
    """
    flows, links = len(network.flows), len(network.links)
    duration = int(network.run["duration_ns"])
    steps = min(PILOT_STEPS, max(100, _MAX_SAMPLES // max(1, 2 * flows + links)))
    step = duration // steps
    if step < 1:
        raise ValueError(f"a run of {duration} ns is too short for {steps} steps")
    probes = [
        _build_probe(measure_name, flow, step)
        for measure_name in ("throughput", "delay")
        for flow in range(flows)
    ]
    probes += [_build_probe("queue-packets", link, step) for link in range(links)]
    probed = _add_probes(network, probes, warmup_ns=0)
    runs = simulate_jobs([Job(probed, seed) for seed in seeds], threads=threads)
    first = len(network.probes)
    mean_series: dict[str, list[float]] = {
        "throughput": [0.0] * steps,
        "delay": [0.0] * steps,
        "queue": [0.0] * steps,
    }
    for results in runs:
        rows = _group_by_probe(results, first, len(probes))
        throughput, delay = rows[:flows], rows[flows : 2 * flows]
        for index in range(len(rows[0])):
            rates = [series[index] for series in throughput]
            delays = [series[index] for series in delay]
            mean_series["throughput"][index] += math.fsum(rates) / len(runs)
            bits = math.fsum(r for r, d in zip(rates, delays, strict=True) if not math.isnan(d))
            parts = (r * d for r, d in zip(rates, delays, strict=True) if not math.isnan(d))
            mean = math.fsum(parts) / bits if bits else math.nan
            mean_series["delay"][index] += mean / len(runs)
            waiting = (series[index] for series in rows[2 * flows :])
            mean_series["queue"][index] += math.fsum(waiting) / len(runs)
    cuts = {}
    is_settled = True
    for name, series in mean_series.items():
        # The step that would end with the run is not recorded.
        cut = mser5(_fill_gaps(series[: steps - 1]))
        cuts[name] = cut.left_out * step
        is_settled = is_settled and cut.is_settled
    return WarmUp(max(cuts.values()), is_settled, cuts, len(runs))


@dataclass(frozen=True, slots=True)
class FlowBatchMeans:
    """Batch means of a flow over one run."""

    flow: str
    # By column of the flows table; without the delay if no packet arrived.
    measures: dict[str, BatchMeans]


def add_batch_probes(network: Network) -> str:
    """JSON of a network with the probes that :func:`compute_batch_means` reads."""
    step = _compute_batch_step(network)
    measures = ("goodput", "throughput", "delay")
    probes = [_build_probe(m, flow, step) for m in measures for flow in range(len(network.flows))]
    return _add_probes(network, probes)


def compute_batch_means(network: Network, results: Results) -> list[FlowBatchMeans]:
    """Batch means of each flow's goodput, throughput and delay over one run.

    The delay's batches are weighted by the bits that were delivered in them, so that its mean is
    that over packets where they are of one size.
    """
    flows = len(network.flows)
    rows = _group_by_probe(
        results, len(network.probes), 3 * flows, since=int(network.run["warmup_ns"])
    )
    found = []
    for index, flow in enumerate(network.flows):
        goodput, throughput, delay = (rows[index + part * flows] for part in range(3))
        measures = {
            "goodput_bit_s": batch_means(goodput),
            "throughput_bit_s": batch_means(throughput),
        }
        weights = [
            0.0 if math.isnan(value) else bits
            for value, bits in zip(delay, throughput, strict=True)
        ]
        if any(weights):
            measures["delay_mean_s"] = batch_means(delay, weights=weights)
        found.append(FlowBatchMeans(str(flow["name"]), measures))
    return found


def render_batch_means(
    flow_means: Sequence[FlowBatchMeans], *, width: int | None = None, colour: bool = False
) -> str:
    """Write batch means as a table for a terminal.

    width: Columns of the terminal; found out by itself if left out.
    colour: Whether to use the escape codes of a terminal.
    """
    table = begin_table(
        "Batch means within this run",
        ["flow", *(column.title for column in _SHOWN_COLUMNS), "batches", "lag 1"],
    )
    is_too_short = False
    for flow_mean in flow_means:
        batch_means = [flow_mean.measures.get(column.name) for column in _SHOWN_COLUMNS]
        cells = [
            format_mean_and_half_width(each.interval.mean, each.interval.half_width, column.unit)
            if each
            else "–"
            for each, column in zip(batch_means, _SHOWN_COLUMNS, strict=True)
        ]
        known = [each for each in batch_means if each]
        fewest_batches = min((each.interval.n for each in known), default=0)
        largest_lag = max((each.lag1 for each in known), default=0.0)
        is_too_short = is_too_short or not all(each.enough for each in known)
        add_text_row(table, [flow_mean.flow, *cells, str(fewest_batches), f"{largest_lag:+.2f}"])
    closing = (
        "mean ± half of the 95 % interval over batches of time; lag 1: correlation of neighbours"
    )
    if is_too_short:
        closing += "\nRUN TOO SHORT: batches are still correlated, so that intervals are too narrow"
    return render_to_text([table], closing, width=width, colour=colour)


_SHOWN_COLUMNS = [
    find_field("flows", name) for name in ("goodput_bit_s", "throughput_bit_s", "delay_mean_s")
]


def _compute_batch_step(network: Network) -> int:
    measured = int(network.run["duration_ns"]) - int(network.run["warmup_ns"])
    steps = min(BATCH_STEPS, max(32, _MAX_SAMPLES // max(1, 3 * len(network.flows))))
    if measured < steps:
        raise ValueError(f"a run of {measured} ns is too short for {steps} steps")
    return measured // steps


def _build_probe(measure: str, target: int, step_ns: int) -> dict[str, Any]:
    return {
        "measure": measure,
        "target": target,
        "class": None,
        "precedence": None,
        "step_ns": step_ns,
    }


def _add_probes(network: Network, probes: Sequence[dict[str, Any]], **run: int) -> str:
    data = network.data
    changed_fields: Any = {
        "probes": [*data["probes"], *probes],
        "run": {**data["run"], **run, "trace": False},
    }
    return Network({**data, **changed_fields}).to_json()


def _group_by_probe(
    results: Results, first: int, count: int, *, since: int = 0
) -> list[list[float]]:
    """Group the series of the added probes; not-a-number where there was nothing to measure."""
    series = results.series
    rows: list[list[float]] = [[] for _ in range(count)]
    step: dict[int, int] = {}
    columns = (series[name] for name in ("probe", "time_ns", "value"))
    for probe, at, value in zip(*columns, strict=True):
        number = int(probe or 0) - first
        if number < 0:
            continue
        elapsed = int(at or 0) - step.setdefault(number, int(at or 0))
        if elapsed >= since:
            rows[number].append(math.nan if value is None else float(value))
    return rows


def _fill_gaps(series: Sequence[float]) -> list[float]:
    """Without gaps: a step with nothing to measure repeats the one before it, or the first."""
    last = next((value for value in series if not math.isnan(value)), 0.0)
    filled = []
    for value in series:
        last = last if math.isnan(value) else value
        filled.append(last)
    return filled

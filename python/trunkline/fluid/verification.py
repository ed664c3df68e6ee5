"""Errors of the fluid engine against the packets, measure by measure, as in a kernel verdict.

Rates and losses of open flows follow from what is offered: they may be apart by `MEASURES`' share
of the packets' mean over the seeds. Waits and TCP's shares come from models; their margins are what
the models are good for, and a verdict "differs" says that here they are not.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from trunkline import _core
from trunkline.engine import simulate as packets
from trunkline.fluid.engine import list_omissions, simulate
from trunkline.fluid.focus import focus_network
from trunkline.linux.judge.comparisons import ComparisonRow, make_fixed_row
from trunkline.linux.judge.measures import MeasureKey
from trunkline.linux.judge.tolerance import MeasureSpec
from trunkline.linux.judge.verification import EngineVerdict, list_unknown_measures
from trunkline.results import Results
from trunkline.stats.equivalence import MIN_PAIRS, judge_equivalence

MEASURES: Final = {
    "load": MeasureSpec("bit/s", 0.01),
    "loss of a class": MeasureSpec("1", 0.05, 0.002),
    "mean wait": MeasureSpec("s", 0.1, 2e-6),
    "throughput": MeasureSpec("bit/s", 0.01),
    "goodput of TCP": MeasureSpec("bit/s", 0.1),
    "goodput of TCP, all": MeasureSpec("bit/s", 0.05),
    "loss of a flow": MeasureSpec("1", 0.05, 0.002),
    "mean delay": MeasureSpec("s", 0.05, 2e-6),
}
MIN_PACKETS: Final = 100
"""Packets of a class or flow in each run below which its figures are chance."""
MIN_LOAD_SHARE: Final = 1e-4
"""Share of a link's rate below which traffic, such as acknowledgements, does not count."""

MeasuredValues = dict[MeasureKey, float]


def verify_fluid(
    network_json: str,
    seeds: Sequence[int],
    *,
    max_seeds: int | None = None,
    on_progress: Callable[[float], None] | None = None,
    focus_names: Sequence[str] = (),
) -> EngineVerdict:
    """Run a network in packets with several seeds and compare with its fluid figures.

    max_seeds: Adds the next seeds until the verdict is decided, up to this number.
    on_progress: Gets the part of all runs that is done, 0 to 1.
    focus_names: Compare instead with a focus on these links, paths or failures: what it keeps, and
        the links that it is about.
    Raises ValueError: See `trunkline.fluid.focus.focus`.
    """
    network = json.loads(network_json)
    used_seeds = list(seeds)
    reference = simulate(network_json, seed=used_seeds[0])
    focused_network = focus_network(network, focus_names, used_seeds[0]) if focus_names else None
    focused_json = None if focused_network is None else json.dumps(focused_network.network)
    runs: list[Results] = []
    compared_runs: list[Results] = []
    while True:
        new_seeds = used_seeds[len(runs) :]
        runs += packets(network_json, seeds=new_seeds)
        compared_runs += (
            packets(focused_json, seeds=new_seeds) if focused_json else [reference] * len(new_seeds)
        )
        if on_progress is not None:
            on_progress(len(runs) / max(len(used_seeds), max_seeds or 0))
        compared_values = [_collect_values(each, reference) for each in compared_runs]
        if focused_network is not None:
            compared_values = [
                _select_focus_values(each, focused_network.links) for each in compared_values
            ]
        verdict = _make_verdict(network, runs, compared_values, reference, tuple(used_seeds))
        if focus_names:
            sentences = ("background is Poisson, on each link by itself",)
            name = f"fluid focus on {', '.join(focus_names)}"
            verdict = replace(verdict, reference=name, notes=sentences)
        if max_seeds is None or verdict.outcome != "undecided" or len(used_seeds) >= max_seeds:
            return verdict
        wanted_seeds = len(used_seeds) + min(
            verdict.more or len(used_seeds), max(len(used_seeds), MIN_PAIRS)
        )
        used_seeds += [
            used_seeds[-1] + each
            for each in range(1, min(max_seeds, wanted_seeds) - len(used_seeds) + 1)
        ]


def _make_verdict(
    network: dict[str, Any],
    runs: Sequence[Results],
    compared_values: Sequence[MeasuredValues],
    reference: Results,
    seeds: tuple[int, ...],
) -> EngineVerdict:
    packet_values = [_collect_values(run, reference) for run in runs]
    shared_keys = [
        key
        for key in compared_values[0]
        if all(key in each for each in (*packet_values, *compared_values))
    ]
    missing_keys = [key for key in packet_values[0] if key not in compared_values[0]]
    rates = {link["name"]: link["rate_bit_s"] for link in network["links"]}
    is_random = len({run.hash() for run in runs}) > 1 or (
        len(runs) == 1 and _has_randomness(network)
    )
    rows = []
    for key in shared_keys:
        floor = (
            rates[key.subject.rpartition(", ")[0]] * MIN_LOAD_SHARE
            if key.measure == "load"
            else 0.0
        )
        rows.append(
            _compare_measure(
                key,
                [each[key] for each in packet_values],
                [each[key] for each in compared_values],
                floor,
                is_random,
                len(shared_keys),
            )
        )
    sentences = list_omissions(network)
    name = f"fluid engine {_core.version()}"
    return EngineVerdict(
        tuple(rows), sentences, seeds, False, name, tuple(list_unknown_measures(missing_keys))
    )


def _has_randomness(network: dict[str, Any]) -> bool:
    """Whether two seeds could differ."""
    arrivals = (flow["agent"].get("arrivals") for flow in network["flows"])
    return any(each != {"cbr": {"jitter": 0.0}} for each in arrivals)


def _compare_measure(
    key: MeasureKey,
    packet_values: list[float],
    compared_values: list[float],
    floor: float,
    is_random: bool,
    comparisons: int,
) -> ComparisonRow:
    spec = MEASURES[key.measure]
    mean = sum(packet_values) / len(packet_values)
    tolerance = max(spec.share * abs(mean), spec.floor, floor)
    reference = sum(compared_values) / len(compared_values)
    differences = [other - each for each, other in zip(packet_values, compared_values, strict=True)]
    if not is_random:
        worst = max(differences, key=abs)
        return make_fixed_row(
            key.subject, key.measure, spec.unit, mean, reference, worst, tolerance
        )
    result = judge_equivalence(differences, tolerance, comparisons=comparisons)
    interval = result.interval
    return ComparisonRow(
        key.subject,
        key.measure,
        spec.unit,
        mean,
        reference,
        interval.mean,
        tolerance,
        result.outcome,
        interval.low,
        interval.high,
        result.more_pairs,
    )


def _collect_values(run: Results, expected: Results) -> MeasuredValues:
    """Collect values to compare, of classes and flows that are large enough in the reference."""
    measured: MeasuredValues = {}
    for key, value in (*_list_port_values(run, expected), *_list_flow_values(run, expected)):
        if value is not None:
            measured[key] = float(str(value))
    return measured


def _select_focus_values(values: MeasuredValues, links: Sequence[str]) -> MeasuredValues:
    """Select the values of a focus: its flows, and the ports of its links."""
    ports = ("load", "loss of a class", "mean wait")
    return {
        key: value
        for key, value in values.items()
        if key.measure not in ports or key.subject.rpartition(", ")[0] in links
    }


def _list_port_values(run: Results, expected_run: Results) -> Iterator[tuple[MeasureKey, Any]]:
    expected = expected_run.ports["packets_offered"]
    for row, expected_packets in zip(run.ports.rows(), expected, strict=True):
        # A focus has the same ports.
        if expected_packets is not None and float(str(expected_packets)) < MIN_PACKETS:
            continue
        subject = f"{row['link']}, {row['class']}"
        yield MeasureKey(subject, "load"), row["throughput_bit_s"]
        yield MeasureKey(subject, "loss of a class"), row["loss_ratio"]
        yield MeasureKey(subject, "mean wait"), row["wait_mean_s"]


def _list_flow_values(run: Results, expected_run: Results) -> Iterator[tuple[MeasureKey, Any]]:
    expected = dict(
        zip(expected_run.flows["flow"], expected_run.flows["packets_sent"], strict=True)
    )
    tcp: list[Any] = []
    for row in run.flows.rows():
        # A focus has fewer flows, and background in place of the others.
        expected_packets = expected.get(row["flow"], 0)
        if expected_packets is not None and float(str(expected_packets)) < MIN_PACKETS:
            continue
        name = str(row["flow"])
        if row["protocol"] == "tcp":
            tcp.append(row["goodput_bit_s"])
            yield MeasureKey(name, "goodput of TCP"), row["goodput_bit_s"]
        else:
            yield MeasureKey(name, "throughput"), row["throughput_bit_s"]
            yield MeasureKey(name, "loss of a flow"), row["loss_ratio"]
        yield MeasureKey(name, "mean delay"), row["delay_mean_s"]
    if len(tcp) > 1 and None not in tcp:
        yield MeasureKey(f"{len(tcp)} TCP flows", "goodput of TCP, all"), sum(map(float, tcp))

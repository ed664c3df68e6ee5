"""Comparisons: one row a measure, with what both engines say, their margin, and the outcome."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trunkline.linux.judge import per_packet, tolerance
from trunkline.linux.judge.measures import MeasureKey
from trunkline.linux.judge.seed_pair import (
    ComparisonMethod,
    SeedPair,
    compute_packet_time,
    count_hops,
    find_largest_packet,
)
from trunkline.linux.judge.tolerance import MEASURES
from trunkline.stats.equivalence import EquivalenceOutcome, judge_equivalence


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One comparison.

    Parameters
    ----------
    subject : str
        Flow, class or link.
    unit : str
        Unit of the numbers.
    simulator, reference : float
        Means over the seeds.
    difference : float
        Reference less simulator: the mean over the seeds where they differ by chance, else the
        greatest; of single packets, the greatest or the number that differ.
    margin : float
        Greatest difference that agrees.
    outcome : {"agrees", "differs", "undecided"}
        Whether the interval of the difference is inside the margin, outside, or neither.
    low, high : float or None
        Ends of that interval; None where nothing is by chance, or one seed says nothing of it.
    more : int or None
        Seeds more that are likely to decide; None where it is decided, or no number would.
    """

    subject: str
    measure: str
    unit: str
    simulator: float
    reference: float
    difference: float
    margin: float
    outcome: EquivalenceOutcome
    low: float | None = None
    high: float | None = None
    more: int | None = None

    @property
    def agrees(self) -> bool:
        """Whether the engines agree in this."""
        return self.outcome == "agrees"


def make_fixed_row(
    subject: str,
    measure: str,
    unit: str,
    ours: float,
    theirs: float,
    difference: float,
    tolerance: float,
) -> ComparisonRow:
    """A comparison in which nothing is by chance."""
    outcome: EquivalenceOutcome = "agrees" if abs(difference) <= tolerance else "differs"
    return ComparisonRow(subject, measure, unit, ours, theirs, difference, tolerance, outcome)


def compare_final_entries(
    subject: str, measure: str, ours: Mapping[Any, object], theirs: Mapping[Any, object]
) -> ComparisonRow:
    """How many entries tables of both have at the end, and how many of them are others."""
    unlike = sum(ours.get(key) != theirs.get(key) for key in {*ours, *theirs})
    return make_fixed_row(subject, measure, "", len(ours), len(theirs), float(unlike), 0.0)


def compare_moment(
    subject: str,
    measures: tuple[str, str],
    times: tuple[float | None, float | None],
    tolerance: float,
) -> ComparisonRow:
    """When something came [s]; where one has no such moment, which of them has."""
    (time_measure, count_measure), (ours, theirs) = measures, times
    if ours is not None and theirs is not None:
        return make_fixed_row(subject, time_measure, "s", ours, theirs, theirs - ours, tolerance)
    counts = float(ours is not None), float(theirs is not None)
    return make_fixed_row(subject, count_measure, "", *counts, counts[1] - counts[0], 0.0)


def compare_packets(pairs: Sequence[SeedPair], method: ComparisonMethod) -> Iterator[ComparisonRow]:
    """Comparisons of single packets, flow by flow."""
    is_disturbed = any(
        first.tolist() != second.tolist()
        for pair in pairs
        for _, _, first, second in pair.datagrams.values()
    ) or (method.fate_packets > 0 and method.has_choice)
    for name in pairs[0].datagrams:
        packet_tolerance = per_packet.PacketTolerance(
            delay_ns=method.compute_delay_tolerance(count_hops(pairs[0].network, name)),
            tie_share=method.ties,
            packet_ns=compute_packet_time(pairs[0], name),
            is_disturbed=is_disturbed,
            has_choice=method.has_choice,
        )
        for comparison in per_packet.compare_flow_packets(
            [pair.datagrams[name] for pair in pairs], packet_tolerance
        ):
            yield make_fixed_row(name, *comparison)


@dataclass(frozen=True, slots=True)
class PairedSamples:
    """Values of one measure in the seeds in which both engines tell it."""

    key: MeasureKey
    ours: list[float]
    theirs: list[float]


def pair_samples(pairs: Sequence[SeedPair]) -> tuple[list[PairedSamples], list[MeasureKey]]:
    """The measures that both engines tell, and those that one does not."""
    keys = dict.fromkeys(key for pair in pairs for side in pair.values for key in side)
    known_samples, unknown_keys = [], []
    for key in keys:
        # A count that is not there is none; a mean is unknown.
        missing = 0.0 if MEASURES[key.measure].unit == "packets" else None
        value_pairs = [
            (ours, theirs)
            for pair in pairs
            if (ours := pair.values[0].get(key, missing)) is not None
            and (theirs := pair.values[1].get(key, missing)) is not None
        ]
        is_hidden = any(pair.is_hidden(key) for pair in pairs)
        if is_hidden or not value_pairs:
            unknown_keys.append(key)
        else:
            known_samples.append(
                PairedSamples(
                    key, [each[0] for each in value_pairs], [each[1] for each in value_pairs]
                )
            )
    return known_samples, unknown_keys


def compare_measures(
    pairs: Sequence[SeedPair], known_samples: Sequence[PairedSamples], method: ComparisonMethod
) -> list[ComparisonRow]:
    """Comparisons of what both engines tell, by their values over the seeds."""
    return [_judge_measure(samples, pairs, method, len(known_samples)) for samples in known_samples]


def _judge_measure(
    samples: PairedSamples, pairs: Sequence[SeedPair], method: ComparisonMethod, comparisons: int
) -> ComparisonRow:
    key = samples.key
    spec = MEASURES[key.measure]
    size = len(samples.ours)
    ours, theirs = sum(samples.ours) / size, sum(samples.theirs) / size
    differences = [
        second - first for first, second in zip(samples.ours, samples.theirs, strict=True)
    ]
    tolerance = _compute_tolerance(samples, pairs, method)
    name = f"{key.measure}: {key.detail}" if key.detail else key.measure
    # What UDP sends is its schedule's, whatever else is by chance.
    if not method.is_random or key.measure == "packets sent":
        largest = max(differences, key=abs)
        return make_fixed_row(key.subject, name, spec.unit, ours, theirs, largest, tolerance)
    result = judge_equivalence(differences, tolerance, comparisons=comparisons)
    return ComparisonRow(
        key.subject,
        name,
        spec.unit,
        ours,
        theirs,
        result.interval.mean,
        tolerance,
        result.outcome,
        result.interval.low,
        result.interval.high,
        result.more_pairs,
    )


def _compute_tolerance(
    samples: PairedSamples, pairs: Sequence[SeedPair], method: ComparisonMethod
) -> float:
    spec = MEASURES[samples.key.measure]
    mean = sum(samples.ours) / len(samples.ours)
    flow = samples.key.subject.partition(", ")[0]
    if method.is_exact or samples.key.measure == "packets sent":
        return _compute_exact_tolerance(samples, pairs, method, mean)
    allowed = max(spec.share * abs(mean), spec.floor)
    if not method.is_random and samples.key.measure == "bytes a packet":
        return max(allowed, _compute_size_shift(samples.key, pairs))
    if spec.unit == "s":
        allowed += method.compute_delay_tolerance(count_hops(pairs[0].network, flow)) / 1e9
    elif spec.unit == "packets" and method.is_emulated:
        allowed = max(allowed, tolerance.EMULATED_PACKETS)
    return allowed


def _compute_exact_tolerance(
    samples: PairedSamples, pairs: Sequence[SeedPair], method: ComparisonMethod, mean: float
) -> float:
    """Where packets are compared one by one, their sums may be apart by what ties decide."""
    measure, flow = samples.key.measure, samples.key.subject.partition(", ")[0]
    network = pairs[0].network
    if measure == "packets sent":
        return 0.0
    unit = MEASURES[measure].unit
    if unit == "packets":
        # One more may come just before the run ends, or its warm-up.
        return 1.0 + tolerance.count_fate_difference(method.fate_packets, method.ties)
    if unit == "s":
        shift = (
            compute_packet_time(pairs[0], flow) / 1e9
            if method.fate_packets or method.has_choice
            else 0.0
        )
        late_share = tolerance.MAX_LATE_SHARE if measure == "mean delay" else 1.0
        return method.compute_delay_tolerance(count_hops(network, flow)) / 1e9 + late_share * shift
    allowed = max(MEASURES[measure].share * abs(mean), MEASURES[measure].floor)
    return max(allowed, _compute_size_shift(samples.key, pairs))


def _compute_size_shift(key: MeasureKey, pairs: Sequence[SeedPair]) -> float:
    """By how much one packet more than before the end changes the mean of their sizes [B]."""
    sent = max(pairs[0].values[0].get(MeasureKey(key.subject, "sent by class")) or 1.0, 1.0)
    return find_largest_packet(pairs[0]) / sent if len(pairs[0].sizes) > 1 else 0.0

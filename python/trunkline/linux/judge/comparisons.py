"""Comparisons: one row for each measure, with both engines' values, margin and outcome."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline.linux.judge import per_packet, tolerance
from trunkline.linux.judge.engine_run import FlowDatagrams
from trunkline.linux.judge.measures import MeasureKey
from trunkline.linux.judge.seed_pair import (
    ComparisonMethod,
    SeedPair,
    compute_packet_time,
    count_hops,
    find_largest_packet,
)
from trunkline.linux.judge.tolerance import MEASURES
from trunkline.stats.equivalence import MIN_PAIRS, EquivalenceOutcome, judge_equivalence

SWITCH_MEASURE: Final = "first packet after"
TIE_REASON: Final = "packets that come at the same time may have made the difference"
POWER_REASON: Final = "more could have hidden than --within allows"
SPREAD_REASON: Final = "the runs spread more than the margin"
NO_TIE_REASON: Final = (
    "packets differ one by one without a tie, but a port has a clock, whose ties are not known"
)
FEW_SEEDS_REASON: Final = f"fewer than {MIN_PAIRS} seeds of what differs by chance"

DELIVERY_MEASURES: Final = (
    "packets delivered",
    "goodput",
    "goodput, each of several",
    "transfers complete",
)
"""Measures in which a count by one engine alone is never a small difference."""
MARK_MEASURES: Final = ("DSCP", "ECN", "TTL")
SHARE_ROUNDING: Final = 1e-9  # By which the sum of the shares of a flow may miss 1.
MIN_SURE_DELIVERIES: Final = 5
"""Packets of all seeds below which coins may have lost every one of them."""
OWN_COUNT_MEASURES: Final = (
    "packets sent",
    "packets delivered",
    "packets lost",
    "out of order",
    "DSCP",
    "ECN",
    "TTL",
    "sent again",
    "timeouts",
    "sent by class",
    "dropped by class",
    "lost by cause",
    "coloured",
)
"""Counts of packets, each a part of those of a flow, class, link or meter."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One comparison."""

    subject: str  # Flow, class or link.
    measure: str
    unit: str  # Unit of the numbers.
    # simulator, reference: Means over the seeds.
    simulator: float
    reference: float
    # Reference less simulator: the mean over the seeds where they differ by chance, else the
    # greatest; of single packets, the greatest or the number that differ.
    difference: float
    margin: float  # Greatest difference that agrees.
    # Whether the interval of the difference is inside the margin, outside, or neither.
    outcome: EquivalenceOutcome
    # low, high: Ends of that interval; None where nothing is by chance, or one seed says nothing of
    # it.
    low: float | None = None
    high: float | None = None
    # Seeds more that are likely to decide; None where it is decided, or no number would.
    more: int | None = None
    # Whole of which the margin is a part: the packets of the flow, class or link of a count, else
    # the simulator's mean; 0 for that mean.
    scale: float = 0.0
    # Difference that cannot be seen however exact the comparison: the time between two packets of a
    # flow, of what they show of a switch.
    blind: float = 0.0
    reason: str = ""  # Why it is undecided; empty if it is decided.
    # Known difference of the reference that explains this one; empty without.
    explanation: str = ""
    tie: str = ""  # Tie for which means are compared in place of packets; empty for packets.

    @property
    def agrees(self) -> bool:
        """Whether the engines agree in this."""
        return self.outcome == "agrees"

    @property
    def hidden(self) -> float:
        """Power: the largest change of the simulator that would still have agreed."""
        return self.margin + abs(self.difference) + self.blind

    @property
    def hidden_share(self) -> float | None:
        """The same as a share of its total; None for the moment of a switch, which has none."""
        if self.measure == SWITCH_MEASURE:
            return None
        scale = self.scale or abs(self.simulator)
        return self.hidden / scale if scale else (math.inf if self.hidden else 0.0)


def make_fixed_row(
    subject: str,
    measure: str,
    unit: str,
    ours: float,
    theirs: float,
    difference: float,
    tolerance: float,
    scale: float = 0.0,
    *,
    doubt: float = 0.0,
    blind: float = 0.0,
) -> ComparisonRow:
    """Make a comparison in which nothing is by chance.

    doubt: Difference beyond the margin that packets which come at the same time may have made.
    """
    outcome: EquivalenceOutcome = "agrees" if abs(difference) <= tolerance else "differs"
    reason = ""
    if outcome == "differs" and abs(difference) <= doubt:
        outcome, reason = "undecided", TIE_REASON
    return ComparisonRow(
        subject,
        measure,
        unit,
        ours,
        theirs,
        difference,
        tolerance,
        outcome,
        scale=scale,
        blind=blind,
        reason=reason,
    )


def require_power(row: ComparisonRow, share: float) -> ComparisonRow:
    """A comparison that agrees only if no more than a share of its total could have hidden.

    share: Share of the packets of a flow, class or link whose count is compared, else of the mean.
    """
    if not row.agrees or row.measure == SWITCH_MEASURE:
        return row
    allowed = share * (row.scale or abs(row.simulator)) - row.blind - abs(row.difference)
    reach = max(abs(each) for each in (row.difference, row.low or 0.0, row.high or 0.0))
    margin = min(row.margin, max(allowed, 0.0))
    if reach <= margin:
        return replace(row, margin=margin)
    return replace(row, margin=margin, outcome="undecided", reason=POWER_REASON)


def compare_final_entries(
    subject: str, measure: str, ours: Mapping[Any, object], theirs: Mapping[Any, object]
) -> ComparisonRow:
    """Compare how many entries tables of both have at the end, and how many of them are others."""
    unlike = sum(ours.get(key) != theirs.get(key) for key in {*ours, *theirs})
    return make_fixed_row(subject, measure, "", len(ours), len(theirs), float(unlike), 0.0)


def compare_moment(
    subject: str,
    measures: tuple[str, str],
    times: tuple[float | None, float | None],
    tolerance: float,
) -> ComparisonRow:
    """Compare the times of an event [s]; where one has none, report which has it."""
    (time_measure, count_measure), (ours, theirs) = measures, times
    if ours is not None and theirs is not None:
        return make_fixed_row(subject, time_measure, "s", ours, theirs, theirs - ours, tolerance)
    counts = float(ours is not None), float(theirs is not None)
    return make_fixed_row(subject, count_measure, "", *counts, counts[1] - counts[0], 0.0)


def compare_first_packets(
    pairs: Sequence[SeedPair], method: ComparisonMethod
) -> Iterator[ComparisonRow]:
    """Compare those packets that no tie can have moved for long, flow by flow.

    A packet that goes before another delays that one by its own time, so that it is allowed.
    """
    for name in pairs[0].datagrams:
        lateness = [
            _measure_first_lateness(*pair.datagrams[name][:2], pair.same_until_ns) for pair in pairs
        ]
        found = np.concatenate(lateness)
        if not len(found):
            continue
        margin_ns = method.compute_delay_tolerance(count_hops(pairs[0].network, name))
        # The median: of few packets each may have waited for one that came at the same time.
        middle_s = float(np.median(found)) / 1e9
        ours = pairs[0].datagrams[name][0]
        mean_s = float(ours.delay_ns.mean()) / 1e9
        yield make_fixed_row(
            name,
            "delay before the first loss, p50",
            "s",
            mean_s,
            mean_s + middle_s,
            middle_s,
            margin_ns / 1e9,
        )


def _measure_first_lateness(
    ours: FlowDatagrams, theirs: FlowDatagrams, until_ns: int
) -> NDArray[np.int64]:
    """Measure how much later the reference's packets are of those sent until a time [ns]."""
    _, our_places, their_places = np.intersect1d(
        ours.number, theirs.number, assume_unique=True, return_indices=True
    )
    is_first = ours.sent_ns[ours.number[our_places]] < until_ns
    return theirs.delay_ns[their_places][is_first] - ours.delay_ns[our_places][is_first]


def compare_packets(pairs: Sequence[SeedPair], method: ComparisonMethod) -> Iterator[ComparisonRow]:
    """Compare single packets, flow by flow."""
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
    """Collect the values of one measure in the seeds in which both engines give it."""

    key: MeasureKey
    ours: list[float]
    theirs: list[float]


def pair_samples(pairs: Sequence[SeedPair]) -> tuple[list[PairedSamples], list[MeasureKey]]:
    """Separate the measures that both engines give from those that one does not."""
    keys = dict.fromkeys(key for pair in pairs for side in pair.values for key in side)
    known_samples, unknown_keys = [], []
    present = [
        [{(key.subject, key.measure) for key in side} for side in pair.values] for pair in pairs
    ]
    for key in keys:
        unit = MEASURES[key.measure].unit

        def get_value(
            index: int, side: int, key: MeasureKey = key, unit: str = unit
        ) -> float | None:
            # A count that is not there is none; a mean is unknown, and a part of nothing.
            has_whole = unit == "share" and (key.subject, key.measure) in present[index][side]
            missing = 0.0 if unit == "packets" or has_whole else None
            return pairs[index].values[side].get(key, missing)

        value_pairs = [
            (ours, theirs)
            for index in range(len(pairs))
            if (ours := get_value(index, 0)) is not None
            and (theirs := get_value(index, 1)) is not None
        ]
        is_hidden = any(pair.is_hidden(key) for pair in pairs)
        # A phase in which most seeds have no packet has no mean over the seeds.
        is_rare = len(value_pairs) < MIN_PAIRS <= len(pairs)
        if is_hidden or is_rare or not value_pairs:
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
    """Compare the measures that both engines give, by their values over the seeds."""
    # A mark that all packets bear differs by no chance, and takes no share of it from the others.
    by_chance = sum(not _is_certain_mark(samples, pairs) for samples in known_samples)
    return [_judge_measure(samples, pairs, method, by_chance) for samples in known_samples]


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
    scale = _find_scale(samples, pairs)
    margin, doubt = _compute_margins(samples, pairs, method, scale)
    blind = 0.0
    if key.measure == SWITCH_MEASURE:
        blind = max(pair.spacings.get(key.subject, 0.0) for pair in pairs)
    name = f"{key.measure}: {key.detail}" if key.detail else key.measure
    largest = max(differences, key=abs)
    row = make_fixed_row(
        key.subject, name, spec.unit, ours, theirs, largest, margin, scale, doubt=doubt, blind=blind
    )
    is_sure = not method.is_random or sum(samples.ours) + sum(samples.theirs) >= MIN_SURE_DELIVERIES
    if key.measure in DELIVERY_MEASURES and bool(ours) != bool(theirs) and is_sure:
        # Whatever the margin, one engine delivers and the other does not.
        return replace(row, outcome="differs", margin=0.0, reason="")
    if _is_foreign(samples, pairs, method, scale):
        # Which packet is marked may be a tie or a coin; which marks and classes there are is not.
        return replace(row, outcome="differs", margin=0.0, reason="")
    # UDP sends by its schedule, whatever else is by chance.
    is_certain = key.measure == "packets sent" or _is_certain_mark(samples, pairs)
    if is_certain or (not method.is_random and (row.outcome != "undecided" or size < MIN_PAIRS)):
        return row
    result = judge_equivalence(differences, margin, comparisons=comparisons)
    reason = "" if result.outcome != "undecided" else SPREAD_REASON
    return replace(
        row,
        difference=result.interval.mean,
        outcome=result.outcome,
        low=result.interval.low,
        high=result.interval.high,
        more=result.more_pairs,
        reason=FEW_SEEDS_REASON if reason and size < MIN_PAIRS else reason,
    )


def _find_scale(samples: PairedSamples, pairs: Sequence[SeedPair]) -> float:
    """Find the total of which a measure is a part; see `ComparisonRow`."""
    key = samples.key
    if MEASURES[key.measure].unit == "share":
        return 1.0
    if key.measure not in OWN_COUNT_MEASURES:
        return 0.0
    return sum(pair.own_counts.get(key.subject, 0.0) for pair in pairs) / len(pairs)


def _is_foreign(
    samples: PairedSamples, pairs: Sequence[SeedPair], method: ComparisonMethod, scale: float
) -> bool:
    """Whether a part of a flow that is no chance has a mark that the other engine never gives.

    So with the part of a link's packets that have a class.
    """
    ours, theirs = sum(samples.ours), sum(samples.theirs)
    is_class = samples.key.measure == "sent by class"
    if not (is_class or _is_mark(samples.key)) or bool(ours) == bool(theirs):
        return False
    is_by_chance = MEASURES[samples.key.measure].unit == "share" and method.is_random
    if is_by_chance and len(samples.ours) < MIN_PAIRS:
        # A connection that waits for its timeout sends nothing while another way is in use.
        return False
    if is_class:
        link = samples.key.subject.partition(", ")[0]
        scale = max(pair.own_counts.get(link, 0.0) for pair in pairs)
        if ours + theirs <= tolerance.MAX_STRAY_PACKETS * len(samples.ours):
            return False
    return ours + theirs > tolerance.MAX_OWN_SHARE * scale * len(samples.ours)


def _is_mark(key: MeasureKey) -> bool:
    return key.measure in MARK_MEASURES or MEASURES[key.measure].unit == "share"


def _is_certain_mark(samples: PairedSamples, pairs: Sequence[SeedPair]) -> bool:
    """Whether all packets of a flow arrive with one mark, or none does, in every seed."""
    key = samples.key
    if MEASURES[key.measure].unit == "share":
        values = (*samples.ours, *samples.theirs)
        return all(min(value, abs(1 - value)) < SHARE_ROUNDING for value in values)
    if key.measure not in MARK_MEASURES:
        return False
    delivered_key = MeasureKey(key.subject, "packets delivered")
    return all(
        (values.get(key) or 0.0) in (0.0, values.get(delivered_key))
        for pair in pairs
        for values in pair.values
    ) and all(
        pair.values[0].get(delivered_key) == pair.values[1].get(delivered_key) for pair in pairs
    )


def _compute_margins(
    samples: PairedSamples, pairs: Sequence[SeedPair], method: ComparisonMethod, scale: float
) -> tuple[float, float]:
    """Compute the margin, and the difference up to which ties may have made one that is larger."""
    key = samples.key
    spec = MEASURES[key.measure]
    mean = sum(samples.ours) / len(samples.ours)
    if key.measure == "packets sent":
        return 0.0, 0.0
    documented = max(spec.share * abs(mean), spec.floor)
    if method.is_emulated and not method.is_exact and spec.unit == "packets":
        documented = max(documented, tolerance.EMULATED_PACKETS)
        if key.measure == "sent by class" and _sends_acknowledgements(key, pairs):
            documented = max(documented, tolerance.EMULATED_ACK_SHARE * abs(mean))
    if key.measure in OWN_COUNT_MEASURES:
        documented = tolerance.cap_count_margin(documented, scale)
    if spec.unit == "transfers":
        documented = tolerance.cap_count_margin(documented, mean)
    if method.is_exact:
        by_ties = _compute_exact_tolerance(samples, pairs, method, documented)
        if spec.unit == "packets":
            allowed = max(documented, _count_left_out(key, pairs))
            if key.measure in OWN_COUNT_MEASURES:
                allowed = tolerance.cap_count_margin(allowed, scale)
            if method.is_emulated and find_flow_name(key) not in pairs[0].datagrams:
                # Counters are read late there: packets on their way have come, or were answered.
                inside = max(pair.packets_inside for pair in pairs)
                return min(by_ties, allowed) + inside, by_ties + inside
            return min(by_ties, allowed), by_ties
        if spec.unit == "s" and method.is_emulated and method.ties > tolerance.MAX_TIE_SHARE:
            # They come faster than an emulated processor takes them, and wait for it.
            return by_ties, by_ties + tolerance.EMULATED_CHANGE_NS / 1e9
        if spec.unit == "s" and key.measure != SWITCH_MEASURE:
            hops = count_hops(pairs[0].network, find_flow_name(key))
            documented += method.compute_delay_tolerance(hops) / 1e9
            return min(by_ties, documented), by_ties
        return by_ties, 0.0
    if key.measure == SWITCH_MEASURE:
        # One that is lost by chance puts the first a packet later.
        return documented + max(pair.spacings.get(key.subject, 0.0) for pair in pairs), 0.0
    if key.measure == "bytes a packet":
        if method.is_emulated and _sends_acknowledgements(key, pairs):
            documented = max(documented, tolerance.EMULATED_ACK_SIZE_SHARE * abs(mean))
        shift = 0.0 if method.is_random else _compute_size_shift(key, pairs)
        return max(documented, shift), 0.0
    if spec.unit == "s":
        flow = find_flow_name(key)
        documented += method.compute_delay_tolerance(count_hops(pairs[0].network, flow)) / 1e9
    if key.measure == "mean window" and method.is_emulated:
        documented += _compute_restart_shift(key, pairs)
    return documented, 0.0


def _compute_restart_shift(key: MeasureKey, pairs: Sequence[SeedPair]) -> float:
    """Compute by how much the mean window may move where a connection restarts after a repair.

    It does so by a timeout, on the emulated machine up to `EMULATED_CHANGE_NS` earlier or later,
    and with its greatest window for that time.
    """
    pair = pairs[0]
    timeline = pair.runs[0].results.timeline
    repairs = {row["time_ns"] for row in timeline.rows() if row["event"] == "repaired"}
    greatest_key = MeasureKey(key.subject, "greatest window")
    greatest = max((values.get(greatest_key) or 0.0) for each in pairs for values in each.values)
    # Its samples are those of the second half.
    sampled_ns = pair.network["run"]["duration_ns"] / 2
    return len(repairs) * greatest * tolerance.EMULATED_CHANGE_NS / sampled_ns


def _sends_acknowledgements(key: MeasureKey, pairs: Sequence[SeedPair]) -> bool:
    """Whether a class sends acknowledgements alone, by the size of its packets."""
    size = pairs[0].values[0].get(MeasureKey(key.subject, "bytes a packet"))
    return bool(pairs[0].tcp_flows) and size is not None and size < tolerance.MAX_ACK_BYTES


def _compute_exact_tolerance(
    samples: PairedSamples,
    pairs: Sequence[SeedPair],
    method: ComparisonMethod,
    documented: float,
) -> float:
    """Compute how far sums of packets may differ by ties, where packets are compared singly."""
    key = samples.key
    measure, flow = key.measure, find_flow_name(key)
    network = pairs[0].network
    unit = MEASURES[measure].unit
    if measure == SWITCH_MEASURE:
        spacing = max(pair.spacings.get(key.subject, 0.0) for pair in pairs)
        return spacing if method.fate_packets else 0.0
    if unit == "packets":
        # One more may come to a port just before the run ends, or its warm-up.
        is_of_flow = flow in pairs[0].datagrams
        return (
            float(not is_of_flow)
            + tolerance.count_fate_difference(method.fate_packets, method.ties)
            + _count_left_out(key, pairs)
        )
    if unit == "s":
        shift = (
            compute_packet_time(pairs[0], flow) / 1e9
            if method.fate_packets or method.has_choice
            else 0.0
        )
        late_share = tolerance.MAX_LATE_SHARE if measure == "mean delay" else 1.0
        return method.compute_delay_tolerance(count_hops(network, flow)) / 1e9 + late_share * shift
    return max(documented, _compute_size_shift(key, pairs))


def find_flow_name(key: MeasureKey) -> str:
    """Find the flow that a subject is or is a phase of; the name itself for other subjects."""
    return key.subject.partition(", ")[0]


def _count_left_out(key: MeasureKey, pairs: Sequence[SeedPair]) -> int:
    """Count the packets whose fate is open, as they come at the moment of a failure or a switch.

    The measures of flows are without them.
    """
    flow = find_flow_name(key)
    is_without_them = flow in pairs[0].left_out and key.measure != "out of order"
    return 0 if is_without_them else max(sum(map(len, pair.left_out.values())) for pair in pairs)


def _compute_size_shift(key: MeasureKey, pairs: Sequence[SeedPair]) -> float:
    """Compute the change of the mean size by one packet more before the end [B]."""
    sent = max(pairs[0].values[0].get(MeasureKey(key.subject, "sent by class")) or 1.0, 1.0)
    return find_largest_packet(pairs[0]) / sent if len(pairs[0].sizes) > 1 else 0.0

"""Comparisons: one row a measure, with what both engines say, their margin, and the outcome."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trunkline.linux.judge import margin, packetwise
from trunkline.linux.judge.margin import MEASURES
from trunkline.linux.judge.measures import Key
from trunkline.linux.judge.pair import Pair, Way, hops, largest, packet_ns
from trunkline.stats.equivalence import Outcome, equivalence


@dataclass(frozen=True, slots=True)
class Row:
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
    outcome: Outcome
    low: float | None = None
    high: float | None = None
    more: int | None = None

    @property
    def agrees(self) -> bool:
        """Whether the engines agree in this."""
        return self.outcome == "agrees"


def fixed(
    subject: str,
    measure: str,
    unit: str,
    ours: float,
    theirs: float,
    difference: float,
    allowed: float,
) -> Row:
    """A comparison in which nothing is by chance."""
    outcome: Outcome = "agrees" if abs(difference) <= allowed else "differs"
    return Row(subject, measure, unit, ours, theirs, difference, allowed, outcome)


def at_end(
    subject: str, measure: str, ours: Mapping[Any, object], theirs: Mapping[Any, object]
) -> Row:
    """How many entries tables of both have at the end, and how many of them are others."""
    unlike = sum(ours.get(key) != theirs.get(key) for key in {*ours, *theirs})
    return fixed(subject, measure, "", len(ours), len(theirs), float(unlike), 0.0)


def moment(
    subject: str,
    measures: tuple[str, str],
    both: tuple[float | None, float | None],
    allowed: float,
) -> Row:
    """When something came [s]; where one has no such moment, which of them has."""
    (when, whether), (ours, theirs) = measures, both
    if ours is not None and theirs is not None:
        return fixed(subject, when, "s", ours, theirs, theirs - ours, allowed)
    counts = float(ours is not None), float(theirs is not None)
    return fixed(subject, whether, "", *counts, counts[1] - counts[0], 0.0)


def packets(pairs: Sequence[Pair], way: Way) -> Iterator[Row]:
    """Comparisons of single packets, flow by flow."""
    others = any(
        first.tolist() != second.tolist()
        for pair in pairs
        for _, _, first, second in pair.packets.values()
    ) or (way.fates > 0 and way.chooses)
    for name in pairs[0].packets:
        its = packetwise.Allowance(
            delay_ns=way.allowed_ns(hops(pairs[0].network, name)),
            ties=way.ties,
            packet_ns=packet_ns(pairs[0], name),
            others=others,
            chooses=way.chooses,
        )
        for found in packetwise.packetwise([pair.packets[name] for pair in pairs], its):
            yield fixed(name, *found)


@dataclass(frozen=True, slots=True)
class Told:
    """Values of one measure in the seeds in which both engines tell it."""

    key: Key
    ours: list[float]
    theirs: list[float]


def told(pairs: Sequence[Pair]) -> tuple[list[Told], list[Key]]:
    """The measures that both engines tell, and those that one does not."""
    keys = dict.fromkeys(key for pair in pairs for side in pair.values for key in side)
    known, unknown = [], []
    for key in keys:
        # A count that is not there is none; a mean is unknown.
        missing = 0.0 if MEASURES[key.measure].unit == "packets" else None
        both = [
            (ours, theirs)
            for pair in pairs
            if (ours := pair.values[0].get(key, missing)) is not None
            and (theirs := pair.values[1].get(key, missing)) is not None
        ]
        hidden = any(pair.hides(key) for pair in pairs)
        if hidden or not both:
            unknown.append(key)
        else:
            known.append(Told(key, [each[0] for each in both], [each[1] for each in both]))
    return known, unknown


def measures(pairs: Sequence[Pair], known: Sequence[Told], way: Way) -> list[Row]:
    """Comparisons of what both engines tell, by their values over the seeds."""
    return [_judged(each, pairs, way, len(known)) for each in known]


def _judged(each: Told, pairs: Sequence[Pair], way: Way, comparisons: int) -> Row:
    key = each.key
    spec = MEASURES[key.measure]
    size = len(each.ours)
    ours, theirs = sum(each.ours) / size, sum(each.theirs) / size
    apart = [second - first for first, second in zip(each.ours, each.theirs, strict=True)]
    allowed = _margin(each, pairs, way)
    name = f"{key.measure}: {key.detail}" if key.detail else key.measure
    # What UDP sends is its schedule's, whatever else is by chance.
    if not way.chance or key.measure == "packets sent":
        worst = max(apart, key=abs)
        return fixed(key.subject, name, spec.unit, ours, theirs, worst, allowed)
    found = equivalence(apart, allowed, comparisons=comparisons)
    return Row(
        key.subject,
        name,
        spec.unit,
        ours,
        theirs,
        found.interval.mean,
        allowed,
        found.outcome,
        found.interval.low,
        found.interval.high,
        found.more,
    )


def _margin(each: Told, pairs: Sequence[Pair], way: Way) -> float:
    spec = MEASURES[each.key.measure]
    mean = sum(each.ours) / len(each.ours)
    flow = each.key.subject.partition(", ")[0]
    if way.exact or each.key.measure == "packets sent":
        return _exact(each, pairs, way, mean)
    allowed = max(spec.share * abs(mean), spec.floor)
    if not way.chance and each.key.measure == "bytes a packet":
        return max(allowed, _one_more(each.key, pairs))
    if spec.unit == "s":
        allowed += way.allowed_ns(hops(pairs[0].network, flow)) / 1e9
    elif spec.unit == "packets" and way.emulated:
        allowed = max(allowed, margin.EMULATED_PACKETS)
    return allowed


def _exact(each: Told, pairs: Sequence[Pair], way: Way, mean: float) -> float:
    """Where packets are compared one by one, their sums may be apart by what ties decide."""
    measure, flow = each.key.measure, each.key.subject.partition(", ")[0]
    network = pairs[0].network
    if measure == "packets sent":
        return 0.0
    unit = MEASURES[measure].unit
    if unit == "packets":
        # One more may come just before the run ends, or its warm-up.
        return 1.0 + margin.number_unlike(way.fates, way.ties)
    if unit == "s":
        shift = packet_ns(pairs[0], flow) / 1e9 if way.fates or way.chooses else 0.0
        part = margin.LEFT_OUT if measure == "mean delay" else 1.0
        return way.allowed_ns(hops(network, flow)) / 1e9 + part * shift
    allowed = max(MEASURES[measure].share * abs(mean), MEASURES[measure].floor)
    return max(allowed, _one_more(each.key, pairs))


def _one_more(key: Key, pairs: Sequence[Pair]) -> float:
    """By how much one packet more than before the end changes the mean of their sizes [B]."""
    sent = max(pairs[0].values[0].get(Key(key.subject, "sent by class")) or 1.0, 1.0)
    return largest(pairs[0]) / sent if len(pairs[0].sizes) > 1 else 0.0

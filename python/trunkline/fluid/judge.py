"""How far the fluid engine is from the packets, measure by measure, in the kernel verdict's words.

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
from trunkline.fluid.engine import notes, simulate
from trunkline.fluid.focus import focus
from trunkline.linux.judge.compare import Row, fixed
from trunkline.linux.judge.margin import Measure
from trunkline.linux.judge.measures import Key
from trunkline.linux.judge.verify import Verdict, unknown_said
from trunkline.results import Results
from trunkline.stats.equivalence import FEWEST, equivalence

MEASURES: Final = {
    "load": Measure("bit/s", 0.01),
    "loss of a class": Measure("1", 0.05, 0.002),
    "mean wait": Measure("s", 0.1, 2e-6),
    "throughput": Measure("bit/s", 0.01),
    "goodput of TCP": Measure("bit/s", 0.1),
    "goodput of TCP, all": Measure("bit/s", 0.05),
    "loss of a flow": Measure("1", 0.05, 0.002),
    "mean delay": Measure("s", 0.05, 2e-6),
}
LEAST_PACKETS: Final = 100
"""Packets of a class or flow in each run below which its figures are chance."""
LOAD_FLOOR: Final = 1e-4
"""Of a link's rate: acknowledgements and the like below it are of no account."""

Values = dict[Key, float]


def verify(
    network_json: str,
    seeds: Sequence[int],
    *,
    until: int | None = None,
    on_progress: Callable[[float], None] | None = None,
    focused: Sequence[str] = (),
) -> Verdict:
    """Run a network in packets with several seeds and compare with its fluid figures.

    Parameters
    ----------
    until : int, optional
        Goes on with the seeds that follow until the verdict is decided or there are so many.
    on_progress : callable, optional
        Gets the part of all runs that is done, 0 to 1.
    focused : sequence of str
        Compare instead with a focus on these links, paths or failures: what it keeps, and the links
        that it is about.

    Raises
    ------
    ValueError
        See `trunkline.fluid.focus.focus`.
    """
    network = json.loads(network_json)
    listed = list(seeds)
    reference = simulate(network_json, seed=listed[0])
    narrowed = focus(network, focused, listed[0]) if focused else None
    narrow = None if narrowed is None else json.dumps(narrowed.network)
    runs: list[Results] = []
    others: list[Results] = []
    while True:
        more = listed[len(runs) :]
        runs += packets(network_json, seeds=more)
        others += packets(narrow, seeds=more) if narrow else [reference] * len(more)
        if on_progress is not None:
            on_progress(len(runs) / max(len(listed), until or 0))
        theirs = [_values(each, reference) for each in others]
        if narrowed is not None:
            theirs = [_inside(each, narrowed.links) for each in theirs]
        verdict = _verdict(network, runs, theirs, reference, tuple(listed))
        if focused:
            said = ("background is Poisson, on each link by itself",)
            name = f"fluid focus on {', '.join(focused)}"
            verdict = replace(verdict, reference=name, notes=said)
        if until is None or verdict.outcome != "undecided" or len(listed) >= until:
            return verdict
        wanted = len(listed) + min(verdict.more or len(listed), max(len(listed), FEWEST))
        listed += [listed[-1] + each for each in range(1, min(until, wanted) - len(listed) + 1)]


def _verdict(
    network: dict[str, Any],
    runs: Sequence[Results],
    theirs: Sequence[Values],
    reference: Results,
    seeds: tuple[int, ...],
) -> Verdict:
    ours = [_values(run, reference) for run in runs]
    known = [key for key in theirs[0] if all(key in each for each in (*ours, *theirs))]
    hidden = [key for key in ours[0] if key not in theirs[0]]
    rates = {link["name"]: link["rate_bit_s"] for link in network["links"]}
    chance = len({run.hash() for run in runs}) > 1 or (len(runs) == 1 and _random(network))
    rows = []
    for key in known:
        floor = (
            rates[key.subject.rpartition(", ")[0]] * LOAD_FLOOR if key.measure == "load" else 0.0
        )
        rows.append(
            _row(
                key,
                [each[key] for each in ours],
                [each[key] for each in theirs],
                floor,
                chance,
                len(known),
            )
        )
    said = notes(network)
    name = f"fluid engine {_core.version()}"
    return Verdict(tuple(rows), said, seeds, False, name, tuple(unknown_said(hidden)))


def _random(network: dict[str, Any]) -> bool:
    """Whether two seeds could differ."""
    arrivals = (flow["agent"].get("arrivals") for flow in network["flows"])
    return any(each != {"cbr": {"jitter": 0.0}} for each in arrivals)


def _row(
    key: Key, ours: list[float], theirs: list[float], floor: float, chance: bool, comparisons: int
) -> Row:
    spec = MEASURES[key.measure]
    mean = sum(ours) / len(ours)
    allowed = max(spec.share * abs(mean), spec.floor, floor)
    reference = sum(theirs) / len(theirs)
    apart = [other - each for each, other in zip(ours, theirs, strict=True)]
    if not chance:
        worst = max(apart, key=abs)
        return fixed(key.subject, key.measure, spec.unit, mean, reference, worst, allowed)
    found = equivalence(apart, allowed, comparisons=comparisons)
    its = found.interval
    return Row(
        key.subject,
        key.measure,
        spec.unit,
        mean,
        reference,
        its.mean,
        allowed,
        found.outcome,
        its.low,
        its.high,
        found.more,
    )


def _values(run: Results, sized: Results) -> Values:
    """What is compared, of classes and flows that are large enough in the reference."""
    found: Values = {}
    for key, value in (*_of_ports(run, sized), *_of_flows(run, sized)):
        if value is not None:
            found[key] = float(str(value))
    return found


def _inside(values: Values, links: Sequence[str]) -> Values:
    """What a focus is about: its flows, and the ports of its links."""
    ports = ("load", "loss of a class", "mean wait")
    return {
        key: value
        for key, value in values.items()
        if key.measure not in ports or key.subject.rpartition(", ")[0] in links
    }


def _of_ports(run: Results, sized: Results) -> Iterator[tuple[Key, Any]]:
    expected = sized.ports["packets_offered"]
    for row, packets_ in zip(run.ports.rows(), expected, strict=True):
        # A focus has the same ports.
        if packets_ is not None and float(str(packets_)) < LEAST_PACKETS:
            continue
        subject = f"{row['link']}, {row['class']}"
        yield Key(subject, "load"), row["throughput_bit_s"]
        yield Key(subject, "loss of a class"), row["loss_ratio"]
        yield Key(subject, "mean wait"), row["wait_mean_s"]


def _of_flows(run: Results, sized: Results) -> Iterator[tuple[Key, Any]]:
    expected = dict(zip(sized.flows["flow"], sized.flows["packets_sent"], strict=True))
    tcp: list[Any] = []
    for row in run.flows.rows():
        # A focus has fewer flows, and background in place of the others.
        packets_ = expected.get(row["flow"], 0)
        if packets_ is not None and float(str(packets_)) < LEAST_PACKETS:
            continue
        name = str(row["flow"])
        if row["protocol"] == "tcp":
            tcp.append(row["goodput_bit_s"])
            yield Key(name, "goodput of TCP"), row["goodput_bit_s"]
        else:
            yield Key(name, "throughput"), row["throughput_bit_s"]
            yield Key(name, "loss of a flow"), row["loss_ratio"]
        yield Key(name, "mean delay"), row["delay_mean_s"]
    if len(tcp) > 1 and None not in tcp:
        yield Key(f"{len(tcp)} TCP flows", "goodput of TCP, all"), sum(map(float, tcp))

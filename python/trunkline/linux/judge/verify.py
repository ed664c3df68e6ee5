"""Simulator against kernel, or against another simulator: the same schedules through both.

Where no port tosses coins and nothing but UDP is sent, packets are compared one by one. Where runs
differ by chance, the interval of the mean difference over the seeds has to lie inside the margin.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from trunkline.linux import engine
from trunkline.linux.guest.scratch import scratch
from trunkline.linux.judge import compare, margin, observed
from trunkline.linux.judge.compare import Row
from trunkline.linux.judge.measures import MOST_WINDOWS, Key
from trunkline.linux.judge.pair import Machine, Pair, pair, way
from trunkline.linux.plan.compile import compile
from trunkline.network.types import Flow, Network, Probe
from trunkline.stats.equivalence import FEWEST, Outcome

PROBE_NS: Final = 10_000_000
"""Step at which congestion windows are compared [ns]."""
MOMENT_NS: Final = 1_000_000

Progress = Callable[[float], None]
One = Callable[[str, int, Progress | None], tuple[Pair, str, tuple[str, ...]]]
"""Runs a network and a seed in both engines: the pair, the reference's name, and notes."""


def overall(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of several: what differs comes before what is undecided; of none nothing is."""
    found = set(outcomes)
    if "differs" in found:
        return "differs"
    return "agrees" if found == {"agrees"} else "undecided"


@dataclass(frozen=True)
class Verdict:
    """The comparison of both engines.

    Parameters
    ----------
    notes : tuple of str
        What the reference does differently, known beforehand.
    seeds : tuple of int
        Seeds of the runs.
    exact : bool
        Whether packets were compared one by one.
    reference : str
        Version and runner of the kernel, or the scenario that the simulator ran in its place.
    unknown : tuple of str, default ()
        What could not be compared.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    seeds: tuple[int, ...]
    exact: bool
    reference: str
    unknown: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """``differs`` if any measure does, ``agrees`` if all do."""
        return overall(row.outcome for row in self.rows)

    @property
    def agrees(self) -> bool:
        """Whether all agree."""
        return self.outcome == "agrees"

    @property
    def more(self) -> int | None:
        """Seeds more that are likely to decide all; None where no number is known to."""
        wanted = [row.more for row in self.rows if row.outcome == "undecided"]
        known = [each for each in wanted if each is not None]
        return max(known) if known and len(known) == len(wanted) else None

    def to_json(self) -> dict[str, Any]:
        """One of those that ``trunkline verify --json`` lists."""
        return {
            "outcome": self.outcome,
            "agrees": self.agrees,
            "more_seeds": self.more,
            "reference": self.reference,
            "seeds": list(self.seeds),
            "packet_by_packet": self.exact,
            "rows": [asdict(row) for row in self.rows],
            "not_compared": list(self.unknown),
            "notes": list(self.notes),
        }

    @classmethod
    def of_json(cls, said: Mapping[str, Any]) -> Verdict:
        """The verdict that `to_json` wrote."""
        return cls(
            rows=tuple(Row(**{name: row[name] for name in Row.__slots__}) for row in said["rows"]),
            notes=tuple(said["notes"]),
            seeds=tuple(said["seeds"]),
            exact=said["packet_by_packet"],
            reference=said["reference"],
            unknown=tuple(said["not_compared"]),
        )


def check(network_json: str, runner: str | None = None, control: str | None = None) -> None:
    """Finds out quickly whether the kernel has what a network needs, from its first moment alone.

    Raises
    ------
    UnsupportedError
        It has not.
    """
    data = json.loads(network_json)
    data["run"] |= {"duration_ns": MOMENT_NS, "warmup_ns": 0}
    compile(json.dumps(data), ground=engine.ground_of(runner, control))


def verify(
    network_json: str,
    seeds: Sequence[int],
    *,
    runner: str | None = None,
    on_progress: Progress | None = None,
    until: int | None = None,
) -> Verdict:
    """Runs a network in both engines with several seeds and compares the results.

    Raises
    ------
    UnsupportedError
        The network has what the kernel lacks.
    """
    runs = [(network_json, seed) for seed in seeds]
    return verify_runs(runs, runner=runner, on_progress=on_progress, until=until)


def verify_runs(
    runs: Sequence[tuple[str, int]],
    *,
    runner: str | None = None,
    on_progress: Progress | None = None,
    until: int | None = None,
) -> Verdict:
    """Does runs in both engines and compares the results of all together.

    Parameters
    ----------
    runs : sequence of (str, int)
        Canonical JSON of compiled networks that differ in their traffic alone, and seeds.
    on_progress : callable, optional
        Gets the part of all runs that is done, 0 to 1.
    until : int, optional
        Goes on with the seeds that follow until the verdict is decided or there are so many.

    Raises
    ------
    UnsupportedError
        The network has what the kernel lacks.
    """

    def one(
        network_json: str, seed: int, show: Progress | None
    ) -> tuple[Pair, str, tuple[str, ...]]:
        return _in_kernel(json.loads(network_json), seed, runner, show)

    return decide(runs, one, on_progress=on_progress, until=until)


def decide(
    runs: Sequence[tuple[str, int]],
    one: One,
    *,
    on_progress: Progress | None = None,
    until: int | None = None,
) -> Verdict:
    """Do runs and compare, and go on while it is not decided and there may be more.

    Parameters
    ----------
    runs : sequence of (str, int)
        Canonical JSON of compiled networks, and seeds; the seeds that follow are of the last.
    """
    listed = list(runs)
    pairs: list[Pair] = []
    notes: list[str] = []
    reference = ""
    while True:
        while len(pairs) < len(listed):
            show = engine.part_of(on_progress, len(pairs), max(len(listed), until or 0))
            found, reference, said = one(*listed[len(pairs)], show)
            pairs.append(found)
            notes += said
        verdict = judge(pairs, notes, tuple(seed for _, seed in listed), reference)
        if until is None or verdict.outcome != "undecided" or len(listed) >= until:
            return verdict
        # At most the double at once: the spread of few is itself uncertain.
        wanted = len(listed) + min(verdict.more or len(listed), max(len(listed), FEWEST))
        network_json, last = listed[-1]
        more = min(until, wanted) - len(listed)
        listed += [(network_json, last + each) for each in range(1, more + 1)]


def judge(
    pairs: Sequence[Pair], notes: Sequence[str], seeds: tuple[int, ...], reference: str
) -> Verdict:
    """Compare what both engines made of all seeds.

    Parameters
    ----------
    notes : sequence of str
        What is known beforehand; each is said once.
    """
    said = list(dict.fromkeys(notes))
    known, unknown = compare.told(pairs)
    how = way(pairs, exact=True)
    unsaid = unknown_said(unknown)
    rows = compare.measures(pairs, known, how)
    if how.exact and how.ties > margin.MOST_TIES:
        unsaid.append(
            f"packets one by one: {how.ties:.0%} of them come so close that either may be first"
        )
    elif how.exact:
        rows = [*compare.packets(pairs, how), *rows]
    reasons = [each.lasting for each in pairs if each.lasting]
    if how.exact and reasons and any(not row.agrees for row in rows):
        how = way(pairs, exact=False)
        rows = compare.measures(pairs, known, how)
        said.append(f"{reasons[0]}: means are compared, not packets")
    elif how.emulated and not how.exact:
        said.append("the processor of the reference takes time: means are compared, not packets")
    single = how.exact and how.ties <= margin.MOST_TIES
    return Verdict(tuple(rows), tuple(said), seeds, single, reference, tuple(unsaid))


def unknown_said(keys: Sequence[Key]) -> list[str]:
    """A line a measure that one engine does not tell."""
    found: dict[str, list[str]] = {}
    for key in keys:
        name = f"{key.measure}: {key.detail}" if key.measure == "lost by cause" else key.measure
        found.setdefault(name, []).append(key.subject)
    return [
        f"{name}, of {subjects[0]}"
        + (f" and {len(subjects) - 1} more" if len(subjects) > 1 else "")
        for name, subjects in found.items()
    ]


def against(network_json: str, other_json: str, name: str) -> One:
    """What runs a network in the simulator twice: as it is, and another in the reference's place.

    Raises
    ------
    ValueError
        The two have other flows or another time, so that nothing can be compared.
    """
    first, second = json.loads(network_json), json.loads(other_json)
    flows = [{str(flow["name"]) for flow in each["flows"]} for each in (first, second)]
    if flows[0] != flows[1]:
        only = ", ".join(sorted(flows[0] ^ flows[1]))
        msg = f"the two scenarios have other flows: {only}"
        raise ValueError(msg)
    times = [
        {key: each["run"][key] for key in ("duration_ns", "warmup_ns")} for each in (first, second)
    ]
    if times[0] != times[1]:
        msg = "the two scenarios run for another time, or with another warm-up"
        raise ValueError(msg)
    other = probed(second)

    def one(network: str, seed: int, _show: Progress | None) -> tuple[Pair, str, tuple[str, ...]]:
        data = probed(json.loads(network))
        both = observed.of_simulator(data, seed), observed.of_simulator(other, seed)
        return pair(data, *both, "simulator"), f"simulator, {name}", ()

    return one


def probed(data: Network) -> Network:
    """A network that watches TCP's windows and each transfer, in place of its own probes."""
    tcp = [index for index, flow in enumerate(data["flows"]) if flow["agent"]["protocol"] == "tcp"]
    probes: list[Probe] = [
        {
            "measure": "cwnd",
            "target": index,
            "class": None,
            "precedence": None,
            "step_ns": PROBE_NS,
        }
        for index in tcp
        if len(tcp) <= MOST_WINDOWS and "transfers" not in data["flows"][index]
    ]
    return {**data, "flows": [_recorded(flow) for flow in data["flows"]], "probes": probes}


def _recorded(flow: Flow) -> Flow:
    its = flow.get("transfers")
    return flow if its is None else {**flow, "transfers": {**its, "record": True}}


def _in_kernel(
    network: Network, seed: int, runner: str | None, show: Progress | None
) -> tuple[Pair, str, tuple[str, ...]]:
    data = probed(network)
    written = json.dumps(data, sort_keys=True, separators=(",", ":"))
    with scratch() as folder:
        done = engine.run(written, seed, Path(folder), runner=runner, on_progress=show)
        reference = observed.of_kernel(done, Path(folder))
    machines: dict[str, Machine] = {engine.UNHURRIED: "virtual", engine.REAL: "real"}
    machine = machines.get(done.runner, "emulated")
    found = pair(data, observed.of_simulator(data, seed), reference, machine)
    notes = (*done.compiled.notes, *stacks(data))
    return found, done.results.provenance.version, notes


def stacks(network: Network) -> tuple[str, ...]:
    """A note a TCP flow whose sender is the RFCs' here and the kernel's there."""
    return tuple(
        f"flow {flow['name']} lacks preset: linux: in the simulator it repairs losses as RFC 6582 "
        "or 6675 has it, with the timers of RFC 6298; the kernel by RACK and loss probes (RFC "
        "8985), PRR (RFC 6937), F-RTO (RFC 5682) and timers of its own"
        for flow in network["flows"]
        if flow["agent"]["protocol"] == "tcp" and not flow["agent"].get("linux")
    )

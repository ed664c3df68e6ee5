"""Simulator against kernel, or against another simulator: the same schedules through both.

Where no port tosses coins and nothing but UDP is sent, packets are compared one by one. Where runs
differ by chance, the interval of the mean difference over the seeds has to lie inside the margin.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from trunkline.linux import engine
from trunkline.linux.guest.scratch_folders import make_scratch_folder
from trunkline.linux.judge import comparisons, engine_run, start_times, tolerance
from trunkline.linux.judge.comparisons import ComparisonRow
from trunkline.linux.judge.first_difference import find_first_difference
from trunkline.linux.judge.known_differences import explain_rows, list_known_differences
from trunkline.linux.judge.measures import MAX_COMPARED_WINDOWS, MeasureKey
from trunkline.linux.judge.run_phases import MAX_PHASES, find_moments
from trunkline.linux.judge.seed_pair import (
    ComparisonMethod,
    ReferenceMachine,
    SeedPair,
    choose_method,
    make_seed_pair,
)
from trunkline.linux.plan.compiled_plan import compile_plan
from trunkline.linux.plan.traffic import has_one_connection
from trunkline.network.identity import hash_without_probes
from trunkline.network.types import Flow, NetworkData, Probe
from trunkline.stats.equivalence import MIN_PAIRS, EquivalenceOutcome

PROBE_NS: Final = 10_000_000  # Step at which congestion windows are compared [ns].
CHECK_DURATION_NS: Final = 1_000_000
REPEATED_REASON: Final = "seeds that draw nothing are all the same run"

ProgressCallback = Callable[[float], None]
SeedRunner = Callable[[str, int, ProgressCallback | None], tuple[SeedPair, str, tuple[str, ...]]]
"""Runs a network and a seed in both engines: the pair, the reference's name, and notes."""


def combine_outcomes(outcomes: Iterable[EquivalenceOutcome]) -> EquivalenceOutcome:
    """The outcome of several: what differs comes before what is undecided; of none nothing is."""
    found_outcomes = set(outcomes)
    if "differs" in found_outcomes:
        return "differs"
    return "agrees" if found_outcomes == {"agrees"} else "undecided"


@dataclass(frozen=True)
class EngineVerdict:
    """The comparison of both engines."""

    rows: tuple[ComparisonRow, ...]
    notes: tuple[str, ...]  # Differences of the reference that are known beforehand.
    seeds: tuple[int, ...]  # Seeds of the runs.
    is_exact: bool  # Whether packets were compared one by one.
    # Version and runner of the kernel, or the scenario that the simulator ran in its place.
    reference: str
    not_compared: tuple[str, ...] = ()  # Measures that could not be compared.
    # Share that was asked for: no more may have hidden where a comparison agrees.
    within: float | None = None
    scope: str = ""  # The only things compared; empty for all that both engines report.
    # Both runs of each seed, for a proof; empty where they were not kept.
    pairs: tuple[SeedPair, ...] = field(default=(), repr=False, compare=False)

    @property
    def is_one_run(self) -> bool:
        """Whether several seeds gave the same run in both engines: they count as one."""
        return len(self.pairs) > 1 and all(
            pair.values == self.pairs[0].values for pair in self.pairs[1:]
        )

    @property
    def method(self) -> str:
        """How, and of what, comparisons were made."""
        if self.scope:
            return self.scope
        return "packet by packet" if self.is_exact else "by means over the seeds"

    @property
    def power(self) -> list[ComparisonRow]:
        """For each kind of measure, the agreeing comparison with the least power."""
        worst: dict[str, ComparisonRow] = {}
        for row in filter(attrgetter("agrees"), self.rows):
            kind = row.measure.partition(":")[0]
            if kind not in worst or _get_hidden_size(row) > _get_hidden_size(worst[kind]):
                worst[kind] = row
        return list(worst.values())

    def require_power(self, share: float | None) -> EngineVerdict:
        """The same verdict if no more than a share may have hidden in what agrees."""
        if share is None:
            return self
        rows = tuple(comparisons.require_power(row, share) for row in self.rows)
        return replace(self, rows=rows, within=share)

    @property
    def outcome(self) -> EquivalenceOutcome:
        """``differs`` if any measure does, ``agrees`` if all do."""
        return combine_outcomes(row.outcome for row in self.rows)

    @property
    def agrees(self) -> bool:
        """Whether all agree."""
        return self.outcome == "agrees"

    @property
    def more(self) -> int | None:
        """Seeds more that are likely to decide all; None where no number is known to."""
        more_by_row = [row.more for row in self.rows if row.outcome == "undecided"]
        known_more = [each for each in more_by_row if each is not None]
        return max(known_more) if known_more and len(known_more) == len(more_by_row) else None

    def to_json(self) -> dict[str, Any]:
        """One of those that ``trunkline verify --json`` lists."""
        return {
            "outcome": self.outcome,
            "agrees": self.agrees,
            "more_seeds": self.more,
            "reference": self.reference,
            "network": hash_without_probes(self.pairs[0].network) if self.pairs else "",
            "seeds": list(self.seeds),
            "packet_by_packet": self.is_exact,
            "scope": self.scope,
            "method": self.method,
            "within": self.within,
            "power": [
                {
                    "measure": row.measure.partition(":")[0],
                    "subject": row.subject,
                    "unit": row.unit,
                    "hidden": row.hidden,
                    "share": _get_finite_share(row),
                }
                for row in self.power
            ],
            "rows": [
                {**asdict(row), "hidden": row.hidden, "hidden_share": _get_finite_share(row)}
                for row in self.rows
            ],
            "not_compared": list(self.not_compared),
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, verdict_json: Mapping[str, Any]) -> EngineVerdict:
        """The verdict that `make_document` wrote."""
        return cls(
            rows=tuple(
                ComparisonRow(
                    **{name: row[name] for name in ComparisonRow.__slots__ if name in row}
                )
                for row in verdict_json["rows"]
            ),
            notes=tuple(verdict_json["notes"]),
            seeds=tuple(verdict_json["seeds"]),
            is_exact=verdict_json["packet_by_packet"],
            reference=verdict_json["reference"],
            not_compared=tuple(verdict_json["not_compared"]),
            within=verdict_json.get("within"),
            scope=verdict_json.get("scope", ""),
        )


def _get_finite_share(row: ComparisonRow) -> float | None:
    """Return a share as JSON has it: what could hide of nothing is none."""
    share = row.hidden_share
    return None if share is None or math.isinf(share) else share


def _get_hidden_size(row: ComparisonRow) -> float:
    share = row.hidden_share
    return row.hidden if share is None else share


def check_support(network_json: str, runner: str | None = None, control: str | None = None) -> None:
    """Find out quickly whether the kernel has what a network needs, from its first moment alone.

    Raises UnsupportedError: It has not.
    """
    network = json.loads(network_json)
    network["run"] |= {"duration_ns": CHECK_DURATION_NS, "warmup_ns": 0}
    compile_plan(json.dumps(network), target=engine.make_target(runner, control))


def verify_kernel(
    network_json: str,
    seeds: Sequence[int],
    *,
    runner: str | None = None,
    on_progress: ProgressCallback | None = None,
    max_seeds: int | None = None,
    within: float | None = None,
) -> EngineVerdict:
    """Runs a network in both engines with several seeds and compares the results.

    Raises UnsupportedError: The network has what the kernel lacks.
    """
    runs = [(network_json, seed) for seed in seeds]
    return verify_runs(
        runs, runner=runner, on_progress=on_progress, max_seeds=max_seeds, within=within
    )


def verify_runs(
    runs: Sequence[tuple[str, int]],
    *,
    runner: str | None = None,
    on_progress: ProgressCallback | None = None,
    max_seeds: int | None = None,
    within: float | None = None,
) -> EngineVerdict:
    """Run seeds in both engines, and compare the results of all together.

    runs: Canonical JSON of compiled networks that differ in their traffic alone, and seeds.
    on_progress: Gets the part of all runs that is done, 0 to 1.
    max_seeds: Adds the next seeds until the verdict is decided, up to this number.
    within: Greatest share that may have hidden in a comparison that agrees.
    Raises UnsupportedError: The network has what the kernel lacks.
    """

    def run_seed(
        network_json: str, seed: int, on_seed_progress: ProgressCallback | None
    ) -> tuple[SeedPair, str, tuple[str, ...]]:
        return _run_in_kernel(json.loads(network_json), seed, runner, on_seed_progress)

    return run_until_decided(
        runs, run_seed, on_progress=on_progress, max_seeds=max_seeds, within=within
    )


def run_until_decided(
    runs: Sequence[tuple[str, int]],
    run_seed: SeedRunner,
    *,
    on_progress: ProgressCallback | None = None,
    max_seeds: int | None = None,
    within: float | None = None,
) -> EngineVerdict:
    """Run and compare; continue while the verdict is undecided and more seeds are allowed.

    Where the first run does not decide all and the simulator draws nothing, flows of the others
    start at times that are drawn: see `start_times`.

    runs: Canonical JSON of compiled networks, and seeds; the seeds that follow are of the last.
    """
    used_runs = list(runs)
    pairs: list[SeedPair] = []
    notes: list[str] = []
    reference = ""
    while True:
        while len(pairs) < len(used_runs):
            if len(pairs) == 1 and (sentence := _draw_starts(used_runs, pairs[0])):
                notes.append(sentence)
            on_seed_progress = engine.scale_progress(
                on_progress, len(pairs), max(len(used_runs), max_seeds or 0)
            )
            seed_pair, reference, seed_notes = run_seed(*used_runs[len(pairs)], on_seed_progress)
            pairs.append(seed_pair)
            notes += seed_notes
        used_seeds = tuple(seed for _, seed in used_runs)
        verdict = judge_pairs(pairs, notes, used_seeds, reference).require_power(within)
        if max_seeds is None or verdict.outcome != "undecided" or len(used_runs) >= max_seeds:
            return verdict
        # At most the double at once: the spread of few is itself uncertain.
        wanted_runs = len(used_runs) + min(
            verdict.more or len(used_runs), max(len(used_runs), MIN_PAIRS)
        )
        network_json, last = used_runs[-1]
        extra_runs = min(max_seeds, wanted_runs) - len(used_runs)
        used_runs += [(network_json, last + each) for each in range(1, extra_runs + 1)]


def _draw_starts(runs: list[tuple[str, int]], first: SeedPair) -> str:
    """Give flows start times in all runs but the first, if they would repeat what they do in that.

    Returns: A sentence that says so; empty if the first run decides all, or no flow would.
    """
    if len({network_json for network_json, _ in runs}) > 1:
        return ""
    if all(row.outcome != "undecided" for row in judge_pairs([first], (), (), "").rows):
        return ""
    repeated = start_times.find_repeated_flows(first, runs[1][1])
    if not repeated:
        return ""
    network_json = start_times.draw_starts(runs[0][0], repeated)
    runs[1:] = [(network_json, seed) for _, seed in runs[1:]]
    span_s = start_times.find_start_span(first.network) / 1e9
    return (
        f"nothing is drawn that moves {_name_first(repeated)}, so that seeds would repeat one run "
        f"of it: from the second on each of these flows starts up to {span_s:g} s later, in both "
        "engines alike"
    )


def judge_pairs(
    pairs: Sequence[SeedPair], notes: Sequence[str], seeds: tuple[int, ...], reference: str
) -> EngineVerdict:
    """Compare what both engines made of all seeds.

    notes: Sentences known before the runs; each appears once.
    """
    sentences = list(dict.fromkeys(notes))
    all_pairs, pairs = pairs, _leave_out_repeated(pairs)
    known_samples, unknown = comparisons.pair_samples(pairs)
    method = choose_method(pairs, exact=True)
    not_compared = list_unknown_measures(unknown)
    rows = comparisons.compare_measures(pairs, known_samples, method)
    if method.is_exact and method.ties > tolerance.MAX_TIE_SHARE:
        not_compared.append(
            f"packets one by one: {method.ties:.0%} of them come so close that either may be first"
        )
    elif method.is_exact:
        rows = [*comparisons.compare_packets(pairs, method), *rows]
    loosening = _find_loosening(pairs, method) if any(not row.agrees for row in rows) else None
    if loosening is not None:
        # Exact comparisons that agree stay; only flows that a tie may have moved get more margin.
        moved_flows = {row.subject for row in rows if not row.agrees}
        kept_rows = [row for row in rows if "each packet" in row.measure]
        loose_method = choose_method(pairs, exact=False)
        first_method = loose_method if pairs[0].machine == "laboratory" else method
        # All packets before a tie that was found are alike.
        first_rows = (
            [] if loosening.tie else list(comparisons.compare_first_packets(pairs, first_method))
        )
        method = loose_method
        rows = [
            *(row for row in kept_rows if row.subject not in moved_flows),
            *(
                replace(row, outcome="undecided", reason=comparisons.NO_TIE_REASON)
                for row in kept_rows
                if loosening.is_without_tie and not row.agrees
            ),
            *first_rows,
            *(
                replace(row, tie=loosening.tie)
                for row in comparisons.compare_measures(pairs, known_samples, method)
            ),
        ]
        at_tie = f" ({loosening.tie})" if loosening.tie else ""
        sentences.append(f"{loosening.reason}: means are compared, not packets{at_tie}")
    elif method.is_emulated and not method.is_exact:
        sentences.append(
            "the processor of the reference takes time: means are compared, not packets"
        )
    if len(pairs) < len(all_pairs):
        rows = [
            replace(row, more=None, reason=REPEATED_REASON)
            if row.reason == comparisons.FEW_SEEDS_REASON
            else row
            for row in rows
        ]
    is_exact = method.is_exact and method.ties <= tolerance.MAX_TIE_SHARE
    if pairs[0].machine != "simulator":
        rows = explain_rows(rows, list(list_known_differences(pairs[0].network)))
    not_compared += list_unrun_protections(pairs[0])
    not_compared += list_left_out(pairs)
    not_compared += list_uncounted_marks(pairs)
    not_compared += list_unwatched_windows(pairs[0].network)
    not_compared += list_undivided_phases(pairs[0])
    return EngineVerdict(
        tuple(rows),
        tuple(sentences),
        seeds,
        is_exact,
        reference,
        tuple(not_compared),
        pairs=tuple(all_pairs),
    )


@dataclass(frozen=True, slots=True)
class _Loosening:
    """Why means are compared where packets differ one by one."""

    reason: str
    tie: str  # The first tie, in words; empty where the reference's machine is the reason.
    is_without_tie: bool  # Whether some seed differs by no tie, but ports go by clocks.


def _find_loosening(pairs: Sequence[SeedPair], method: ComparisonMethod) -> _Loosening | None:
    """Find a reason to compare means in place of packets; None where there is none.

    Where only a tie would be a reason, each seed in which packets differ must have one. Without,
    the comparison of packets stays, unless a port has a clock of its own: then nothing is known.
    """
    reasons = [pair for pair in pairs if pair.lasting_reason]
    if not method.is_exact or not reasons:
        return None
    if not all(pair.is_by_tie for pair in reasons):
        by_machine = next(pair for pair in reasons if not pair.is_by_tie)
        return _Loosening(by_machine.lasting_reason, "", is_without_tie=False)
    found = [each for pair in pairs if (each := find_first_difference(pair, method))]
    untied = [each for each in found if not each.tie]
    if not found or any(not each.has_clock for each in untied):
        return None
    ties = [each.tie for each in found if each.tie]
    return _Loosening(
        reasons[0].lasting_reason, ties[0] if ties else "", is_without_tie=bool(untied)
    )


def _leave_out_repeated(pairs: Sequence[SeedPair]) -> list[SeedPair]:
    """The pairs whose runs are others in either engine: the same run again is no more evidence."""
    different: list[SeedPair] = []
    for pair in pairs:
        if all(pair.values != each.values for each in different):
            different.append(pair)
    return different


def list_unrun_protections(pair: SeedPair) -> list[str]:
    """A line on the protections that routers of a laboratory lack: none of theirs is judged."""
    if pair.machine != "laboratory":
        return []
    protections = (pair.network.get("recovery") or {}).get("protections", [])
    # One for each path has the path behind its name.
    names = list(dict.fromkeys(each["name"].partition("[")[0] for each in protections))
    return [f"protections, of {_name_first(names)}: FRR's routers run none"] if names else []


def list_left_out(pairs: Sequence[SeedPair]) -> list[str]:
    """A line on the packets that come too near to a failure, a switch or the end of the warm-up."""
    count = sum(len(numbers) for pair in pairs for numbers in pair.left_out.values())
    if not count:
        return []
    sent = sum(pair.packets_sent for pair in pairs)
    return [f"{count} of {sent} packets, which come too near to a failure, a switch or the warm-up"]


def list_uncounted_marks(pairs: Sequence[SeedPair]) -> list[str]:
    """List a line on the marks of TCP segments that an engine did not count."""
    flows = list(dict.fromkeys(name for pair in pairs for name in pair.uncounted_flows))
    return [f"DSCP, ECN and TTL of TCP segments, of {_name_first(flows)}"] if flows else []


def list_unwatched_windows(network: NetworkData) -> list[str]:
    """A line on the TCP flows whose windows no probe of a verdict watches."""
    watched_flows = {probe["target"] for probe in replace_probes(network)["probes"]}
    flows = [
        str(flow["name"])
        for index, flow in enumerate(network["flows"])
        if flow["agent"]["protocol"] == "tcp" and index not in watched_flows
    ]
    return [f"windows, of {_name_first(flows)}"] if flows else []


def list_undivided_phases(pair: SeedPair) -> list[str]:
    """A line on phases that are not compared, as failures and switches are too many."""
    moments = find_moments(pair.runs[0].results, pair.network["run"]["duration_ns"])
    if len(moments) <= MAX_PHASES or not pair.runs[0].flows:
        return []
    return [f"phases of UDP flows: {len(moments)} failures and switches, more than {MAX_PHASES}"]


def list_unknown_measures(keys: Sequence[MeasureKey]) -> list[str]:
    """Format a line for each measure that one engine does not give."""
    subjects_by_measure: dict[str, list[str]] = {}
    for key in keys:
        name = f"{key.measure}: {key.detail}" if key.measure == "lost by cause" else key.measure
        subjects_by_measure.setdefault(name, []).append(key.subject)
    return [f"{name}, of {_name_first(subjects)}" for name, subjects in subjects_by_measure.items()]


def _name_first(names: Sequence[str]) -> str:
    """The first of several, and how many more there are."""
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def make_simulator_runner(network_json: str, other_json: str, name: str) -> SeedRunner:
    """Make a function that runs a network in the simulator, and another network as the reference.

    Raises ValueError: The two have other flows or another time, so that nothing can be compared.
    """
    first, second = json.loads(network_json), json.loads(other_json)
    flows = [{str(flow["name"]) for flow in each["flows"]} for each in (first, second)]
    if flows[0] != flows[1]:
        unshared = ", ".join(sorted(flows[0] ^ flows[1]))
        msg = f"the two scenarios have other flows: {unshared}"
        raise ValueError(msg)
    times = [
        {key: each["run"][key] for key in ("duration_ns", "warmup_ns")} for each in (first, second)
    ]
    if times[0] != times[1]:
        msg = "the two scenarios run for another time, or with another warm-up"
        raise ValueError(msg)
    reference_network = replace_probes(second)

    def run_seed(
        network: str, seed: int, _show: ProgressCallback | None
    ) -> tuple[SeedPair, str, tuple[str, ...]]:
        probed_network = replace_probes(json.loads(network))
        engine_runs = (
            engine_run.trace_simulator(probed_network, seed),
            engine_run.trace_simulator(
                start_times.copy_starts(probed_network, reference_network), seed
            ),
        )
        return make_seed_pair(probed_network, *engine_runs, "simulator"), f"simulator, {name}", ()

    return run_seed


def replace_probes(network: NetworkData) -> NetworkData:
    """A network that watches TCP's windows and each transfer, in place of its own probes."""
    tcp = [
        index for index, flow in enumerate(network["flows"]) if flow["agent"]["protocol"] == "tcp"
    ]
    probes: list[Probe] = [
        {
            "measure": "cwnd",
            "target": index,
            "class": None,
            "precedence": None,
            "step_ns": PROBE_NS,
        }
        for index in tcp
        if len(tcp) <= MAX_COMPARED_WINDOWS and has_one_connection(network["flows"][index])
    ]
    return {
        **network,
        "flows": [_record_transfers(flow) for flow in network["flows"]],
        "probes": probes,
    }


def _record_transfers(flow: Flow) -> Flow:
    transfers = flow.get("transfers")
    return flow if transfers is None else {**flow, "transfers": {**transfers, "record": True}}


def _run_in_kernel(
    network: NetworkData, seed: int, runner: str | None, on_seed_progress: ProgressCallback | None
) -> tuple[SeedPair, str, tuple[str, ...]]:
    probed_network = replace_probes(network)
    probed_json = json.dumps(probed_network, sort_keys=True, separators=(",", ":"))
    with make_scratch_folder() as folder:
        kernel_run = engine.run_in_guest(
            probed_json, seed, Path(folder), runner=runner, on_progress=on_seed_progress
        )
        machines: dict[str, ReferenceMachine] = {
            engine.VIRTUAL_TIME_RUNNER: "virtual",
            engine.REAL_TIME_RUNNER: "real",
        }
        machine = machines.get(kernel_run.runner, "emulated")
        return pair_kernel_run(probed_network, seed, kernel_run, machine)


def pair_kernel_run(
    network: NetworkData, seed: int, kernel_run: engine.KernelRun, machine: ReferenceMachine
) -> tuple[SeedPair, str, tuple[str, ...]]:
    """Pair a guest's run with the same run in the simulator: as a `SeedRunner` gives it.

    machine: Machine of the guest.
    """
    reference = engine_run.read_kernel_run(kernel_run, kernel_run.folder)
    seed_pair = make_seed_pair(
        network, engine_run.trace_simulator(network, seed), reference, machine
    )
    notes = (*kernel_run.compiled.notes, *list_stack_notes(network))
    return seed_pair, kernel_run.results.provenance.version, notes


def list_stack_notes(network: NetworkData) -> tuple[str, ...]:
    """List a note a TCP flow whose sender is the RFCs' here and the kernel's there."""
    return tuple(
        f"flow {flow['name']} lacks preset: linux: in the simulator it repairs losses as RFC 6582 "
        "or 6675 has it, with the timers of RFC 6298; the kernel by RACK and loss probes (RFC "
        "8985), PRR (RFC 6937), F-RTO (RFC 5682) and timers of its own"
        for flow in network["flows"]
        if flow["agent"]["protocol"] == "tcp" and not flow["agent"].get("linux")
    )

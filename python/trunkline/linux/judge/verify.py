"""Simulator against kernel: the same schedules through both, measure by measure.

Where no port tosses coins and nothing but UDP is sent, packets are compared one by one; else flows
are, by their means over the seeds.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from trunkline.engine.sim import simulate
from trunkline.linux import engine
from trunkline.linux.judge import compare, tolerance
from trunkline.linux.judge.compare import Packets, Pair, Row
from trunkline.linux.outcome.arrivals import datagrams
from trunkline.linux.plan.compile import compile
from trunkline.results import Results

PROBE_NS: Final = 10_000_000
"""Step at which congestion windows are compared [ns]."""
MOMENT_NS: Final = 1_000_000
MOST_PROBED: Final = 16
"""Flows whose windows are compared: beyond, the series would be the larger part of a run."""


@dataclass(frozen=True)
class Verdict:
    """What came of it.

    Parameters
    ----------
    rows : tuple of Row
        Comparisons.
    notes : tuple of str
        What the kernel does differently, known beforehand.
    seeds : tuple of int
        Seeds of the runs.
    exact : bool
        Whether packets were compared one by one.
    kernel : str
        Version and runner.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    seeds: tuple[int, ...]
    exact: bool
    kernel: str

    @property
    def agrees(self) -> bool:
        """Whether all agree."""
        return all(row.agrees for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """One of those that ``trunkline verify --json`` lists."""
        return {
            "agrees": self.agrees,
            "kernel": self.kernel,
            "seeds": list(self.seeds),
            "packet_by_packet": self.exact,
            "rows": [asdict(row) | {"agrees": row.agrees} for row in self.rows],
            "notes": list(self.notes),
        }


def check(network_json: str) -> None:
    """Finds out quickly whether the kernel has what a network needs, from its first moment alone.

    Parameters
    ----------
    network_json : str
        Canonical JSON of the compiled network.

    Raises
    ------
    UnsupportedError
        It has not.
    """
    data = json.loads(network_json)
    data["run"] |= {"duration_ns": MOMENT_NS, "warmup_ns": 0}
    compile(json.dumps(data))


def verify(
    network_json: str,
    seeds: Sequence[int],
    *,
    runner: str | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Verdict:
    """Runs a network in both engines with several seeds and compares what came of it.

    Parameters
    ----------
    network_json : str
        Canonical JSON of the compiled network.
    seeds : sequence of int
        Seeds, one run each in both engines.
    runner, on_progress
        As in `verify_runs`.

    Raises
    ------
    UnsupportedError
        The network has what the kernel lacks.
    """
    runs = [(network_json, seed) for seed in seeds]
    return verify_runs(runs, runner=runner, on_progress=on_progress)


def verify_runs(
    runs: Sequence[tuple[str, int]],
    *,
    runner: str | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Verdict:
    """Does runs in both engines and compares what came of all together.

    Parameters
    ----------
    runs : sequence of (str, int)
        Canonical JSON of compiled networks that differ in their traffic alone, and seeds.
    runner : str, optional
        As in `trunkline.linux.engine.run`.
    on_progress : callable, optional
        Gets the part of all runs that is done, 0 to 1.

    Raises
    ------
    UnsupportedError
        The network has what the kernel lacks.
    """
    pairs: list[Pair] = []
    for network_json, seed in runs:
        data = json.loads(network_json)
        _probe(data)
        pairs.append(_pair(data, seed, runner, engine.part_of(on_progress, len(pairs), len(runs))))
    first = pairs[0]
    emulated = first.runner != engine.UNHURRIED
    exact = engine.is_exact(first.compiled, first.runner)
    rows = compare.packets(pairs) if exact else compare.means(pairs, emulated=emulated)
    mixed = exact and not all(row.agrees for row in rows) and any(mixes(pair) for pair in pairs)
    if mixed:
        exact = False
        rows = compare.means(pairs, emulated=emulated)
    # Each once, in the order in which they came up.
    notes = tuple(dict.fromkeys(note for pair in pairs for note in pair.compiled.notes))
    if emulated and not exact:
        notes += (f"the processor of {first.runner} takes time: means are compared, not packets",)
    if mixed:
        notes += (
            "packets of several sizes are lost or coloured in one place, and which of them comes "
            "first decides for long after: means are compared, not packets",
        )
    return Verdict(
        tuple(rows),
        notes,
        tuple(seed for _, seed in runs),
        exact,
        first.kernel.provenance.version,
    )


def mixes(pair: Pair) -> bool:
    """Whether packets of several sizes compete for room or tokens, and not all get them.

    One that is a microsecond earlier takes what the next would have had. If they are of one size
    the others go as before; if not, all later packets move.

    Parameters
    ----------
    pair : Pair
        One seed in both engines.
    """
    data, sent = pair.compiled.network, pair.compiled.traffic.sent
    sizes = {
        flow["name"]: {size for _, size in sent[index]} for index, flow in enumerate(data["flows"])
    }
    by_place: dict[tuple[str, ...], set[int]] = {}
    for row in pair.simulator.drops.rows():
        place = tuple(str(row[key]) for key in ("link", "node", "class", "cause"))
        by_place.setdefault(place, set()).update(sizes[str(row["flow"])])
    if any(len(found) > 1 for found in by_place.values()):
        return True
    colours: dict[tuple[str, ...], int] = {}
    for row in pair.simulator.colours.rows():
        meter = tuple(str(row[key]) for key in ("link", "end", "conditioner", "profile"))
        colours[meter] = colours.get(meter, 0) + bool(row["packets"])
    chosen = any(count > 1 for count in colours.values())
    return chosen and len(set[int]().union(*sizes.values())) > 1


def _probe(data: dict[str, Any]) -> None:
    """Watches the windows of TCP, in place of the scenario's own probes."""
    tcp = [index for index, flow in enumerate(data["flows"]) if flow["agent"]["protocol"] == "tcp"]
    data["probes"] = [
        {
            "measure": "cwnd",
            "target": index,
            "class": None,
            "precedence": None,
            "step_ns": PROBE_NS,
        }
        for index in tcp[:MOST_PROBED]
        if len(tcp) <= MOST_PROBED
    ]


def _pair(
    data: Mapping[str, Any],
    seed: int,
    runner: str | None,
    on_progress: Callable[[float], None] | None,
) -> Pair:
    written = json.dumps(data, sort_keys=True, separators=(",", ":"))
    with tempfile.TemporaryDirectory(prefix="trunkline-") as folder:
        done = engine.run(written, seed, Path(folder), runner=runner, on_progress=on_progress)
        exact = engine.is_exact(done.compiled, done.runner)
        traced = json.dumps({**data, "run": {**data["run"], "trace": exact}})
        (simulated,) = simulate(traced, seeds=[seed])
        found = _by_packet(done, simulated, Path(folder)) if exact else {}
    return Pair(simulated, done.results, done.compiled, done.runner, found)


def _by_packet(done: engine.Run, simulated: Results, folder: Path) -> dict[int, Packets]:
    compiled = done.compiled
    table = simulated.packets
    sent: dict[tuple[str, int], int] = {}
    delays: dict[str, dict[int, int]] = {}
    lost: dict[str, set[int]] = {}
    rows = zip(table["event"], table["flow"], table["seq"], table["time_ns"], strict=True)
    for event, flow, seq, time in rows:
        key = (str(flow), int(seq or 0))
        if event == "sent":
            sent[key] = int(time or 0)
        elif event == "delivered":
            delays.setdefault(key[0], {})[key[1]] = int(time or 0) - sent[key]
        elif event == "dropped":
            lost.setdefault(key[0], set()).add(key[1])
    found = {}
    for index, flow in enumerate(compiled.network["flows"]):
        ours = delays.get(flow["name"], {})
        dropped = lost.get(flow["name"], set())
        end = compiled.network["run"]["duration_ns"]
        theirs = {
            each.sequence: each.delay_ns
            for each in datagrams(folder, index)
            if each.received_ns < end
        }
        # A packet that one engine delivers within the last moments is under way in the other.
        near = _near_end(done, index, ours, theirs)
        missing = set(range(len(compiled.traffic.sent[index]))) - set(theirs) - near
        inside = {each for each in missing if each not in ours and each not in dropped}
        found[index] = (ours, theirs, dropped - near, missing - inside)
    return found


def _near_end(
    done: engine.Run, index: int, ours: Mapping[int, int], theirs: Mapping[int, int]
) -> set[int]:
    """Packets whose arrival is so near the end of the run that either engine may miss it."""
    data = done.compiled.network
    end = data["run"]["duration_ns"]
    emulated = 0 if done.runner == engine.UNHURRIED else len(data["flows"])
    margin = tolerance.delay_ns(len(data["links"]), len(ours) + len(theirs), emulated)
    sent = done.compiled.traffic.sent[index]
    return {
        number
        for delays in (ours, theirs)
        for number, delay in delays.items()
        if abs(sent[number][0] + delay - end) <= margin
    }

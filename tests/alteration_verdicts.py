"""Judges an altered scenario: the simulator runs it in the place of the kernel.

The altered run reports no more than a kernel does. Where queues toss coins, its links bear other
names, and a random stream is that of a name: the same traffic meets other coins, as in a kernel.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from altered_scenarios import ALTERED_SCENARIOS, SEED_COUNT
from recorded_kernel import TABLES, RecordedResults, RecordedTable

from trunkline.linux.judge.engine_run import EngineRun, trace_simulator
from trunkline.linux.judge.seed_pair import SeedPair, make_seed_pair
from trunkline.linux.judge.start_times import copy_starts
from trunkline.linux.judge.verification import (
    EngineVerdict,
    ProgressCallback,
    replace_probes,
    run_until_decided,
)
from trunkline.network import compile
from trunkline.scenario import load

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData
    from trunkline.results import Results

COIN_MARK = "'"
"""End of the names of links with other coins."""


def judge_alteration(
    name: str, alteration: str | None = None, *, seeds: int | None = None
) -> EngineVerdict:
    """What is said of a scenario, altered in one thing or not at all.

    Parameters
    ----------
    name : str
        The scenario.
    alteration : str, optional
        What is altered; nothing but the coins if left out.
    seeds : int, optional
        Runs; those of the gate if left out.
    """
    subject = ALTERED_SCENARIOS[name]
    text = subject.text
    if alteration is not None:
        original_text, altered_text = subject.alterations[alteration]
        assert original_text in text, (name, alteration)
        text = text.replace(original_text, altered_text)
    original_network, altered_network = (
        replace_probes(compile_scenario(subject.text)),
        replace_probes(compile_scenario(text)),
    )
    run_altered = run_other_coins if subject.is_random else trace_simulator

    def one(
        network_json: str, seed: int, _: ProgressCallback | None
    ) -> tuple[SeedPair, str, tuple[str, ...]]:
        data = json.loads(network_json)
        started_alike = copy_starts(data, altered_network)
        both_runs = run_simulator(network_json, seed), run_altered(started_alike, seed)
        return make_seed_pair(data, *both_runs, "virtual"), "altered", ()

    network_json = json.dumps(original_network)
    return run_until_decided(
        [(network_json, 1 + each) for each in range(seeds or subject.seeds)], one
    )


def toss_other_coins(network: NetworkData) -> NetworkData:
    """The same network with other names of links, and so with other random streams."""
    links = [{**link, "name": f"{link['name']}{COIN_MARK}"} for link in network["links"]]
    return cast("NetworkData", {**network, "links": links})


def run_other_coins(network: NetworkData, seed: int) -> EngineRun:
    """What the simulator makes of a network with other coins, with the names of its links."""
    run = trace_simulator(toss_other_coins(network), seed)
    tables = {
        name: RecordedTable(
            {
                column: take_coin_marks(getattr(run.results, name)[column])
                for column in getattr(run.results, name).columns
            }
        )
        for name in TABLES
    }
    return replace(run, results=cast("Results", RecordedResults(tables)))


def take_coin_marks(values: Sequence[Any]) -> list[Any]:
    """The values of a column as they are with the coins of the simulator."""
    first = next((value for value in values if value is not None), None)
    if not isinstance(first, str):
        return list(values)
    return [value and value.replace(COIN_MARK, "") for value in values]


def shorten(network: NetworkData, duration_s: float) -> NetworkData:
    """A network that runs so long at most, with a warm-up that is as much shorter."""
    run = network["run"]
    duration_ns = min(run["duration_ns"], round(duration_s * 1e9))
    warmup_ns = run["warmup_ns"] * duration_ns // run["duration_ns"]
    shortened = {**run, "duration_ns": duration_ns, "warmup_ns": warmup_ns}
    return cast("NetworkData", {**network, "run": shortened})


@lru_cache(maxsize=2 * SEED_COUNT)
def run_simulator(network_json: str, seed: int) -> EngineRun:
    """Run the unaltered scenario once for all its alterations."""
    return trace_simulator(json.loads(network_json), seed)


def compile_scenario(text: str) -> dict[str, Any]:
    """The compiled network of a scenario."""
    data: dict[str, Any] = json.loads(compile(load(text)).to_json())
    return data


def get_worst_row(verdict_: EngineVerdict) -> tuple[str, str, str]:
    """The outcome, the measure that is furthest beyond its margin, and what could hide in it."""
    matching_rows = [row for row in verdict_.rows if row.outcome == verdict_.outcome]
    worst = max(matching_rows, key=lambda row: abs(row.difference) / (row.margin or 1e-12))
    power = f"{worst.margin:.2g} {worst.unit}".strip()
    return verdict_.outcome, f"{worst.measure} of {worst.subject}", power

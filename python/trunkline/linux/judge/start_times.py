"""Start times for flows whose packets would otherwise be the same with every seed.

Where nothing is drawn, another seed gives the same run again, which is no evidence of how far a tie
may move a measure: a microsecond decides who finds the last free place, and TCP answers to that for
seconds. Flows that start at other times, alike in both engines, meet other ties.
"""

import json
from collections.abc import Collection
from typing import Final

from trunkline.linux.judge.engine_run import trace_simulator
from trunkline.linux.judge.seed_pair import SeedPair, make_seed_pair
from trunkline.network.types import Flow, NetworkData

MAX_START_SPAN_NS: Final = 100_000_000
START_SPAN_PART: Final = 100  # The part of a run that the span is at most: a hundredth.


def find_repeated_flows(pair: SeedPair, seed: int) -> list[str]:
    """Find the flows of which another seed gives the simulator the same measures again."""
    network = pair.network
    again = make_seed_pair(network, trace_simulator(network, seed), pair.runs[0], "simulator")
    first, second = again.values
    changed = {key.subject for key in first.keys() | second if first.get(key) != second.get(key)}
    names = [
        str(flow["name"]) for flow in network["flows"] if flow["agent"]["protocol"] != "control"
    ]
    return [name for name in names if name not in changed]


def find_start_span(network: NetworkData) -> int:
    """Find the time below which flows that draw nothing start later [ns]."""
    return min(MAX_START_SPAN_NS, network["run"]["duration_ns"] // START_SPAN_PART)


def draw_starts(network_json: str, flow_names: Collection[str]) -> str:
    """A network some of whose flows each start at a time that the seed draws."""
    network: NetworkData = json.loads(network_json)
    span = find_start_span(network)
    for flow in network["flows"]:
        if flow["name"] in flow_names:
            flow["start_jitter_ns"] = max(flow["start_jitter_ns"], span)
    return json.dumps(network, sort_keys=True, separators=(",", ":"))


def copy_starts(network: NetworkData, other: NetworkData) -> NetworkData:
    """Another network of the same flows, which start as those of the first do."""
    spans = {flow["name"]: flow["start_jitter_ns"] for flow in network["flows"]}
    flows: list[Flow] = [
        {**flow, "start_jitter_ns": spans[flow["name"]]} for flow in other["flows"]
    ]
    return {**other, "flows": flows}

"""Packet schedules: times and sizes of the datagrams that a flow sent, to replay or to export."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from trunkline.engine.packet_engine import simulate
from trunkline.network import compile
from trunkline.scenario import Scenario
from trunkline.scenario.schedule import PacketSchedule

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData


def record_schedule(scenario: Scenario, flow: str, *, seed: int | None = None) -> PacketSchedule:
    """Record when each datagram of a UDP flow leaves, from a run of that flow alone.

    No other flow changes the draws of a UDP source, so the schedule is that of the whole scenario.

    seed: Seed; the scenario's own if left out.
    Returns: Times since the flow's start [ns] and IP bytes.
    Raises LookupError: There is no such flow, it is no UDP flow, or it sends nothing.
    """
    data: NetworkData = json.loads(compile(scenario, seed=seed).to_json())
    flows = data["flows"]
    udp_flow = next((each for each in flows if each["name"] == flow), None)
    if udp_flow is None:
        msg = f"there is no flow {flow!r}; flows: {', '.join(each['name'] for each in flows[:20])}"
        raise LookupError(msg)
    if udp_flow["agent"]["protocol"] != "udp":
        raise LookupError(f"flow {flow} is a TCP flow: what it sends depends on what arrives")
    for other in flows:
        if other is not udp_flow:
            other["start_ns"] = data["run"]["duration_ns"]
    data["run"] |= {"trace": True, "warmup_ns": 0}
    (run,) = simulate(json.dumps(data), seeds=[data["run"]["seed"]])
    start = udp_flow["start_ns"]
    times: list[int] = []
    sizes: list[int] = []
    for row in run.packets.rows():
        if row["event"] == "sent" and row["flow"] == flow:
            times.append(int(str(row["time_ns"])) - start)
            sizes.append(int(str(row["ip_bytes"])))
    if not times:
        raise LookupError(f"flow {flow} sends nothing")
    return PacketSchedule(tuple(times), tuple(sizes))


def format_schedule_csv(recorded: PacketSchedule) -> str:
    """Format a schedule as the CSV that `record_schedule` of a flow reads.

    Returns: A header and a line for each datagram, values with their units.
    """
    lines = ["time,size"]
    pairs = zip(recorded.times_ns, recorded.sizes_bytes, strict=True)
    lines += [f"{time} ns,{size} B" for time, size in pairs]
    return "\n".join(lines) + "\n"

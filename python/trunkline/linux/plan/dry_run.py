"""A run of the simulator before that of the kernel, for events that the kernel does not decide.

The times of datagrams and of failures are drawn from the seed, and what is done about a failure
(who notices when, which notice travels where, which route is chosen) is control, which no packet
delays: the kernel forwards by it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from trunkline import _core
from trunkline.engine.packet_engine import Job, make_exception, stream_runs
from trunkline.results.decode.columns import RawRows

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData

_EXTRA_SHARE = 4  # Exchanges are those of a run longer by a fourth.
_SENT_EVENT = _core.PACKET_EVENTS.index("sent")


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """Something that happened to a link or a protection; -1 stands for none."""

    time_ns: int
    event: str  # One of ``TIMELINE_EVENTS`` of the engine.
    protection: int
    link: int
    node: int


@dataclass(frozen=True, slots=True)
class RouteChange:
    """A route that came into use; -1 stands for none."""

    time_ns: int
    protection: int  # The one whose restored path it is a part of; -1: IP routing.
    # node, destination: Where it is, and where packets go.
    node: int
    destination: int
    link: int  # Out-link; -1: no path leads there.


class LabelChange(NamedTuple):
    """A label of LDP that came into use; -1 stands for none."""

    time_ns: int
    # node, fec: Where, and the node that packets go to.
    node: int
    fec: int
    label: int  # The label that the node advertised to its neighbours.
    # link, out_label: Out-link, and the label of the neighbour there; 3 is implicit null.
    link: int
    out_label: int


@dataclass(frozen=True, slots=True)
class PlannedTransfer:
    """A transfer that comes by itself."""

    start_ns: int
    bytes: int
    floor_ns: int  # Minimum time it can take; 0 where that is not known.


@dataclass(frozen=True, slots=True)
class PlannedExchange:
    """A request and its answer; `start_ns` of both is the simulator's."""

    pause_ns: int  # Since the last answer arrived; of the first: since time zero.
    request: PlannedTransfer
    answer: PlannedTransfer


@dataclass(frozen=True)
class DryRun:
    """Output of the simulator before the guest runs."""

    # Time [ns] and IP bytes of each datagram, by UDP flow.
    datagrams: dict[int, list[tuple[int, int]]]
    transfers: dict[int, list[PlannedTransfer]]  # Transfers by flow, in order of time.
    # Requests and answers of each flow of pages with one object; those of a longer run, since the
    # kernel's pauses may end sooner.
    exchanges: dict[int, list[PlannedExchange]]
    starts: list[int]  # When each flow starts [ns].
    # Events of links and protections, until a while after the end of the run.
    timeline_events: list[TimelineEvent]
    routes: list[RouteChange]  # Routes that came into use.
    label_changes: list[LabelChange]  # Labels of LDP that came into use.
    # The moments until the end as the engine's raw table.
    timeline: Mapping[str, tuple[str, bytes]]


def perform_dry_run(network: NetworkData, seed: int) -> DryRun:
    """Runs a network; its TCP flows send one segment, which changes nothing that others draw."""
    probe_network: NetworkData = json.loads(json.dumps(network))
    for flow in probe_network["flows"]:
        if flow["agent"]["protocol"] == "tcp":
            flow["agent"]["size_bytes"] = 1
        if transfers := flow.get("transfers"):
            transfers["record"] = True
    end = network["run"]["duration_ns"]
    protections = network.get("recovery", {}).get("protections", [])
    # A switch under way when the run ends is seen by its end.
    extra_ns = max((each["switch_ns"] for each in protections), default=0)
    probe_network["run"] |= {"trace": True, "warmup_ns": 0, "duration_ns": end + extra_ns}
    probe_network["probes"] = []
    raw = run_raw_tables(Job(json.dumps(probe_network), seed))
    page_flows = list_exchanges(network)
    exchanges: dict[int, list[PlannedExchange]] = {}
    if page_flows:
        probe_network["run"] |= {"trace": False, "duration_ns": end + end // _EXTRA_SHARE}
        longer = run_raw_tables(Job(json.dumps(probe_network), seed))
        exchanges = {
            answers: _pair_exchanges(longer, requests, answers)
            for answers, requests in page_flows.items()
        }
    datagrams: dict[int, list[tuple[int, int]]] = {
        index: []
        for index, flow in enumerate(network["flows"])
        if flow["agent"]["protocol"] == "udp"
    }
    columns = ("event", "flow", "time_ns", "ip_bytes")
    for event, number, time, size in _read_rows(raw["packets"], *columns):
        if event == _SENT_EVENT and number in datagrams and time < end:
            datagrams[number].append((time, size))
    return DryRun(
        datagrams=datagrams,
        transfers=_list_transfers(raw, network, end),
        exchanges=exchanges,
        starts=[max(0, start) for (start,) in _read_rows(raw["flows"], "start_ns")],
        timeline_events=[
            TimelineEvent(time, _core.TIMELINE_EVENTS[event], protection, link, node)
            for time, event, protection, link, node in _read_rows(
                raw["timeline"], "time_ns", "event", "protection", "link", "node"
            )
        ],
        routes=[
            RouteChange(*row)
            for row in _read_rows(
                raw["routes"], "time_ns", "protection", "node", "destination", "link"
            )
        ],
        label_changes=[
            LabelChange(*row) for row in _read_rows(raw["labels"], *LabelChange._fields)
        ],
        timeline=_cut_rows(raw["timeline"], end),
    )


def _list_transfers(raw: Any, network: NetworkData, end: int) -> dict[int, list[PlannedTransfer]]:
    """List the transfers that came by themselves before the end."""
    transfers: dict[int, list[PlannedTransfer]] = {
        index: [] for index, flow in enumerate(network["flows"]) if "transfers" in flow
    }
    if transfers:
        names = ("flow", "start_ns", "size_bytes", "floor_ns")
        for flow, start, size, floor in _read_rows(raw["transfers"], *names):
            if start < end:
                transfers[flow].append(PlannedTransfer(start, size, floor))
    return transfers


def list_exchanges(network: NetworkData) -> dict[int, int]:
    """List flows of pages whose user asks for one object at a time, with the flow of requests."""
    found: dict[int, int] = {}
    for index, flow in enumerate(network["flows"]):
        transfers = flow.get("transfers")
        if transfers is None or not transfers.get("kept"):
            continue
        opened: Any = transfers["opened"]
        if opened == "requests" or "pages" not in opened:
            continue
        users = opened["pages"]["users"]
        if users["users"] == 1 and users["objects"] == {"fixed": {"bytes": 0}}:
            found[index] = opened["pages"]["requests"]
    return found


def _pair_exchanges(raw: Any, requests: int, answers: int) -> list[PlannedExchange]:
    rows: dict[int, list[tuple[PlannedTransfer, int]]] = {requests: [], answers: []}
    names = ("flow", "start_ns", "size_bytes", "floor_ns", "finish_ns")
    for flow, start, size, floor, finish in _read_rows(raw["transfers"], *names):
        if flow in rows:
            rows[flow].append((PlannedTransfer(start, size, floor), finish))
    exchanges = []
    arrived_ns = 0
    for (request, _), (answer, finish) in zip(rows[requests], rows[answers], strict=False):
        exchanges.append(PlannedExchange(request.start_ns - arrived_ns, request, answer))
        arrived_ns = finish
    return exchanges


def run_raw_tables(job: Job) -> Any:
    """The engine's tables of a run."""
    outcomes: list[tuple[str | None, Any]] = []
    stream_runs(
        [(job.network_json, job.seed)],
        lambda _, failure, outcome: outcomes.append((failure, outcome)),
        threads=1,
    )
    ((failure, outcome),) = outcomes
    if failure is not None:
        raise make_exception(failure, outcome)
    return outcome


def _read_rows(table: Mapping[str, tuple[str, bytes]], *names: str) -> list[tuple[int, ...]]:
    rows = RawRows(table)
    return list(zip(*(rows[name] for name in names), strict=True))


def _cut_rows(table: Mapping[str, tuple[str, bytes]], end_ns: int) -> dict[str, tuple[str, bytes]]:
    """The first rows of a table in order of time."""
    rows = RawRows(table)
    count = sum(time < end_ns for time in rows["time_ns"])
    return {
        name: (kind, bytes(memoryview(cells)[: 8 * count])) for name, (kind, cells) in table.items()
    }

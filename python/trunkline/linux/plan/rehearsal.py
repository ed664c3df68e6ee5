"""A run of the simulator before that of the kernel, for what the kernel has no part in.

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
from trunkline.engine.sim import Job, error_of, stream
from trunkline.results.decode.columns import Rows

if TYPE_CHECKING:
    from trunkline.network.types import Network

_SENT = _core.PACKET_EVENTS.index("sent")


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened to a link or a protection; -1 stands for none.

    Parameters
    ----------
    event : str
        One of ``TIMELINE_EVENTS`` of the engine.
    """

    time_ns: int
    event: str
    protection: int
    link: int
    node: int


@dataclass(frozen=True, slots=True)
class Route:
    """A route that came into use; -1 stands for none.

    Parameters
    ----------
    protection : int
        The one whose restored path it is a part of; -1: IP routing.
    node, destination : int
        Where it is, and where packets go.
    link : int
        Out-link; -1: no path leads there.
    """

    time_ns: int
    protection: int
    node: int
    destination: int
    link: int


class Labelled(NamedTuple):
    """A label of LDP that came into use; -1 stands for none.

    Attributes
    ----------
    node, fec : int
        Where, and the node that packets go to.
    label : int
        What the node has told its neighbours.
    link, out_label : int
        Out-link, and what the neighbour there has told; 3 is implicit null.
    """

    time_ns: int
    node: int
    fec: int
    label: int
    link: int
    out_label: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer that comes by itself.

    Parameters
    ----------
    floor_ns : int
        Minimum time it can take; 0 where that is not known.
    """

    start_ns: int
    bytes: int
    floor_ns: int


@dataclass(frozen=True)
class Rehearsal:
    """What the simulator tells.

    Parameters
    ----------
    sent : dict of int to list of (int, int)
        Time [ns] and IP bytes of each datagram, by UDP flow.
    transfers : dict of int to list of Transfer
        Of each flow of transfers, in order of time.
    starts : list of int
        When each flow starts [ns].
    moments : list of Moment
        What happened to links and protections, and a while beyond the end of the run.
    routes : list of Route
        Routes that came into use.
    labels : list of Labelled
        Labels of LDP that came into use.
    timeline : mapping
        The moments until the end as the engine's raw table.
    """

    sent: dict[int, list[tuple[int, int]]]
    transfers: dict[int, list[Transfer]]
    starts: list[int]
    moments: list[Moment]
    routes: list[Route]
    labels: list[Labelled]
    timeline: Mapping[str, tuple[str, bytes]]


def rehearse(data: Network, seed: int) -> Rehearsal:
    """Runs a network; its TCP flows send one segment, which changes nothing that others draw."""
    alone: Network = json.loads(json.dumps(data))
    for flow in alone["flows"]:
        if flow["agent"]["protocol"] == "tcp":
            flow["agent"]["size_bytes"] = 1
        if transfers := flow.get("transfers"):
            transfers["record"] = True
    end = data["run"]["duration_ns"]
    protections = data.get("recovery", {}).get("protections", [])
    # A switch under way when the run ends is seen by its end.
    longer = max((each["switch_ns"] for each in protections), default=0)
    alone["run"] |= {"trace": True, "warmup_ns": 0, "duration_ns": end + longer}
    alone["probes"] = []
    raw = raw_tables(Job(json.dumps(alone), seed))
    sent: dict[int, list[tuple[int, int]]] = {
        index: [] for index, flow in enumerate(data["flows"]) if flow["agent"]["protocol"] == "udp"
    }
    columns = ("event", "flow", "time_ns", "ip_bytes")
    for event, number, time, size in _rows(raw["packets"], *columns):
        if event == _SENT and number in sent and time < end:
            sent[number].append((time, size))
    return Rehearsal(
        sent=sent,
        transfers=_transfers(raw, data, end),
        starts=[max(0, start) for (start,) in _rows(raw["flows"], "start_ns")],
        moments=[
            Moment(time, _core.TIMELINE_EVENTS[event], protection, link, node)
            for time, event, protection, link, node in _rows(
                raw["timeline"], "time_ns", "event", "protection", "link", "node"
            )
        ],
        routes=[
            Route(*row)
            for row in _rows(raw["routes"], "time_ns", "protection", "node", "destination", "link")
        ],
        labels=[Labelled(*row) for row in _rows(raw["labels"], *Labelled._fields)],
        timeline=_until(raw["timeline"], end),
    )


def _transfers(raw: Any, data: Network, end: int) -> dict[int, list[Transfer]]:
    """What came by itself before the end."""
    found: dict[int, list[Transfer]] = {
        index: [] for index, flow in enumerate(data["flows"]) if "transfers" in flow
    }
    if found:
        names = ("flow", "start_ns", "size_bytes", "floor_ns")
        for flow, start, size, floor in _rows(raw["transfers"], *names):
            if start < end:
                found[flow].append(Transfer(start, size, floor))
    return found


def raw_tables(job: Job) -> Any:
    """The engine's tables of a run."""
    outcomes: list[tuple[str | None, Any]] = []
    stream(
        [(job.network_json, job.seed)],
        lambda _, failure, outcome: outcomes.append((failure, outcome)),
        threads=1,
    )
    ((failure, outcome),) = outcomes
    if failure is not None:
        raise error_of(failure, outcome)
    return outcome


def _rows(table: Mapping[str, tuple[str, bytes]], *names: str) -> list[tuple[int, ...]]:
    rows = Rows(table)
    return list(zip(*(rows[name] for name in names), strict=True))


def _until(table: Mapping[str, tuple[str, bytes]], end_ns: int) -> dict[str, tuple[str, bytes]]:
    """The first rows of a table in order of time."""
    rows = Rows(table)
    count = sum(time < end_ns for time in rows["time_ns"])
    return {
        name: (kind, bytes(memoryview(cells)[: 8 * count])) for name, (kind, cells) in table.items()
    }

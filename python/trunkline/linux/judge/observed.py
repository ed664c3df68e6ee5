"""What one engine made of one seed: its tables, and every datagram of UDP flows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trunkline import _core
from trunkline.engine.sim import Decoder, Job
from trunkline.linux import engine
from trunkline.linux.outcome.arrivals import datagrams
from trunkline.linux.plan.rehearsal import raw_tables
from trunkline.network.types import Network
from trunkline.results import Results

_SENT, _DELIVERED, _DROPPED = map(_core.PACKET_EVENTS.index, ("sent", "delivered", "dropped"))

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Datagrams:
    """Datagrams of one flow; arrays of those that arrived are in order of their number.

    Parameters
    ----------
    sent_ns, ip_bytes : array of int
        Of every datagram sent, by number.
    number, delay_ns, dscp, ecn, ttl : array of int
        Of each that arrived before the end of the run, as it arrived; ``ecn`` is the two bits.
    dropped : array of int
        Numbers of those known to be lost; those of an engine that does not tell are not here.
    reordered : int
        Datagrams that arrived after one with a higher number.
    """

    sent_ns: Ints
    ip_bytes: Ints
    number: Ints
    delay_ns: Ints
    dscp: Ints
    ecn: Ints
    ttl: Ints
    dropped: Ints
    reordered: int


@dataclass(frozen=True)
class Observed:
    """One seed in one engine.

    Parameters
    ----------
    flows : dict of str to Datagrams
        Datagrams of each UDP flow, by name.
    """

    results: Results
    flows: dict[str, Datagrams]


def of_simulator(network: Network, seed: int) -> Observed:
    """Run the simulator and note every datagram.

    Parameters
    ----------
    seed : int
        Seed of the run [0 to 2**64 - 1].
    """
    names = {
        index: str(flow["name"])
        for index, flow in enumerate(network["flows"])
        if flow["agent"]["protocol"] == "udp"
    }
    traced = {**network, "run": {**network["run"], "trace": bool(names)}}
    job = Job(json.dumps(traced, sort_keys=True, separators=(",", ":")), seed)
    raw = raw_tables(job)
    results = Decoder().results(job, {name: raw[name] for name in raw if name != "packets"})
    return Observed(results, _traced(raw["packets"], names) if names else {})


def _traced(
    packets: Mapping[str, tuple[str, bytes]], names: Mapping[int, str]
) -> dict[str, Datagrams]:
    """Datagrams of the engine's raw trace, which is too long to be decoded in full."""
    columns = {
        name: np.frombuffer(packets[name][1], dtype=np.int64)
        for name in ("event", "flow", "seq", "time_ns", "ip_bytes", "dscp", "ecn", "ttl")
    }
    found = {}
    for index, name in names.items():
        its = {key: column[columns["flow"] == index] for key, column in columns.items()}
        sent = its["event"] == _SENT
        order = np.argsort(its["seq"][sent], kind="stable")
        times = its["time_ns"][sent][order]
        arrived = its["event"] == _DELIVERED
        found[name] = _datagrams(
            times,
            its["ip_bytes"][sent][order],
            its["seq"][arrived],
            its["time_ns"][arrived] - times[its["seq"][arrived]],
            (its["dscp"][arrived], its["ecn"][arrived], its["ttl"][arrived]),
            np.unique(its["seq"][its["event"] == _DROPPED]),
        )
    return found


def _datagrams(
    sent_ns: Ints,
    ip_bytes: Ints,
    number: Ints,
    delay_ns: Ints,
    marks: tuple[Ints, Ints, Ints],
    dropped: Ints,
) -> Datagrams:
    """Of arrivals in the order in which they came; a copy that comes second counts once."""
    late = int(np.sum(number < np.maximum.accumulate(number))) if len(number) else 0
    kept, first = np.unique(number, return_index=True)
    dscp, ecn, ttl = (each[first] for each in marks)
    return Datagrams(sent_ns, ip_bytes, kept, delay_ns[first], dscp, ecn, ttl, dropped, late)


def of_kernel(done: engine.Run, folder: Path) -> Observed:
    """What a guest left of a run."""
    network = done.compiled.network
    end = network["run"]["duration_ns"]
    found = {}
    for index, flow in enumerate(network["flows"]):
        if flow["agent"]["protocol"] != "udp":
            continue
        sent = np.array(done.compiled.traffic.sent[index], dtype=np.int64).reshape(-1, 2)
        arrived = np.array(
            [
                (each.sequence, each.delay_ns, each.tos >> 2, each.tos & 3, each.ttl)
                for each in datagrams(folder, index)
                if each.received_ns < end
            ],
            dtype=np.int64,
        ).reshape(-1, 5)
        found[str(flow["name"])] = _datagrams(
            sent[:, 0],
            sent[:, 1],
            arrived[:, 0],
            arrived[:, 1],
            (arrived[:, 2], arrived[:, 3], arrived[:, 4]),
            np.zeros(0, dtype=np.int64),
        )
    return Observed(done.results, found)

"""Failures in a fluid run: the ways of flows between any two moments at which they change.

The packet engine runs the network without traffic, so that its timeline says when links fail, when
protections and routing switch, and when they go back. Then datagrams of the flows that a failure
meets go out in every phase, alone, and their traces are the ways of the phase. All other flows
keep their way.
Absent: what is in queues and on the wire at a change; a phase shorter than the way of a datagram
may be given the ways of the next.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline import _core
from trunkline.fluid.routed import answer_bytes
from trunkline.fluid.unsupported import UnsupportedError
from trunkline.fluid.ways import Ways, classifier, probe, read, sorted_ways

Ints = NDArray[np.int64]

MOST: Final = 500
"""Moments within a run at most."""
FAST_BIT_S: Final = 1_000_000_000_000
"""Rate of links in the probe, so that its datagrams do not wait for each other."""
CHANGES: Final = ("failed", "switched", "repaired", "reverted", "rerouted")


@dataclass(frozen=True, slots=True, eq=False)
class Phase:
    """A time in which nothing changes.

    Parameters
    ----------
    seconds : float
        How long, of the measured time.
    ways : Ways
        The ways of all streams.
    """

    seconds: float
    ways: Ways


def phases(network: Mapping[str, Any], base: Ways, sizes: Ints, seed: int) -> list[Phase]:
    """Divide the measured time.

    Parameters
    ----------
    network : mapping
        The compiled network, parsed from its JSON.
    sizes : array of int64, shape (F,)
        IP bytes of a data packet of each flow.

    Returns
    -------
    list of Phase
        In order; one, without failures.

    Raises
    ------
    UnsupportedError
        Too many moments.
    """
    run = network["run"]
    begin, end = run["warmup_ns"], run["duration_ns"]
    whole = [Phase((end - begin) / 1e9, base)]
    failures = (network.get("recovery") or {}).get("failures", ())
    if not failures:
        return whole
    moments = _moments(network, seed)
    if len(moments) > MOST:
        msg = (
            f"failures, protections and routing change ways at {len(moments)} moments of the run; "
            f"the fluid engine follows {MOST} at most"
        )
        raise UnsupportedError(msg, ("failures",))
    edges = np.unique(np.clip([begin, *moments, end], begin, end))
    dead = np.unique([link for failure in failures for link in failure["links"]])
    met = np.unique(base.stream[np.isin(base.link, dead)])
    # Before the first moment nothing has happened yet.
    first = min((each for each in moments), default=end)
    later = [(a, b) for a, b in pairwise(edges.tolist()) if a >= first]
    if not len(met) or not later:
        return whole
    found = _in_each(network, base, sizes, seed, met, dead, later)
    ahead = [] if edges[0] >= first else [Phase((min(first, end) - begin) / 1e9, base)]
    return _joined(ahead + found)


def _moments(network: Mapping[str, Any], seed: int) -> list[int]:
    """When ways change [ns]."""
    ports = [port | {"classifier": classifier(port["classifier"], [])} for port in network["ports"]]
    empty = dict(network) | {"flows": [], "ports": ports, "probes": [], "conditioners": []}
    rows = _core.run(json.dumps(_bare(empty)), seed)["timeline"]
    time, event = (np.frombuffer(rows[name][1], dtype=np.int64) for name in ("time_ns", "event"))
    wanted = [_core.TIMELINE_EVENTS.index(name) for name in CHANGES]
    found: list[int] = np.unique(time[np.isin(event, wanted)]).tolist()
    return found


def _bare(network: dict[str, Any]) -> dict[str, Any]:
    """Links that lose, count and condition nothing."""
    keys = ("scripted", "account", "conditioner", "ingress")
    links = [
        {key: value for key, value in link.items() if key not in keys} | {"loss": 0.0}
        for link in network["links"]
    ]
    run = network["run"] | {"warmup_ns": 0, "trace": False}
    return network | {"links": links, "run": run}


def _in_each(
    network: Mapping[str, Any],
    base: Ways,
    sizes: Ints,
    seed: int,
    met: Ints,
    dead: Ints,
    edges: list[tuple[int, int]],
) -> list[Phase]:
    """Ways of the streams that a failure meets, in every phase."""
    back = [f for f, flow in enumerate(network["flows"]) if answer_bytes(flow)]
    early = _until(network, base, dead)[met]
    spread = 0.25 + 0.5 * np.arange(1, len(met) + 1) / (len(met) + 1)
    times = np.concatenate([a + (b - a) * spread - early for a, b in edges])
    streams = np.tile(met, len(edges))
    made = probe(network, sizes.tolist(), back, streams.tolist(), np.rint(times).tolist())
    made["recovery"] = network["recovery"]
    made["run"] = made["run"] | {"duration_ns": network["run"]["duration_ns"] + 1_000_000_000}
    made["links"] = [link | {"rate_bit_s": FAST_BIT_S} for link in made["links"]]
    hops, lost = read(network, made, len(streams), seed)
    others = ~np.isin(base.stream, met)
    kept = np.stack(
        [getattr(base, name)[others] for name in ("stream", "leg", "step", "link", "class_")]
        + [base.header[others]]
    )
    found = []
    for number, (a, b) in enumerate(edges):
        mine = hops[0] // len(met) == number
        its = hops[:, mine]
        its[0] = met[its[0] % len(met)]
        gone = base.lost.copy()
        gone[met] = lost[number * len(met) : (number + 1) * len(met)]
        its[1] += 1 + base.leg.max(initial=0)
        ways = sorted_ways(base.flow, base.reverse, np.concatenate([kept, its], axis=1), gone)
        found.append(Phase((b - a) / 1e9, ways))
    return found


def _until(network: Mapping[str, Any], base: Ways, dead: Ints) -> NDArray[np.float64]:
    """Propagation of each stream to the first link that fails [ns]."""
    delay = np.array([link["delay_ns"] for link in network["links"]], dtype=np.float64)
    sums = np.cumsum(delay[base.link]) - delay[base.link]
    starts = np.r_[0, np.flatnonzero(np.diff(base.leg)) + 1]
    begins = np.repeat(sums[starts], np.diff(np.r_[starts, len(base.leg)]))
    found = np.full(len(base.flow), np.inf)
    hit = np.isin(base.link, dead)
    np.minimum.at(found, base.stream[hit], (sums - begins)[hit])
    return np.where(np.isfinite(found), found, 0.0)


def _joined(found: list[Phase]) -> list[Phase]:
    """Neighbours with the same ways as one."""
    joined: list[Phase] = []
    for each in found:
        if joined and _same(joined[-1].ways, each.ways):
            joined[-1] = replace(joined[-1], seconds=joined[-1].seconds + each.seconds)
        else:
            joined.append(each)
    return joined


def _same(one: Ways, other: Ways) -> bool:
    names = ("stream", "step", "link", "class_", "header", "lost")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)

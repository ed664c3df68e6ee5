"""Focus: packets of the flows over chosen links, on paths or met by a failure; else background.

Background is one source for each class of the links that packets of the focus cross: Poisson, with
the rate and the sizes on the wire that the fluid engine gives the flows which are left out, over
that link alone. So its bursts, and what TCP would make of the focus, are not in it.
Where failures change its rate, one source ends and the next begins.
Absent: conditioners, pages and films.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline.fluid.engine import solved
from trunkline.fluid.tables import Fluid
from trunkline.fluid.unsupported import UnsupportedError
from trunkline.fluid.ways import Ways
from trunkline.scenario import Scenario

BACKGROUND: Final = "background"
"""What the names of background flows begin with."""
LEAST_BIT_S: Final = 1.0
CLOSE: Final = 1e-6

Parts = Sequence[tuple[float, Fluid]]


@dataclass(frozen=True, slots=True, eq=False)
class Focus:
    """A network in which only some flows are packets of their own.

    Parameters
    ----------
    network : dict
        Compiled as well; its flows are those kept and ``background LINK CLASS``.
    links : tuple of str
        One-way links that it is about: those named, those of paths named, or those that the flows
        cross which a failure meets.
    """

    network: dict[str, Any]
    links: tuple[str, ...]


def focus(network: Mapping[str, Any], names: Sequence[str], seed: int = 1) -> Focus:
    """Keep the packets of some flows.

    Parameters
    ----------
    network : mapping
        The compiled network, parsed from its JSON.
    names : sequence of str
        One-way links (``A->B``): the flows whose data crosses one are kept; paths: the flows on
        them; failures: all flows that cross what fails.

    Raises
    ------
    UnsupportedError
        The network has what background cannot stand for.
    ValueError
        No such name, or no flow there.
    """
    for each in network.get("conditioners", ()):
        msg = "conditioners know single flows: no background passes them"
        raise UnsupportedError(msg, ("conditioners", each["name"]))
    chosen = [(name, _kind(network, name)) for name in names]
    parts = solved(network, seed)
    unknown = np.flatnonzero(np.isnan(parts[0][1].sources.rate))
    if len(unknown):
        msg = "the rate of pages and films is unknown: they can be no background"
        raise UnsupportedError(msg, ("flows", network["flows"][unknown[0]]["name"]))
    every = [part.roads.ways for _, part in parts]
    kept: set[int] = set()
    about: set[int] = set()
    for name, kind in chosen:
        flows, its = _CHOICES[kind](network, name, every)
        if not flows:
            raise ValueError(f"no flow {_MEETS[kind]} {name}")
        kept |= flows
        about |= its
    mine = np.array(sorted(kept), dtype=np.int64)
    made = [*_background(network, parts, mine)]
    links = tuple(network["links"][link]["name"] for link in sorted(about))
    return Focus(_with(network, mine.tolist(), made), links)


def of_trunks(scenario: Scenario, names: Sequence[str]) -> tuple[str, ...]:
    """Names of links, paths and failures, with the paths of a trunk for its name.

    Parameters
    ----------
    names : sequence of str
        Of links, paths, failures or trunks. One that a path has too is the path.
    """
    its = scenario.resolved()
    paths: list[str] = []
    for name in names:
        made = [
            trunk.path
            for each, trunk in its.trunks.items()
            if name in (each, its.origins.get(("trunks", each), ("", each))[-1])
        ]
        paths += [name] if name in its.paths or not made else made
    return tuple(dict.fromkeys(paths))


_MEETS: Final = {"link": "crosses", "path": "is on", "failure": "is met by"}


def _kind(network: Mapping[str, Any], name: str) -> str:
    known = {
        "link": [each["name"] for each in network["links"]],
        "path": [each["name"] for each in network["paths"]],
        "failure": [each["name"] for each in (network.get("recovery") or {}).get("failures", ())],
    }
    kinds = [kind for kind, listed in known.items() if name in listed]
    if not kinds:
        raise ValueError(f"there is no link (A->B), path, trunk or failure {name}")
    if len(kinds) > 1:
        raise ValueError(f"{name} is a {kinds[0]} and a {kinds[1]}")
    return kinds[0]


def _over(ways: Ways, links: NDArray[np.int64], *, acks: bool) -> set[int]:
    """Flows that cross one of some links."""
    hit = np.isin(ways.link, links)
    if not acks:
        hit &= ~ways.reverse[ways.stream]
    return set(ways.flow[ways.stream[hit]].tolist())


def _of_link(
    network: Mapping[str, Any], name: str, every: Sequence[Ways]
) -> tuple[set[int], set[int]]:
    number = next(i for i, link in enumerate(network["links"]) if link["name"] == name)
    flows = [_over(ways, np.array([number]), acks=False) for ways in every]
    return set().union(*flows), {number}


def _of_path(
    network: Mapping[str, Any], name: str, every: Sequence[Ways]
) -> tuple[set[int], set[int]]:
    number = next(i for i, path in enumerate(network["paths"]) if path["name"] == name)
    first = {
        entry["fec"]
        for entry in network["ftn"]
        if network["nhlfe"][entry["nhlfe"]]["path"] == number
    }
    flows = {
        i for i, flow in enumerate(network["flows"]) if first & {flow["fec"], flow["fec_reverse"]}
    }
    return flows, set(network["paths"][number]["links"])


def _of_failure(
    network: Mapping[str, Any], name: str, every: Sequence[Ways]
) -> tuple[set[int], set[int]]:
    failed = next(each for each in network["recovery"]["failures"] if each["name"] == name)
    flows = _over(every[0], np.array(failed["links"]), acks=True)
    listed = np.array(sorted(flows), dtype=np.int64)
    return flows, {
        int(link)
        for ways in every
        for link in np.unique(ways.link[np.isin(ways.flow[ways.stream], listed)])
    }


_CHOICES: Final = {"link": _of_link, "path": _of_path, "failure": _of_failure}


def _background(
    network: Mapping[str, Any], parts: Parts, kept: NDArray[np.int64]
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Link, row of its classifier, and flow of each background source."""
    own = np.array([link["header_bytes"] for link in network["links"]], dtype=np.int64)
    crossed = np.unique(
        np.concatenate(
            [
                part.roads.ways.link[np.isin(part.roads.ways.flow[part.roads.ways.stream], kept)]
                for _, part in parts
            ]
        )
    )
    by_queue: dict[int, list[dict[int, float]]] = {}
    for at, (_, its) in enumerate(parts):
        ways = its.roads.ways
        # Other classes of a link matter too: they share its rate.
        others = np.isin(ways.link, crossed) & (its.rates.hop > 0)
        others &= ~np.isin(ways.flow[ways.stream], kept)
        # Labels count as part of the packet: a background packet has none.
        size = np.rint(its.roads.size[ways.stream]).astype(np.int64) + ways.header - own[ways.link]
        packets = its.rates.hop / its.roads.size[ways.stream] / 8
        for queue in np.unique(its.roads.queue[others]).tolist():
            here = others & (its.roads.queue == queue)
            sizes, which = np.unique(size[here], return_inverse=True)
            rates = np.bincount(which, packets[here])
            found = by_queue.setdefault(queue, [{} for _ in parts])
            found[at] = dict(zip(sizes.tolist(), rates.tolist(), strict=True))
    begin = network["run"]["warmup_ns"]
    ends = begin + np.rint(np.cumsum([seconds for seconds, _ in parts]) * 1e9).astype(np.int64)
    starts = [0, *ends[:-1].tolist()]
    queues = parts[0][1].queues
    for queue, by_part in sorted(by_queue.items()):
        link = int(queues.link[queue])
        class_ = queue - int(queues.first[link])
        row, dscp = _seen_as(network["ports"][network["links"][link]["port"]], class_)
        changes = [at for at in range(len(parts)) if not at or not _same(by_part, at)]
        for at, until in zip(changes, [*changes[1:], None], strict=True):
            if sum(8 * size * rate for size, rate in by_part[at].items()) < LEAST_BIT_S:
                continue
            times = (starts[at], None if until is None else starts[until])
            yield link, row, _source(network, link, class_, dscp, by_part[at], times)


def _same(by_part: Sequence[Mapping[int, float]], at: int) -> bool:
    """Whether a part has the background of the one before it."""
    now, before = by_part[at], by_part[at - 1]
    return now.keys() == before.keys() and all(
        abs(now[size] - before[size]) <= CLOSE * before[size] for size in now
    )


def _source(
    network: Mapping[str, Any],
    link: int,
    class_: int,
    dscp: int,
    packets: Mapping[int, float],
    times: tuple[int, int | None],
) -> dict[str, Any]:
    its = network["links"][link]
    named = network["ports"][its["port"]]["classes"][class_]["name"]
    since = f" from {times[0] / 1e9:g} s" if times[0] else ""
    sizes = list(packets)
    rate = sum(8 * size * each for size, each in packets.items())
    law = {"choice": {"bytes": sizes, "weights": list(packets.values())}}
    return {
        "name": f"{BACKGROUND} {its['name']} {named}{since}",
        "src": its["from"],
        "dst": its["to"],
        "start_ns": times[0],
        "stop_ns": times[1],
        "start_jitter_ns": 0,
        "dscp": dscp,
        "ttl": 64,
        "fec": 0,
        "fec_reverse": 0,
        "agent": {
            "protocol": "udp",
            "arrivals": "poisson",
            "rate_bit_s": max(1, round(rate)),
            "size": {"fixed": {"bytes": sizes[0]}} if len(sizes) == 1 else law,
            "header_bytes": 0,
        },
    }


def _seen_as(port: Mapping[str, Any], class_: int) -> tuple[int, int]:
    """Row and DSCP that a classifier puts into a class, of the least drop precedence."""
    cells = port["classifier"]["rows"]
    if not cells:
        return 0, 0
    table = np.array(cells, dtype=np.int64)[:, :64]
    rows, dscps = np.nonzero(table[:, :, 0] == class_)
    if not len(rows):
        msg = f"no DSCP leads into class {port['classes'][class_]['name']}"
        raise UnsupportedError(msg, ("ports", port["name"]))
    best = int(table[rows, dscps, 1].argmin())
    return int(rows[best]), int(dscps[best])


def _with(
    network: Mapping[str, Any],
    kept: list[int],
    made: Sequence[tuple[int, int, dict[str, Any]]],
) -> dict[str, Any]:
    """The network with these flows alone, each background source bound to its link."""
    flows = [dict(network["flows"][index]) for index in kept]
    paths, ftn, nhlfe = ([*network[key]] for key in ("paths", "ftn", "nhlfe"))
    fec = max((entry["fec"] for entry in ftn), default=0)
    by_port: dict[int, dict[int, int]] = {}
    for number, (link, row, flow) in enumerate(made, len(kept)):
        fec += 1
        by_port.setdefault(network["links"][link]["port"], {})[number] = row
        flows.append(flow | {"fec": fec})
        ftn.append({"node": flow["src"], "fec": fec, "nhlfe": len(nhlfe)})
        entry = {"link": link, "pop": False, "push": [], "ttl": "pipe", "row": None}
        nhlfe.append(entry | {"path": len(paths)})
        paths.append({"name": flow["name"], "links": [link]})
    ports = []
    for number, port in enumerate(network["ports"]):
        old, rows = port["classifier"]["flow_rows"], by_port.get(number, {})
        new = [row for index in kept for row in (old[2 * index : 2 * index + 2] or [0, 0])]
        new += [row for index in range(len(kept), len(flows)) for row in (rows.get(index, 0), 0)]
        its = port["classifier"] | {"flow_rows": new if old or any(rows.values()) else []}
        ports.append(port | {"classifier": its})
    parts = {"flows": flows, "ports": ports, "paths": paths, "ftn": ftn, "nhlfe": nhlfe}
    links = [{key: v for key, v in link.items() if key != "scripted"} for link in network["links"]]
    whole: dict[str, Any] = json.loads(json.dumps(dict(network) | parts | {"links": links}))
    return whole | {"probes": []}

"""Focus: packets of the flows over chosen links; all others are background on the links they meet.

Background is one source for each class of the links that packets of the focus cross: Poisson, with
the rate and the sizes on the wire that the fluid engine gives the flows which are left out, over
that link alone. So its bursts, and what TCP would make of the focus, are not in it.
Absent: conditioners, pages and films.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline.fluid.engine import solve
from trunkline.fluid.tables import Fluid

__all__ = ["BACKGROUND", "focus"]

BACKGROUND: Final = "background"
"""What the names of background flows begin with."""
LEAST_BIT_S: Final = 1.0


def focus(network: Mapping[str, Any], links: Sequence[str]) -> dict[str, Any]:
    """A network in which only some flows are packets of their own.

    Parameters
    ----------
    network : mapping
        The compiled network, parsed from its JSON.
    links : sequence of str
        Names of one-way links (``A->B``); the flows whose data crosses one are kept.

    Returns
    -------
    dict
        Compiled as well; its flows are those kept and ``background LINK CLASS``.

    Raises
    ------
    ValueError
        No such link, no flow over them, or what background cannot stand for.
    """
    numbers = {link["name"]: number for number, link in enumerate(network["links"])}
    unknown = [name for name in links if name not in numbers]
    if unknown:
        raise ValueError(f"there is no link {unknown[0]}; they are written A->B")
    if network.get("conditioners"):
        raise ValueError("conditioners know single flows: no background passes them")
    its = solve(network)
    if np.isnan(its.sources.rate).any():
        raise ValueError("the rate of pages and films is unknown: they can be no background")
    ways = its.roads.ways
    over = np.isin(ways.link, [numbers[name] for name in links]) & ~ways.reverse[ways.stream]
    kept = np.unique(ways.flow[ways.stream[over]])
    if not len(kept):
        raise ValueError("no flow crosses these links")
    made = [*_background(network, its, kept)]
    return _with(network, kept.tolist(), made)


def _background(
    network: Mapping[str, Any], its: Fluid, kept: NDArray[np.int64]
) -> Iterator[tuple[int, int, int, dict[str, Any]]]:
    """Link, row of its classifier, and flow of each background source."""
    ways = its.roads.ways
    mine = np.isin(ways.flow[ways.stream], kept)
    # Other classes of a link matter too: they share its rate.
    others = ~mine & np.isin(ways.link, np.unique(ways.link[mine])) & (its.rates.hop > 0)
    met = np.unique(its.roads.queue[others])
    own = np.array([link["header_bytes"] for link in network["links"]], dtype=np.int64)
    # Labels count as part of the packet: a background packet has none.
    size = np.rint(its.roads.size[ways.stream]).astype(np.int64) + ways.header - own[ways.link]
    packets = its.rates.hop / its.roads.size[ways.stream] / 8
    for queue in met.tolist():
        here = others & (its.roads.queue == queue)
        rate = float((packets * size * 8)[here].sum())
        if rate < LEAST_BIT_S:
            continue
        link = int(its.queues.link[queue])
        class_ = queue - int(its.queues.first[link])
        row, dscp = _seen_as(network["ports"][network["links"][link]["port"]], class_)
        sizes, which = np.unique(size[here], return_inverse=True)
        weights = np.bincount(which, packets[here]).astype(np.float64)
        yield link, row, class_, _source(network, link, class_, dscp, rate, sizes, weights)


def _source(
    network: Mapping[str, Any],
    link: int,
    class_: int,
    dscp: int,
    rate: float,
    sizes: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> dict[str, Any]:
    its = network["links"][link]
    named = network["ports"][its["port"]]["classes"][class_]["name"]
    law = {"choice": {"bytes": sizes.tolist(), "weights": weights.tolist()}}
    return {
        "name": f"{BACKGROUND} {its['name']} {named}",
        "src": its["from"],
        "dst": its["to"],
        "start_ns": 0,
        "stop_ns": None,
        "start_jitter_ns": 0,
        "dscp": dscp,
        "ttl": 64,
        "fec": 0,
        "fec_reverse": 0,
        "agent": {
            "protocol": "udp",
            "arrivals": "poisson",
            "rate_bit_s": max(1, round(rate)),
            "size": {"fixed": {"bytes": int(sizes[0])}} if len(sizes) == 1 else law,
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
        raise ValueError(f"no DSCP leads into class {port['classes'][class_]['name']}")
    best = int(table[rows, dscps, 1].argmin())
    return int(rows[best]), int(dscps[best])


def _with(
    network: Mapping[str, Any],
    kept: list[int],
    made: Sequence[tuple[int, int, int, dict[str, Any]]],
) -> dict[str, Any]:
    """The network with these flows alone, each background source bound to its link."""
    flows = [dict(network["flows"][index]) for index in kept]
    paths, ftn, nhlfe = ([*network[key]] for key in ("paths", "ftn", "nhlfe"))
    fec = max((entry["fec"] for entry in ftn), default=0)
    by_port: dict[int, dict[int, int]] = {}
    for number, (link, row, _, flow) in enumerate(made, len(kept)):
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

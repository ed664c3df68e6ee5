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

from trunkline.fluid.engine import solve_phases
from trunkline.fluid.stream_paths import StreamPaths
from trunkline.fluid.tables import FluidState
from trunkline.fluid.unsupported import FluidUnsupportedError
from trunkline.scenario import Scenario

BACKGROUND: Final = "background"  # Prefix of the names of background flows.
MIN_BACKGROUND_BIT_S: Final = 1.0
RATE_TOLERANCE: Final = 1e-6

PhaseStates = Sequence[tuple[float, FluidState]]


@dataclass(frozen=True, slots=True, eq=False)
class FocusedNetwork:
    """A network in which only some flows are separate packets."""

    # Compiled as well; its flows are those kept and ``background LINK CLASS``.
    network: dict[str, Any]
    # One-way links that it is about: those named, those of paths named, or those that the flows
    # cross which a failure meets.
    links: tuple[str, ...]


def focus_network(
    network: Mapping[str, Any], names: Sequence[str], seed: int = 1
) -> FocusedNetwork:
    """Keep the packets of some flows.

    network: The compiled network, parsed from its JSON.
    names: One-way links (``A->B``): the flows whose data crosses one are kept; paths: the flows on
        them; failures: all flows that cross the failed element.
    Raises FluidUnsupportedError: The network has flows that background cannot replace.
    Raises ValueError: No such name, or no flow there.
    """
    for each in network.get("conditioners", ()):
        msg = "conditioners know single flows: no background passes them"
        raise FluidUnsupportedError(msg, ("conditioners", each["name"]))
    chosen = [(name, _find_kind(network, name)) for name in names]
    states = solve_phases(network, seed)
    unknown = np.flatnonzero(np.isnan(states[0][1].sources.rate))
    if len(unknown):
        msg = "the rate of pages, films, media and TFRC is unknown: they can be no background"
        raise FluidUnsupportedError(msg, ("flows", network["flows"][unknown[0]]["name"]))
    phase_paths = [part.hop_loads.paths for _, part in states]
    kept_flows: set[int] = set()
    focus_links: set[int] = set()
    for name, kind in chosen:
        flows, crossed = _SELECTORS[kind](network, name, phase_paths)
        if not flows:
            raise ValueError(f"no flow {_RELATIONS[kind]} {name}")
        kept_flows |= flows
        focus_links |= crossed
    kept_numbers = np.array(sorted(kept_flows), dtype=np.int64)
    background = [*_make_background(network, states, kept_numbers)]
    links = tuple(network["links"][link]["name"] for link in sorted(focus_links))
    return FocusedNetwork(_assemble_network(network, kept_numbers.tolist(), background), links)


def expand_trunk_names(scenario: Scenario, names: Sequence[str]) -> tuple[str, ...]:
    """Expand the names of links, paths and failures, with the paths of a trunk for its name.

    names: Of links, paths, failures or trunks. One that a path has too is the path.
    """
    resolved = scenario.resolve()
    paths: list[str] = []
    for name in names:
        trunk_paths = [
            trunk.path
            for each, trunk in resolved.trunks.items()
            if name in (each, resolved.origins.get(("trunks", each), ("", each))[-1])
        ]
        paths += [name] if name in resolved.paths or not trunk_paths else trunk_paths
    return tuple(dict.fromkeys(paths))


_RELATIONS: Final = {"link": "crosses", "path": "is on", "failure": "is met by"}


def _find_kind(network: Mapping[str, Any], name: str) -> str:
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


def _list_flows_over(paths: StreamPaths, links: NDArray[np.int64], *, acks: bool) -> set[int]:
    """List the flows that cross one of some links."""
    crosses = np.isin(paths.link, links)
    if not acks:
        crosses &= ~paths.reverse[paths.stream]
    return set(paths.flow[paths.stream[crosses]].tolist())


def _select_by_link(
    network: Mapping[str, Any], name: str, phase_paths: Sequence[StreamPaths]
) -> tuple[set[int], set[int]]:
    number = next(i for i, link in enumerate(network["links"]) if link["name"] == name)
    flows = [_list_flows_over(paths, np.array([number]), acks=False) for paths in phase_paths]
    return set().union(*flows), {number}


def _select_by_path(
    network: Mapping[str, Any], name: str, phase_paths: Sequence[StreamPaths]
) -> tuple[set[int], set[int]]:
    number = next(i for i, path in enumerate(network["paths"]) if path["name"] == name)
    entry_fecs = {
        entry["fec"]
        for entry in network["ftn"]
        if network["nhlfe"][entry["nhlfe"]]["path"] == number
    }
    flows = {
        i
        for i, flow in enumerate(network["flows"])
        if entry_fecs & {flow["fec"], flow["fec_reverse"]}
    }
    return flows, set(network["paths"][number]["links"])


def _select_by_failure(
    network: Mapping[str, Any], name: str, phase_paths: Sequence[StreamPaths]
) -> tuple[set[int], set[int]]:
    failed = next(each for each in network["recovery"]["failures"] if each["name"] == name)
    flows = _list_flows_over(phase_paths[0], np.array(failed["links"]), acks=True)
    flow_numbers = np.array(sorted(flows), dtype=np.int64)
    return flows, {
        int(link)
        for paths in phase_paths
        for link in np.unique(paths.link[np.isin(paths.flow[paths.stream], flow_numbers)])
    }


_SELECTORS: Final = {
    "link": _select_by_link,
    "path": _select_by_path,
    "failure": _select_by_failure,
}


def _make_background(
    network: Mapping[str, Any], states: PhaseStates, kept_flows: NDArray[np.int64]
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Make the link, row of its classifier, and flow of each background source."""
    link_headers = np.array([link["header_bytes"] for link in network["links"]], dtype=np.int64)
    crossed = np.unique(
        np.concatenate(
            [
                part.hop_loads.paths.link[
                    np.isin(part.hop_loads.paths.flow[part.hop_loads.paths.stream], kept_flows)
                ]
                for _, part in states
            ]
        )
    )
    by_queue: dict[int, list[dict[int, float]]] = {}
    for phase, (_, state) in enumerate(states):
        stream_paths = state.hop_loads.paths
        # Other classes of a link matter too: they share its rate.
        is_other = np.isin(stream_paths.link, crossed) & (state.rates.hop_rate > 0)
        is_other &= ~np.isin(stream_paths.flow[stream_paths.stream], kept_flows)
        # Labels count as part of the packet: a background packet has none.
        size = (
            np.rint(state.hop_loads.packet_bytes[stream_paths.stream]).astype(np.int64)
            + stream_paths.header
            - link_headers[stream_paths.link]
        )
        packets = state.rates.hop_rate / state.hop_loads.packet_bytes[stream_paths.stream] / 8
        for queue in np.unique(state.hop_loads.queue[is_other]).tolist():
            in_queue = is_other & (state.hop_loads.queue == queue)
            sizes, size_index = np.unique(size[in_queue], return_inverse=True)
            rates = np.bincount(size_index, packets[in_queue])
            by_phase = by_queue.setdefault(queue, [{} for _ in states])
            by_phase[phase] = dict(zip(sizes.tolist(), rates.tolist(), strict=True))
    begin = network["run"]["warmup_ns"]
    ends = begin + np.rint(np.cumsum([seconds for seconds, _ in states]) * 1e9).astype(np.int64)
    starts = [0, *ends[:-1].tolist()]
    queues = states[0][1].queues
    for queue, queue_phases in sorted(by_queue.items()):
        link = int(queues.link[queue])
        class_ = queue - int(queues.first[link])
        row, dscp = find_marking(network["ports"][network["links"][link]["port"]], class_)
        changes = [
            phase
            for phase in range(len(states))
            if not phase or not _is_unchanged(queue_phases, phase)
        ]
        for phase, next_change in zip(changes, [*changes[1:], None], strict=True):
            if (
                sum(8 * size * rate for size, rate in queue_phases[phase].items())
                < MIN_BACKGROUND_BIT_S
            ):
                continue
            times = (starts[phase], None if next_change is None else starts[next_change])
            yield (
                link,
                row,
                _make_background_flow(network, link, class_, dscp, queue_phases[phase], times),
            )


def _is_unchanged(by_phase: Sequence[Mapping[int, float]], phase: int) -> bool:
    """Whether a part has the background of the one before it."""
    current, previous = by_phase[phase], by_phase[phase - 1]
    return current.keys() == previous.keys() and all(
        abs(current[size] - previous[size]) <= RATE_TOLERANCE * previous[size] for size in current
    )


def _make_background_flow(
    network: Mapping[str, Any],
    link: int,
    class_: int,
    dscp: int,
    packets: Mapping[int, float],
    times: tuple[int, int | None],
) -> dict[str, Any]:
    network_link = network["links"][link]
    class_name = network["ports"][network_link["port"]]["classes"][class_]["name"]
    since = f" from {times[0] / 1e9:g} s" if times[0] else ""
    sizes = list(packets)
    rate = sum(8 * size * each for size, each in packets.items())
    size_law = {"choice": {"bytes": sizes, "weights": list(packets.values())}}
    return {
        "name": f"{BACKGROUND} {network_link['name']} {class_name}{since}",
        "src": network_link["from"],
        "dst": network_link["to"],
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
            "size": {"fixed": {"bytes": sizes[0]}} if len(sizes) == 1 else size_law,
            "header_bytes": 0,
        },
    }


def find_marking(port: Mapping[str, Any], class_: int, dscp: int | None = None) -> tuple[int, int]:
    """Find the row and DSCP that a classifier puts into a class.

    `dscp` where it leads there, else that of the least drop precedence.
    """
    cells = port["classifier"]["rows"]
    if not cells:
        return 0, dscp or 0
    table = np.array(cells, dtype=np.int64)[:, :64]
    rows, codes = np.nonzero(table[:, :, 0] == class_)
    if not len(rows):
        msg = f"no DSCP leads into class {port['classes'][class_]['name']}"
        raise FluidUnsupportedError(msg, ("ports", port["name"]))
    own = np.flatnonzero(codes == dscp)
    best = own[0] if len(own) else table[rows, codes, 1].argmin()
    return int(rows[best]), int(codes[best])


def _assemble_network(
    network: Mapping[str, Any],
    kept_flows: list[int],
    background: Sequence[tuple[int, int, dict[str, Any]]],
) -> dict[str, Any]:
    """The network with these flows alone, each background source bound to its link."""
    flows = [dict(network["flows"][index]) for index in kept_flows]
    paths, ftn, nhlfe = ([*network[key]] for key in ("paths", "ftn", "nhlfe"))
    fec = max((entry["fec"] for entry in ftn), default=0)
    by_port: dict[int, dict[int, int]] = {}
    for number, (link, row, flow) in enumerate(background, len(kept_flows)):
        fec += 1
        by_port.setdefault(network["links"][link]["port"], {})[number] = row
        flows.append(flow | {"fec": fec})
        ftn.append({"node": flow["src"], "fec": fec, "nhlfe": len(nhlfe)})
        entry = {"link": link, "pop": False, "push": [], "ttl": "pipe", "row": None}
        nhlfe.append(entry | {"path": len(paths)})
        paths.append({"name": flow["name"], "links": [link]})
    ports = []
    for number, port in enumerate(network["ports"]):
        old_rows, rows = port["classifier"]["flow_rows"], by_port.get(number, {})
        new_rows = [
            row for index in kept_flows for row in (old_rows[2 * index : 2 * index + 2] or [0, 0])
        ]
        new_rows += [
            row for index in range(len(kept_flows), len(flows)) for row in (rows.get(index, 0), 0)
        ]
        classifier = port["classifier"] | {
            "flow_rows": new_rows if old_rows or any(rows.values()) else []
        }
        ports.append(port | {"classifier": classifier})
    replaced = {"flows": flows, "ports": ports, "paths": paths, "ftn": ftn, "nhlfe": nhlfe}
    links = [{key: v for key, v in link.items() if key != "scripted"} for link in network["links"]]
    assembled: dict[str, Any] = json.loads(json.dumps(dict(network) | replaced | {"links": links}))
    return assembled | {"probes": []}

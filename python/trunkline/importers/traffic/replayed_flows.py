"""Flows of a capture: UDP datagram by datagram, TCP as sizes and think times.

What TCP sent depended on the network it crossed, so its segments are not replayed: what one side
wrote until it paused or the other side answered is one transfer, and the run's own TCP carries it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trunkline.importers.common.proof import prove_import
from trunkline.importers.traffic.capture import TCP, UDP, CapturedPacket
from trunkline.scenario.yaml_text import block

MIN_IP_UDP_BYTES = 28


@dataclass(frozen=True, slots=True)
class ReplayedFlow:
    """One direction of a conversation.

    Attributes
    ----------
    name : str
        ``udp-1``, ``tcp-2``, ... in the order of their first packets.
    key : tuple
        Addresses, protocol and ports.
    rows : list of (int, int)
        Time since the first packet of the capture [ns], and size [B]: IP bytes of a datagram,
        application bytes of a transfer.
    """

    name: str
    key: tuple[str, str, int, int, int]
    source: str
    target: str
    rows: list[tuple[int, int]]

    @property
    def is_tcp(self) -> bool:
        """Whether its rows are transfers."""
        return self.key[2] == TCP

    def to_csv(self) -> str:
        """Its schedule: a header and a line a row, values with their units."""
        lines = [f"{time} ns,{size} B" for time, size in self.rows]
        return "\n".join(["time,size", *lines]) + "\n"

    def to_dict(self) -> dict[str, object]:
        """Its entry in `flows` of a scenario, whose schedule is in ``NAME.csv``."""
        ends = {"from": self.source, "to": self.target}
        schedule_keys = {"arrivals": "schedule", "schedule": f"{self.name}.csv"}
        if self.is_tcp:
            return {"agent": "tcp", **ends, "transfers": schedule_keys}
        return {"agent": "udp", **ends, **schedule_keys}


def prove_flows(made: Iterable[ReplayedFlow]) -> None:
    """Load a scenario of flows.

    Raises
    ------
    ImportFault
        It does not load: a node's name or a time is beyond the language.
    """
    flows = {flow.name: flow for flow in made}
    links = dict.fromkeys(tuple(sorted((flow.source, flow.target))) for flow in flows.values())
    scenario = {
        "trunkline": 1,
        "nodes": list(dict.fromkeys(node for ends in links for node in ends)),
        "links": {
            f"link{number}": {"between": list(ends), "rate": "1 Gbit/s"}
            for number, ends in enumerate(links)
        },
        "flows": {name: flow.to_dict() for name, flow in flows.items()},
        "run": {"duration": "1 s"},
    }
    tables = {f"{name}.csv": flow.to_csv().encode() for name, flow in flows.items()}
    prove_import(block(scenario), tables)


def collect_flows(
    packets: Iterable[CapturedPacket],
    *,
    nodes: Mapping[str, str] | None = None,
    think_ns: int = 200_000_000,
) -> list[ReplayedFlow]:
    """Sort the packets of a capture into flows.

    Parameters
    ----------
    nodes : mapping of str to str, optional
        Node of each address; packets of other addresses are left out. None: nodes are called by
        their addresses.
    think_ns : int
        A pause of TCP's sender that is longer ends a transfer [ns].

    Returns
    -------
    list of ReplayedFlow
        In the order of their first packets. Packets between two addresses of one node, and
        directions of TCP without data, are left out.
    """
    rows: dict[tuple[str, str, int, int, int], list[tuple[int, int]]] = {}
    last_time: dict[tuple[str, str, int, int, int], int] = {}
    last_sender: dict[tuple[object, ...], tuple[str, str, int, int, int]] = {}
    first: int | None = None
    for packet in sorted(packets, key=lambda each: each.time_ns):
        ends = [nodes.get(each) if nodes is not None else each for each in packet.key[:2]]
        if None in ends or ends[0] == ends[1]:
            continue
        first = packet.time_ns if first is None else first
        time, key = packet.time_ns - first, packet.key
        if packet.protocol == UDP:
            rows.setdefault(key, []).append((time, max(MIN_IP_UDP_BYTES, packet.ip_bytes)))
            continue
        if packet.payload == 0:
            continue
        connection = frozenset(
            ((packet.source, packet.ports[0]), (packet.destination, packet.ports[1]))
        )
        flow_rows = rows.setdefault(key, [])
        paused = time - last_time.get(key, time) > think_ns
        if not flow_rows or paused or last_sender.get((connection,)) != key:
            flow_rows.append((time, packet.payload))
        else:
            flow_rows[-1] = (flow_rows[-1][0], flow_rows[-1][1] + packet.payload)
        last_time[key], last_sender[connection,] = time, key
    flows = []
    for number, (key, flow_schedule) in enumerate(rows.items(), 1):
        name = f"{'tcp' if key[2] == TCP else 'udp'}-{number}"
        source, target = ((nodes or {}).get(each, each) for each in key[:2])
        flows.append(ReplayedFlow(name, key, source, target, flow_schedule))
    return flows

"""Plans written by hand: nodes in a line, n0 to n1 to ..., for tests of agent and runners."""

from trunkline.linux.plan.guest_plan import (
    SCHEDULE_RECORD,
    GuestPlan,
    PlannedEnd,
    PlannedLink,
    PlannedNode,
    TcpFlow,
    UdpFlow,
)

SECOND_NS = 1_000_000_000


def make_line_plan(
    nodes: int = 3,
    *,
    tc: dict[str, tuple[str, ...]] | None = None,
    seed: int = 1,
    duration_ns: int = SECOND_NS,
    **flows: tuple[object, ...],
) -> GuestPlan:
    """Link i joins n(i) and n(i+1): 10.0.i.1 on l(i)a and 10.0.i.2 on l(i)b."""
    links = tuple(
        PlannedLink(
            PlannedEnd(f"n{i}", f"l{i}a", _make_mac(i, 1)),
            PlannedEnd(f"n{i + 1}", f"l{i}b", _make_mac(i, 2)),
        )
        for i in range(nodes - 1)
    )
    nodes_made = tuple(_make_node(i, nodes, (tc or {}).get(f"n{i}", ())) for i in range(nodes))
    return GuestPlan(
        seed=seed,
        duration_ns=duration_ns,
        nodes=nodes_made,
        links=links,
        snapshots_ns=(duration_ns,),
        **flows,
    )


def _make_mac(link: int, end: int) -> str:
    return f"02:00:00:00:{link:02x}:{end:02x}"


def _make_node(i: int, nodes: int, tc: tuple[str, ...]) -> PlannedNode:
    # Without time stamps a segment holds 1460 bytes and its frame 1514.
    sysctls = [("net/ipv4/ip_forward", "1"), ("net/ipv4/tcp_timestamps", "0")]
    ip = []
    for link, end in ((i - 1, 2), (i, 1)):
        if 0 <= link < nodes - 1:
            device, other = f"l{link}{'ab'[end - 1]}", 3 - end
            ip += [
                f"addr add 10.0.{link}.{end}/24 dev {device}",
                f"link set {device} txqueuelen 1000 gso_max_segs 1 up",
                f"neigh replace 10.0.{link}.{other} lladdr {_make_mac(link, other)} dev {device} "
                "nud permanent",
            ]
    for link in range(nodes - 1):
        if link not in (i - 1, i):
            via = f"10.0.{i}.2" if link > i else f"10.0.{i - 1}.1"
            ip.append(f"route add 10.0.{link}.0/24 via {via}")
    return PlannedNode(f"n{i}", tuple(sysctls), tuple(ip), (), tc)


def make_udp_flow(nodes: int = 3, number: int = 0, tos: int = 184) -> UdpFlow:
    """From n0 to the last node."""
    return UdpFlow(
        id=number,
        source="n0",
        destination=f"n{nodes - 1}",
        source_address="10.0.0.1",
        destination_address=f"10.0.{nodes - 2}.2",
        port=9000 + number,
        tos=tos,
        ttl=64,
        schedule=f"udp-{number}",
    )


def make_tcp_flow(nodes: int = 3, number: int = 1, **changes: object) -> TcpFlow:
    """From n0 to the last node."""
    fields = {
        "id": number,
        "source": "n0",
        "destination": f"n{nodes - 1}",
        "source_address": "10.0.0.1",
        "destination_address": f"10.0.{nodes - 2}.2",
        "port": 9000 + number,
        "tos": 0,
        "ttl": 64,
        "start_ns": 0,
        "stop_ns": None,
        "bytes": None,
        "congestion_control": "reno",
        "mss": 1460,
        "send_buffer_bytes": None,
        "receive_buffer_bytes": None,
        "nodelay": True,
        "sample_ns": 10_000_000,
    }
    return TcpFlow(**{**fields, **changes})


def make_schedule(times: list[int], payload: int = 972) -> bytes:
    """The same payload at each time [ns]."""
    return b"".join(SCHEDULE_RECORD.pack(time, payload) for time in times)

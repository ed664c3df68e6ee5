"""Plans written by hand: nodes in a line, n0 to n1 to ..., for tests of agent and runners."""

from trunkline.linux.plan.plan import (
    SCHEDULED,
    End,
    Node,
    Plan,
    TcpFlow,
    UdpFlow,
    Wire,
)

SECOND = 1_000_000_000


def line(
    nodes: int = 3,
    *,
    tc: dict[str, tuple[str, ...]] | None = None,
    seed: int = 1,
    duration_ns: int = SECOND,
    **flows: tuple[object, ...],
) -> Plan:
    """Link i joins n(i) and n(i+1): 10.0.i.1 on l(i)a and 10.0.i.2 on l(i)b."""
    links = tuple(
        Wire(End(f"n{i}", f"l{i}a", _mac(i, 1)), End(f"n{i + 1}", f"l{i}b", _mac(i, 2)))
        for i in range(nodes - 1)
    )
    made = tuple(_node(i, nodes, (tc or {}).get(f"n{i}", ())) for i in range(nodes))
    return Plan(
        seed=seed,
        duration_ns=duration_ns,
        nodes=made,
        links=links,
        snapshots_ns=(duration_ns,),
        **flows,
    )


def _mac(link: int, end: int) -> str:
    return f"02:00:00:00:{link:02x}:{end:02x}"


def _node(i: int, nodes: int, tc: tuple[str, ...]) -> Node:
    # Without time stamps a segment holds 1460 bytes and its frame 1514.
    sysctls = [("net/ipv4/ip_forward", "1"), ("net/ipv4/tcp_timestamps", "0")]
    ip = []
    for link, end in ((i - 1, 2), (i, 1)):
        if 0 <= link < nodes - 1:
            device, other = f"l{link}{'ab'[end - 1]}", 3 - end
            ip += [
                f"addr add 10.0.{link}.{end}/24 dev {device}",
                f"link set {device} txqueuelen 1000 gso_max_segs 1 up",
                f"neigh replace 10.0.{link}.{other} lladdr {_mac(link, other)} dev {device} "
                "nud permanent",
            ]
    for link in range(nodes - 1):
        if link not in (i - 1, i):
            via = f"10.0.{i}.2" if link > i else f"10.0.{i - 1}.1"
            ip.append(f"route add 10.0.{link}.0/24 via {via}")
    return Node(f"n{i}", tuple(sysctls), tuple(ip), (), tc)


def udp(nodes: int = 3, number: int = 0, tos: int = 184) -> UdpFlow:
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


def tcp(nodes: int = 3, number: int = 1, **changes: object) -> TcpFlow:
    """From n0 to the last node."""
    given = {
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
    return TcpFlow(**{**given, **changes})


def schedule(times: list[int], payload: int = 972) -> bytes:
    """The same payload at each time [ns]."""
    return b"".join(SCHEDULED.pack(time, payload) for time in times)

"""Captures that the field knows: what is around packets, what is sent again, what is left out.

Tests of input 40 have its number. Each frame of a capture is either read or left out.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.traffic import CaptureError, ReplayedFlow, collect_flows, read_packets

A, B = "10.0.0.1", "10.0.0.2"
ETHERNET, RAW, SLL, SLL2, LOOPBACK, PPP = 1, 101, 113, 276, 0, 9
SYN, PUSH, ACK, RST = 2, 8, 16, 4


def ip(
    source: str,
    target: str,
    protocol: int,
    body: bytes,
    *,
    ident: int = 0,
    fragment: int = 0,
    length: int | None = None,
    options: bytes = b"",
) -> bytes:
    size = 20 + len(options) + len(body) if length is None else length
    ends = [bytes(map(int, each.split("."))) for each in (source, target)]
    first = 0x45 + len(options) // 4
    head = struct.pack("!BBHHHBBH4s4s", first, 0, size, ident, fragment, 64, protocol, 0, *ends)
    return head + options + body


def udp(size: int, *, ports: tuple[int, int] = (5000, 5001), body: bytes = b"") -> bytes:
    return struct.pack("!HHHH", *ports, 8 + size, 7) + (body or bytes(size))


def tcp(sequence: int, size: int, flags: int = PUSH | ACK, *, source: str = A) -> bytes:
    ports = (1, 2) if source == A else (2, 1)
    head = struct.pack("!HHIIBBHHH", *ports, sequence % 2**32, 1, 0x50, flags, 999, 0, 0)
    return ip(source, B if source == A else A, 6, head + bytes(size))


def ethernet(packet: bytes, ethertype: bytes = b"\x08\x00") -> bytes:
    return bytes(12) + ethertype + packet


def ipv6(protocol: int, body: bytes, *, extensions: bytes = b"") -> bytes:
    head = struct.pack("!IHBB", 6 << 28, len(extensions) + len(body), protocol, 64)
    ends = bytes.fromhex("20010db8" + "0" * 23 + "1") + bytes.fromhex("20010db8" + "0" * 23 + "2")
    return head + ends + extensions + body


def pcap(packets: Sequence[tuple[float, bytes]], link_type: int = ETHERNET) -> bytes:
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type)
    for time, body in packets:
        moment = round(time * 10**6)
        data += struct.pack("<IIII", *divmod(moment, 10**6), len(body), len(body)) + body
    return data


def collect(
    data: bytes, nodes: dict[str, str] | None = None
) -> tuple[list[ReplayedFlow], dict[str, int]]:
    """Flows, and how often each reason to leave something out was given."""
    account = ImportAccount()
    flows = collect_flows(read_packets(data, account), nodes=nodes, account=account)
    left_out: dict[str, int] = {}
    for each in account.left_out:
        left_out[each.reason] = left_out.get(each.reason, 0) + each.count
    return flows, left_out


def sizes(data: bytes) -> list[list[int]]:
    return [[size for _, size in flow.rows] for flow in collect(data)[0]]


def segments(*each: tuple[float, int, int], source: str = A) -> list[tuple[float, bytes]]:
    return [(time, ethernet(tcp(number, size, source=source))) for time, number, size in each]


def test_40a_bytes_sent_again_count_once() -> None:
    flows, left_out = collect(pcap(segments((1, 1, 1000), (1.01, 1001, 1000), (1.05, 1, 1000))))
    assert [flow.rows for flow in flows] == [[(0, 2000)]]
    assert left_out == {"sent again, captured twice or keep-alives: all their bytes came before": 1}


@pytest.mark.parametrize(
    ("each", "total"),
    [
        # A retransmission that is cut otherwise overlaps: 500 old bytes and 500 new ones.
        (((0, 1, 1000), (0.1, 501, 1000)), 1500),
        # Of a segment that was lost before the capture, what comes later is new.
        (((0, 1, 1000), (0.01, 2001, 1000), (0.1, 1001, 1000)), 3000),
        # It covers a gap and both of its edges.
        (((0, 1, 1000), (0.01, 2001, 1000), (0.1, 501, 2000)), 3000),
        # Numbers wrap at 2^32.
        (((0, 2**32 - 500, 1000), (0.01, 500, 1000), (0.02, 2**32 - 500, 1000)), 2000),
        # RFC 9293 section 3.8.4: a keep-alive has the last byte again.
        (((0, 1, 1000), (0.1, 1000, 1), (0.15, 1000, 1)), 1000),
    ],
)
def test_40a_rfc_9293_s3_4_only_bytes_not_seen_before_are_new(
    each: tuple[tuple[float, int, int], ...], total: int
) -> None:
    assert sizes(pcap(segments(*each))) == [[total]]


def test_40a_a_repair_is_no_pause_and_no_transfer_of_its_own() -> None:
    # The loss is repaired after 1 s, and the sender goes on: it wrote all of it at once.
    each = ((0, 1, 1000), (0.01, 2001, 1000), (1.0, 1001, 1000), (1.05, 3001, 1000))
    flows, _ = collect(pcap(segments(*each)))
    assert [flow.rows for flow in flows] == [[(0, 4000)]]
    # Sent again after the other side answered: the answer is one transfer, not two.
    frames = segments((0, 1, 100)) + segments((0.1, 1, 500), source=B)
    frames += segments((0.15, 1, 100)) + segments((0.2, 501, 500), source=B)
    assert sizes(pcap(frames)) == [[100], [1000]]


def test_40a_a_new_connection_of_the_same_ports_begins_again() -> None:
    frames = [
        (0.0, ethernet(tcp(100, 0, SYN))), (0.01, ethernet(tcp(101, 50))),
        (1.0, ethernet(tcp(40, 0, SYN))), (1.01, ethernet(tcp(40, 0, SYN))),
        (1.02, ethernet(tcp(41, 70))), (1.03, ethernet(tcp(111, 9, RST))),
    ]  # fmt: skip
    flows, left_out = collect(pcap(frames))
    assert [size for _, size in flows[0].rows] == [50, 70]
    assert left_out == {"without data": 3, "they reset a connection": 1}


def test_40a_what_a_capture_on_any_has_twice_counts_once() -> None:
    packets = [(i / 50, ip(A, B, 17, udp(100), ident=100 + i)) for i in range(3)]
    twice = [entry for time, packet in packets for entry in ((time, packet), (time + 1e-4, packet))]
    flows, left_out = collect(pcap(twice, RAW))
    assert [flow.rows for flow in flows] == [[(0, 128), (20_000_000, 128), (40_000_000, 128)]]
    assert left_out == {"captured twice: the same identification and checksum within 10 ms": 3}
    # Without an identification nothing tells two equal datagrams from one.
    plain = [(i / 1000, ip(A, B, 17, udp(100))) for i in range(3)]
    assert sizes(pcap(plain, RAW)) == [[128] * 3]


def test_40b_rfc_791_fragments_are_packets_of_their_flow() -> None:
    # 2000 B of UDP in 1480 B, with the header, and 528 B; the second fragment comes first.
    first = ip(A, B, 17, udp(2000)[:1480], ident=7, fragment=0x2000)
    second = ip(A, B, 17, bytes(528), ident=7, fragment=1480 // 8)
    for frames in ([(0, first), (0.001, second)], [(0, second), (0.001, first)]):
        flows, left_out = collect(pcap(frames, RAW))
        assert sorted(size for _, size in flows[0].rows) == [548, 1500]
        assert left_out == {}
    _, left_out = collect(pcap([(0, second)], RAW))
    assert left_out == {"the first of their packet is not in the capture": 1}


def test_40b_fragments_of_tcp_have_their_place_among_its_bytes() -> None:
    full = tcp(1, 2000)[20:]
    frames = [
        (0, ip(A, B, 6, full[:1480], ident=7, fragment=0x2000)),
        (0.001, ip(A, B, 6, full[1480:], ident=7, fragment=1480 // 8)),
        (0.1, tcp(1, 2000)),
    ]
    assert sizes(pcap(frames, RAW)) == [[2000]]


def test_40c_a_length_of_zero_is_that_of_the_frame() -> None:
    def large(number: int) -> bytes:
        return ethernet(ip(A, B, 6, tcp(number, 4380)[20:], length=0))

    frames = [(i / 1000, large(1 + 4380 * i)) for i in range(3)]
    assert sizes(pcap(frames)) == [[13_140]]


def test_40d_a_packet_of_which_little_was_captured_has_its_own_length() -> None:
    packet = ethernet(ip(A, B, 17, udp(1000)))
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, ETHERNET)
    data += struct.pack("<IIII", 0, 0, 96, len(packet)) + packet[:96]
    assert sizes(data) == [[1028]]
    short = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 20, ETHERNET)
    short += struct.pack("<IIII", 0, 0, 20, len(packet)) + packet[:20]
    assert collect(short) == ([], {"too little of it was captured": 1})


PACKET = ip(A, B, 17, udp(172))
SIX = ipv6(17, udp(100))
LABELS = struct.pack(">II", 100 << 12 | 64, 101 << 12 | 0x100 | 64)


@pytest.mark.parametrize(
    ("frame", "link_type", "size"),
    [
        (PACKET, RAW, 200),
        (bytes(14) + b"\x08\x00" + PACKET, SLL, 200),
        (b"\x08\x00" + bytes(18) + PACKET, SLL2, 200),
        (struct.pack("<I", 2) + PACKET, LOOPBACK, 200),
        (b"\xff\x03\x00\x21" + PACKET, PPP, 200),
        (ethernet(b"\x00\x05\x81\x00\x00\x06\x08\x00" + PACKET, b"\x88\xa8"), ETHERNET, 200),
        (ethernet(LABELS + PACKET, b"\x88\x47"), ETHERNET, 200),
        (ethernet(LABELS + bytes(4) + ethernet(PACKET), b"\x88\x47"), ETHERNET, 200),
        (
            ethernet(
                b"\x11\x00\x00\x01" + struct.pack("!H", 202) + b"\x00\x21" + PACKET, b"\x88\x64"
            ),
            ETHERNET,
            200,
        ),
        (ethernet(SIX, b"\x86\xdd"), ETHERNET, 148),
        (SIX, RAW, 148),
        (ipv6(0, udp(100), extensions=b"\x11\x00" + bytes(6)), RAW, 156),
        (ip(A, B, 17, udp(172), options=bytes(8)), RAW, 208),
    ],
    ids=[
        *("raw", "sll", "sll2", "loopback", "ppp", "qinq", "mpls", "pseudowire", "pppoe", "ipv6"),
        *("raw6", "hop-by-hop", "options"),
    ],
)
def test_40e_40g_40h_whatever_is_around_a_packet(frame: bytes, link_type: int, size: int) -> None:
    flows, left_out = collect(pcap([(0, frame)], link_type))
    assert [flow.rows for flow in flows] == [[(0, size)]]
    assert left_out == {}


def test_40h_nodes_of_ipv6_have_names_that_a_scenario_takes() -> None:
    ((flow,), _) = collect(pcap([(0, SIX)], RAW))
    assert (flow.source, flow.target) == ("v6-2001-db8--1", "v6-2001-db8--2")
    named = {"2001:db8::1": "S", "2001:db8::2": "D"}
    ((flow,), _) = collect(pcap([(0, SIX)], RAW), named)
    assert (flow.source, flow.target) == ("S", "D")


INNER = ip("192.168.0.1", "192.168.0.2", 17, udp(72))
GENEVE = b"\x01\x00\x65\x58" + bytes(8)


@pytest.mark.parametrize(
    ("outer", "tunnel"),
    [
        (ip(A, B, 47, b"\x00\x00\x08\x00" + INNER), "GRE"),
        (ip(A, B, 47, b"\x20\x00\x65\x58" + bytes(4) + ethernet(INNER)), "GRE"),
        (ip(A, B, 4, INNER), "IP in IP"),
        (ip(A, B, 17, udp(0, ports=(9, 4789), body=b"\x08" + bytes(7) + ethernet(INNER))), "VXLAN"),
        (ip(A, B, 17, udp(0, ports=(9, 6081), body=GENEVE + ethernet(INNER))), "Geneve"),
    ],
)
def test_the_packets_inside_a_tunnel_are_the_flows(outer: bytes, tunnel: str) -> None:
    account = ImportAccount()
    (packet,) = read_packets(pcap([(0, outer)], RAW), account)
    assert (packet.source, packet.ip_bytes) == ("192.168.0.1", 100)
    assert [each.element for each in account.assumed] == [tunnel]


def test_a_tunnel_around_something_else_is_udp_itself() -> None:
    outer = ip(A, B, 17, udp(0, ports=(9, 4789), body=b"\x08" + bytes(7) + bytes(64)))
    account = ImportAccount()
    (packet,) = read_packets(pcap([(0, outer)], RAW), account)
    assert packet.source == A
    assert account.assumed == ()


def test_what_is_no_udp_or_tcp_is_counted_with_its_name() -> None:
    frames = [
        (0, ethernet(bytes(28), b"\x08\x06")), (0, ethernet(ip(A, B, 1, bytes(8)))),
        (0, ethernet(ip(A, B, 50, bytes(40)))), (0, ethernet(ip(A, B, 89, bytes(44)))),
        (0, ethernet(bytes(60), b"\x00\x26")), (0, ethernet(bytes(60), b"\x88\xcc")),
    ]  # fmt: skip
    flows, left_out = collect(pcap(frames))
    assert flows == []
    assert left_out == {
        "ARP: no IP": 1,
        "ICMP: neither UDP nor TCP": 1,
        "ESP: neither UDP nor TCP": 1,
        "OSPF: neither UDP nor TCP": 1,
        "IEEE 802.3 with LLC: no IP": 1,
        "LLDP: no IP": 1,
    }
    _, left_out = collect(pcap([(0, bytes(60))], 127))
    assert next(iter(left_out)).startswith("link type 127; read are Ethernet")


def test_each_frame_is_either_read_or_left_out() -> None:
    frames = [(0, ethernet(PACKET)), (0, ethernet(bytes(28), b"\x08\x06"))]
    frames += [(0, bytes([first]) * 40) for first in range(256)]
    frames += [(0, ethernet(bytes([first]) * 40)) for first in range(256)]
    account = ImportAccount()
    packets = list(read_packets(pcap(frames), account))
    counts = [
        sum(each.count for each in part if each.element == "frames")
        for part in (account.read, account.left_out)
    ]
    assert sum(counts) == len(frames)
    assert counts[0] == len(packets) == 1


def test_draft_pcapng_s4_other_blocks_are_counted_and_times_have_their_offset() -> None:
    def block(kind: int, body: bytes) -> bytes:
        length = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + length + body + length

    data = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    offset = struct.pack("<HHq", 14, 8, 5) + bytes(4)
    data += block(1, struct.pack("<HHI", RAW, 0, 0) + offset)
    data += block(5, bytes(12)) + block(3, struct.pack("<I", 4) + bytes(4))
    data += block(2, struct.pack("<HHIIII", 0, 0, 0, 7, 200, 200) + PACKET)
    account = ImportAccount()
    (packet,) = read_packets(data, account)
    assert packet.time_ns == 5 * 10**9 + 7000
    assert [(each.element, each.reason) for each in account.left_out] == [
        ("blocks of type 0x5", "no packets: statistics"),
        ("simple packet blocks", "they have no time"),
    ]


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(("pcap", "pcapng")),
    edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=6),
    cut=st.integers(0, 300),
)
def test_a_damaged_capture_is_read_or_refused(
    name: str, edits: list[tuple[float, int]], cut: int
) -> None:
    frames = [
        (0.1, ethernet(PACKET)),
        (0.2, ethernet(SIX, b"\x86\xdd")),
        (0.3, ethernet(tcp(1, 50))),
    ]
    frames += segments((0.4, 51, 50), (0.5, 1, 50))
    data = bytearray(pcap(frames) if name == "pcap" else pcapng(frames))
    for place, value in edits:
        data[int(place * (len(data) - 1))] = value
    account = ImportAccount()
    try:
        flows = collect_flows(
            read_packets(bytes(data[: len(data) - cut]), account), account=account
        )
    except CaptureError:
        return
    assert all(size > 0 for flow in flows for _, size in flow.rows)


def pcapng(packets: Sequence[tuple[float, bytes]]) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + length + body + length

    data = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    data += block(1, struct.pack("<HHI", ETHERNET, 0, 0))
    for time, body in packets:
        moment = round(time * 10**6)
        head = struct.pack("<IIIII", 0, moment >> 32, moment & 0xFFFFFFFF, len(body), len(body))
        data += block(6, head + body)
    return data

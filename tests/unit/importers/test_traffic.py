"""Captures and records of flows, byte by byte after the drafts of pcap and pcapng."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

import trunkline as tl
from trunkline.importers import ImportFault
from trunkline.importers.common.account import ImportAccount
from trunkline.importers.traffic import (
    CaptureError,
    collect_flows,
    prove_flows,
    read_packets,
)

A, B = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])


def ip(source: bytes, target: bytes, protocol: int, above: bytes) -> bytes:
    length = 20 + len(above)
    head = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0, 64, protocol, 0)
    return head + source + target + above


def udp(source: bytes, target: bytes, size: int) -> bytes:
    return ip(source, target, 17, struct.pack(">HHHH", 5000, 6000, size - 20, 0) + bytes(size - 28))


def tcp(
    source: bytes, target: bytes, payload: int, ports: tuple[int, int], sequence: int = 0
) -> bytes:
    head = struct.pack(">HHIIBBHHH", *ports, sequence, 0, 0x50, 0x10, 0, 0, 0)
    return ip(source, target, 6, head + bytes(payload))


def ethernet(packet: bytes, *, tags: bytes = b"") -> bytes:
    return bytes(12) + (tags or b"\x08\x00") + packet


def pcap(frames: list[tuple[int, bytes]], *, order: str = "<", nano: bool = False) -> bytes:
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    made = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65_535, 1)
    for time_ns, frame in frames:
        part = time_ns % 10**9 // (1 if nano else 1000)
        made += struct.pack(f"{order}IIII", time_ns // 10**9, part, len(frame), len(frame)) + frame
    return made


def pcapng(frames: list[tuple[int, bytes]], *, order: str = "<", resolution: int = 9) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = struct.pack(f"{order}I", len(body) + 12)
        return struct.pack(f"{order}I", kind) + length + body + length

    made = block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
    option = struct.pack(f"{order}HHB3xHH", 9, 1, resolution, 0, 0)
    made += block(1, struct.pack(f"{order}HHI", 1, 0, 0) + option)
    for time_ns, frame in frames:
        ticks = time_ns * 10**resolution // 10**9
        head = struct.pack(
            f"{order}IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame)
        )
        made += block(6, head + frame)
    return made


FRAMES = [(10**18 + 1000, ethernet(udp(A, B, 200))), (10**18 + 2_001_000, ethernet(udp(A, B, 60)))]


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcap_and_pcapng_of_both_byte_orders_give_the_same(order: str) -> None:
    files = [
        pcap(FRAMES, order=order),
        pcap(FRAMES, order=order, nano=True),
        pcapng(FRAMES, order=order),
        pcapng(FRAMES, order=order, resolution=6),
    ]
    for data in files:
        (flow,) = collect_flows(read_packets(data), nodes={"10.0.0.1": "S", "10.0.0.2": "D"})
        assert flow.rows == [(0, 200), (2_000_000, 60)]
        assert (flow.name, flow.source, flow.target) == ("udp-1", "S", "D")
        assert flow.key == ("10.0.0.1", "10.0.0.2", 17, 5000, 6000)


def test_tags_and_labels_are_passed_over() -> None:
    vlan = b"\x81\x00\x00\x05\x08\x00"
    # Two labels, the second the bottom (RFC 3032 section 2.1).
    labels = b"\x88\x47" + struct.pack(">II", 100 << 12 | 64, 101 << 12 | 0x100 | 64)
    for tags in (vlan, labels):
        (packet,) = read_packets(pcap([(0, ethernet(udp(A, B, 100), tags=tags))]))
        assert (packet.source, packet.ip_bytes, packet.payload) == ("10.0.0.1", 100, 72)


def test_tcp_is_parted_by_pauses_and_by_answers() -> None:
    there, back = (A, B, (40_000, 80)), (B, A, (80, 40_000))

    sent = {there: 0, back: 0}

    def at(ms: int, way: tuple[bytes, bytes, tuple[int, int]], size: int) -> tuple[int, bytes]:
        sent[way] += size
        return ms * 10**6, ethernet(tcp(way[0], way[1], size, way[2], sent[way] - size))

    # A request, an answer of two segments, acknowledgements without data, and after 500 ms more.
    frames = [
        at(0, there, 300), at(20, back, 1460), at(21, back, 540), at(22, there, 0),
        at(40, there, 100), at(60, back, 700), at(600, back, 50),
    ]  # fmt: skip
    request, answer = collect_flows(read_packets(pcap(frames)))
    assert request.rows == [(0, 300), (40_000_000, 100)]
    assert answer.rows == [(20_000_000, 2000), (60_000_000, 700), (600_000_000, 50)]
    assert answer.to_dict()["transfers"] == {"arrivals": "schedule", "schedule": "tcp-2.csv"}


def test_flows_that_no_scenario_takes_are_refused() -> None:
    flows = collect_flows(read_packets(pcap(FRAMES)), nodes={"10.0.0.1": "S", "10.0.0.2": "D"})
    prove_flows(flows)
    flows = collect_flows(read_packets(pcap(FRAMES)), nodes={"10.0.0.1": "a b", "10.0.0.2": "D"})
    with pytest.raises(ImportFault, match="a name is made of letters"):
        prove_flows(flows)
    # 2^62 ns after the first packet: 146 years.
    far = [(0, FRAMES[0][1]), (2**62, FRAMES[0][1])]
    flows = collect_flows(read_packets(pcapng(far)), nodes={"10.0.0.1": "S", "10.0.0.2": "D"})
    with pytest.raises(ImportFault, match="a time must be from 0 s to 100 years"):
        prove_flows(flows)


def test_damaged_files_are_told_apart() -> None:
    damaged = bytearray(pcapng(FRAMES))
    damaged[28 + 4] = 5  # The length of the second block.
    for data in (b"", b"text", pcap(FRAMES)[:20], bytes(damaged)):
        with pytest.raises(CaptureError):
            list(read_packets(data))
    with pytest.raises(CaptureError, match="it is compressed: gunzip it first"):
        list(read_packets(b"\x1f\x8b\x08\x00"))


@pytest.mark.parametrize("total", [pcap(FRAMES), pcapng(FRAMES)])
def test_a_last_record_that_is_cut_is_left_out(total: bytes) -> None:
    for cut in (1, 3, 40):
        account = ImportAccount()
        assert len(list(read_packets(total[:-cut], account))) == 1
        (entry,) = account.left_out
        assert (entry.element, entry.count) == ("last record", 1)
        assert "the file ends within it" in entry.reason


def test_what_a_run_captured_is_what_it_was_given(tmp_path: Path) -> None:
    text = """
trunkline: 1
nodes: [S, D]
links: {S-D: {rate: 10 Mbit/s, delay: 1 ms}}
flows: {u: {agent: udp, from: S, to: D, arrivals: poisson, rate: 1 Mbit/s, size: 500 B}}
run: {duration: 2 s, trace: true}
"""
    from trunkline.network import compile
    from trunkline.trace import write_capture

    scenario = tl.loads(text)
    results = tl.run(scenario)
    path = tmp_path / "run.pcapng"
    write_capture(results, json.loads(compile(scenario).to_json()), str(path), at=("S",))
    (flow,) = collect_flows(read_packets(path.read_bytes()))
    sent = [row for row in results.packets.rows() if row["event"] == "sent"]
    times = [int(str(row["time_ns"])) for row in sent]
    assert [size for _, size in flow.rows] == [500] * len(sent)
    # The capture has each packet at the start of its transmission, the trace when it was sent.
    assert len(flow.rows) == len(times)

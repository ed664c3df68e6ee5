"""What `import traffic` makes of captures, against tcptrace and tshark, which are not ours."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from trunkline.engine import simulate
from trunkline.importers.common.account import ImportAccount
from trunkline.importers.traffic import collect_flows, read_packets
from trunkline.network import compile
from trunkline.scenario import load
from trunkline.trace import write_capture

LOSSY = """
trunkline: 1
nodes: [S, R, D]
links:
  S-R: {rate: 100 Mbit/s, delay: 1 ms}
  R-D: {rate: 5 Mbit/s, delay: 15 ms, port: narrow}
ports:
  narrow: {queue: {limit: 20 packets}}
flows:
  tcp: {agent: tcp, variant: sack, from: S, to: D}
run: {duration: 8 s, trace: on}
"""


def run_tool(*command: object) -> str:
    words = [str(each) for each in command]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def need(*programs: str) -> None:
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed")


@pytest.mark.parametrize("place", ["S", "D"])
def test_a_transfer_with_losses_has_the_bytes_that_tcptrace_counts_once(
    place: str, tmp_path: Path
) -> None:
    need("tcptrace", "editcap")
    network = compile(load(LOSSY))
    results = simulate(network, seeds=[1])[0]
    capture, plain = tmp_path / "run.pcapng", tmp_path / "run.pcap"
    write_capture(results, json.loads(network.to_json()), str(capture), at=(place,))
    run_tool("editcap", "-F", "pcap", capture, plain)
    entries = run_tool("tcptrace", "-l", "-n", plain)
    pairs = dict(re.findall(r"^ *(\w[\w ]+): +(\d+) ", entries, re.M))
    for file in (capture, plain):
        account = ImportAccount()
        (flow,) = collect_flows(read_packets(file.read_bytes(), account), account=account)
        assert [size for _, size in flow.rows] == [int(pairs["unique bytes sent"])]
        again = [each.count for each in account.left_out if each.reason.startswith("sent again")]
        assert again == [int(pairs["rexmt data pkts"])] if place == "S" else again == []
    if place == "S":
        assert int(pairs["rexmt data pkts"]) > 10


A, B = b"\x0a\0\0\1", b"\x0a\0\0\2"


def ip(protocol: int, body: bytes) -> bytes:
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, protocol, 0)
    return head + A + B + body


def udp(port: int, body: bytes) -> bytes:
    return struct.pack(">HHHH", 40_000, port, 8 + len(body), 0) + body


INNER = ip(17, udp(40_001, bytes(72)))
ETHERNET = bytes(range(12)) + b"\x08\x00"
SIX = struct.pack(">IHBB", 6 << 28, 80, 17, 64) + bytes(15) + b"\x01" + bytes(15) + b"\x02"
FRAMES = {
    "plain": (1, ETHERNET + INNER),
    "vlan": (1, bytes(range(12)) + b"\x88\xa8\x00\x05\x81\x00\x00\x06\x08\x00" + INNER),
    "mpls": (1, bytes(range(12)) + b"\x88\x47\x00\x06\x40\x40\x00\x06\x51\x40" + INNER),
    "pppoe": (1, bytes(range(12)) + b"\x88\x64\x11\x00\x00\x01\x00\x66\x00\x21" + INNER),
    "ipv6": (1, bytes(range(12)) + b"\x86\xdd" + SIX + udp(40_001, bytes(72))),
    "gre": (1, ETHERNET + ip(47, b"\x20\x00\x08\x00" + bytes(4) + INNER)),
    "ipip": (1, ETHERNET + ip(4, INNER)),
    "vxlan": (1, ETHERNET + ip(17, udp(4789, b"\x08" + bytes(7) + ETHERNET + INNER))),
    "geneve": (1, ETHERNET + ip(17, udp(6081, b"\x00\x00\x65\x58" + bytes(4) + ETHERNET + INNER))),
    "sll": (113, bytes(14) + b"\x08\x00" + INNER),
    "sll2": (276, b"\x08\x00" + bytes(18) + INNER),
    "raw": (101, INNER),
    "ppp": (9, b"\xff\x03\x00\x21" + INNER),
}


@pytest.mark.parametrize("name", FRAMES)
def test_the_innermost_packet_is_the_one_that_tshark_shows(name: str, tmp_path: Path) -> None:
    need("tshark")
    link_type, frame = FRAMES[name]
    file = tmp_path / "one.pcap"
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, link_type)
    file.write_bytes(data + struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame)
    fields = ("-e", "udp.srcport", "-e", "udp.dstport", "-e", "udp.length")
    shown = run_tool("tshark", "-r", file, "-T", "fields", "-E", "occurrence=l", *fields)
    (packet,) = read_packets(file.read_bytes())
    assert [*packet.ports, packet.payload + 8] == [int(each) for each in shown.split()]

"""tshark, which is not ours, on every OSPF message of a run with a cut and a repair."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import trunkline as tl

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark not installed")

TEXT = """\
trunkline: 1
nodes: [S, A, B, C, T]
defaults: {link: {rate: 100 Mbit/s, delay: 2 ms}}
links: {S-A: {}, A-B: {}, B-T: {}, A-C: {metric: 300}, C-T: {}}
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B}}
failures: {cut: {link: B-T, at: 1 s, repair: 2 s}}
routing: {ospf: {hello: 1 s, lsa_interval: 0 s}}
run: {duration: 4 s, trace: true}
"""
RAW_IP = 101
OSPF = 89


def test_tshark_dissects_every_message_with_its_checksum(tmp_path: Path) -> None:
    results = tl.run(tl.load(TEXT))
    messages = [bytes.fromhex(row["octets"]) for row in results.tables["messages"].rows()]
    capture = tmp_path / "ospf.pcap"
    with capture.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, RAW_IP))
        for number, octets in enumerate(messages):
            size = 20 + len(octets)
            ends = (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
            header = struct.pack(">BBHHHBBH4s4s", 0x45, 0xC0, size, 0, 0, 1, OSPF, 0, *ends)
            file.write(struct.pack("<IIII", number, 0, size, size) + header + octets)
    command = ["tshark", "-V", "-r", capture]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    kinds = Counter(re.findall(r"Message Type: (.+) \(\d\)", output))
    sent: Counter[str] = Counter()
    for row in results.tables["control"].rows():
        sent[row["message"]] += row["messages"]
    names = {
        "Hello Packet": "Hello",
        "LS Update": "LS Update",
        "LS Acknowledge": "LS Acknowledgment",
    }
    assert {names[kind]: number for kind, number in kinds.items()} == sent
    assert sum(sent.values()) == len(messages) > 50
    assert len(re.findall(r"Checksum: 0x[0-9a-f]{4} \[correct\]", output)) == len(messages)
    assert "Malformed" not in output
    assert "Metric: 300" in output

"""`trunkline schedule` and `trunkline import`."""

from __future__ import annotations

import json
import struct
from pathlib import Path

SCENARIO = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s}}
flows:
  x: {agent: udp, from: A, to: B, rate: 400 kbit/s, size: 500 B, start: 1 s}
  t: {agent: tcp, from: A, to: B}
run: {duration: 1.05 s}
"""


def test_a_schedule_counts_from_the_flows_start(trunkline, tmp_path: Path) -> None:
    # 500 B at 400 kbit/s: every 10 ms.
    (tmp_path / "s.yaml").write_text(SCENARIO)
    done = trunkline("schedule", "s.yaml", "--flow", "x", "--out", "x.csv")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[:3] == ["time,size", "0 ns,500 B", "10000000 ns,500 B"]
    assert len(lines) == 6
    again = trunkline("schedule", "s.yaml", "--flow", "x", "--out", "x.csv")
    assert (again.returncode, "x.csv exists" in again.stderr) == (2, True)
    printed = trunkline("schedule", "s.yaml", "--flow", "x")
    assert printed.stdout.splitlines() == lines


def test_a_tcp_flow_has_no_schedule(trunkline, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    done = trunkline("schedule", "s.yaml", "--flow", "t")
    assert done.returncode == 2
    assert "flow t is a TCP flow" in done.stderr


def test_tcng_becomes_ports_or_an_error_with_its_place(trunkline, tmp_path: Path) -> None:
    (tmp_path / "good.tcng").write_text("eth0 fifo (limit 20p)\n")
    (tmp_path / "bad.tcng").write_text("eth0 fifo (limit 20p)\neth1 hfsc\n")
    good = trunkline("import", "tcng", "good.tcng")
    assert good.stdout == (
        "# eth0: one queue of 20 packets\n# read: statements 1\n"
        "ports:\n  eth0:\n    queue:\n      limit: 20 packets\n"
    )
    bad = trunkline("import", "tcng", "bad.tcng")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith(
        "bad.tcng:2:6: error[import]: there is no queueing discipline hfsc here; nearest: htb; "
    )


def test_tc_is_explained_or_handed_on_as_json(trunkline, tmp_path: Path) -> None:
    script = "tc qdisc add dev eth0 root handle 1: prio bands 2\nmodprobe x\n"
    script += "tc filter add dev eth0 parent 1: prio 1 u32 match ip src 10.0.0.1 flowid 1:1\n"
    script += "tc filter add dev eth0 parent 1: prio 2 u32 match ip dport 80 0xffff flowid 1:2\n"
    (tmp_path / "a.tc").write_text(script)
    known = ("--node", "10.0.0.1=A", "--port", "80=x")
    output = trunkline("import", "tc", "a.tc", "--explain", *known)
    assert "eth0: source A joins class-1-1" in output.stdout.splitlines()
    assert "left out: modprobe x (line 2): modules are the kernel's" in output.stdout.splitlines()
    data = json.loads(trunkline("import", "tc", "a.tc", "--json", *known).stdout)
    assert set(data) == {"schema", "ports", "conditioners", "words", "account"}
    assert data["account"]["left_out"] == [
        {"element": "modprobe x", "count": 1, "reason": "modules are the kernel's", "line": 2}
    ]
    strict = trunkline("import", "tc", "a.tc", "--strict", *known)
    assert (strict.returncode, strict.stdout) == (2, "")
    assert strict.stderr.startswith("a.tc:2:1: error[import]: left out: modprobe x")
    unknown = trunkline("import", "tc", "a.tc")
    assert unknown.returncode == 2
    assert "no node is known by 10.0.0.1" in unknown.stderr
    wrong = trunkline("import", "tc", "a.tc", "--node", "A")
    assert (wrong.returncode, "--node takes ADDRESS=NODE" in wrong.stderr) == (2, True)
    wrong = trunkline("import", "tc", "a.tc", "--port", f"{'1' * 5000}=x")
    assert (wrong.returncode, "--port takes NUMBER=FLOW" in wrong.stderr) == (2, True)


def test_an_unknown_discipline_cannot_write_to_the_terminal(trunkline, tmp_path: Path) -> None:
    (tmp_path / "a.tc").write_text("tc qdisc add dev eth0 root s\x1b[31mfq\n")
    done = trunkline("import", "tc", "a.tc")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr


def test_a_capture_is_explained_and_its_account_heads_the_flows(trunkline, tmp_path: Path) -> None:
    def segment(number: int) -> bytes:
        head = struct.pack("!HHIIBBHHH", 1, 2, number, 1, 0x50, 0x18, 999, 0, 0) + bytes(100)
        ends = bytes([10, 0, 0, 1, 10, 0, 0, 2])
        return struct.pack("!BBHHHBBH", 0x45, 0, 140, 0, 0, 64, 6, 0) + ends + head

    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for packet in (segment(1), segment(101), segment(1)):
        data += struct.pack("<IIII", 1, 0, len(packet), len(packet)) + packet
    (tmp_path / "a.pcap").write_bytes(data)
    nodes = ("--node", "10.0.0.1=A", "--node", "10.0.0.2=B")
    output = trunkline("import", "traffic", "a.pcap", "--explain", *nodes).stdout.splitlines()
    assert output[:2] == ["read: frames (3)", "read: TCP segments (2): bytes of transfers"]
    again = "TCP segments: sent again, captured twice or keep-alives: all their bytes came before"
    assert output[2:] == [f"left out: {again}"]
    strict = trunkline("import", "traffic", "a.pcap", "-o", "out", "--strict", *nodes)
    assert (strict.returncode, (tmp_path / "out").exists()) == (2, False)
    assert strict.stderr == f"a.pcap: error[import]: left out: {again}\n"
    done = trunkline("import", "traffic", "a.pcap", "-o", "out", *nodes)
    assert done.stderr.startswith("1 element of the file left out; --explain lists them")
    text = (tmp_path / "out" / "flows.yaml").read_text()
    assert text.startswith(f"# read: frames 3, TCP segments 2\n# left out: {again}\n# tcp-1: ")
    assert (tmp_path / "out" / "tcp-1.csv").read_text() == "time,size\n0 ns,200 B\n"
    alone = trunkline("import", "traffic", "a.pcap", "--node", "10.0.0.1=A", "-o", "other")
    assert alone.returncode == 2
    reason = "no UDP or TCP between two nodes; TCP segments (3): no --node for their addresses"
    assert f"error[import]: {reason}" in alone.stderr
    assert trunkline("import", "traffic", "a.pcap").returncode == 2


def test_records_are_explained_and_strict_refuses_columns_that_say_nothing(
    trunkline, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("from;to;bytes;sampling;port\nA;B;3750;10;5\n")
    over = ("--over", "5 min")
    assert trunkline("import", "records", "a.csv", *over).stdout == "from,to,rate\nA,B,1000 bit/s\n"
    output = trunkline("import", "records", "a.csv", "--explain", *over).stdout.splitlines()
    assert "left out: column port (line 1): not used by this import" in output
    strict = trunkline("import", "records", "a.csv", "--strict", *over)
    assert (strict.returncode, strict.stdout) == (2, "")
    other = trunkline("import", "records", "a.csv", "--sampling", "100", *over)
    assert other.stdout == "from,to,rate\nA,B,10000 bit/s\n"

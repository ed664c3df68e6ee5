"""What tshark, which is not ours, makes of our captures, against the tables of the same run.

Where the definitions differ: tshark calls a segment a retransmission if its number is below the
highest one seen and then tells plain, fast, spurious and out-of-order apart by time; ours is one if
the sender sent it before. So they are compared as a sum, at the sender, where nothing overtakes. A
duplicate acknowledgement is to both one without data that repeats the last number.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import Scenario, load
from trunkline.trace import write_capture

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

GOOD = "1"  # status of a checksum
FIELDS = (
    "frame.number",
    "frame.time_epoch",
    "frame.interface_name",
    "frame.len",
    "frame.comment",
    "mpls.label",
    "mpls.exp",
    "mpls.ttl",
    "mpls.bottom",
    "ip.dsfield.dscp",
    "ip.dsfield.ecn",
    "ip.ttl",
    "ip.len",
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
    "tcp.flags.ece",
    "tcp.flags.cwr",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.lost_segment",
    "tcp.analysis.ack_lost_segment",
    "tcp.option.len.invalid",
    "_ws.malformed",
    "_ws.short",
)
BOTTLENECK = """
trunkline: 1
nodes: [S, R, D]
links:
  S-R: {{rate: 100 Mbit/s, delay: 1 ms}}
  R-D: {{rate: 5 Mbit/s, delay: 15 ms, port: narrow}}
ports:
  narrow: {{queue: {{limit: 20 packets{aqm}}}}}
flows:
  tcp: {{agent: tcp, variant: {variant}, from: S, to: D, dscp: AF11{keys}}}
run: {{duration: 8 s, trace: on}}
"""


def captured(
    scenario: Scenario, folder: Path, at: tuple[str, ...] = ()
) -> tuple[Results, list[dict[str, str]]]:
    """A run, and what tshark says of each packet of its capture."""
    network = compile(scenario)
    results = simulate(network, seeds=[1])[0]
    path = folder / "run.pcapng"
    written = write_capture(results, json.loads(network.to_json()), path, at=at)
    packets = dissected(path)
    assert len(packets) == written
    return results, packets


def dissected(path: Path) -> list[dict[str, str]]:
    """Every packet by the fields above, with all checksums checked."""
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "header=y", "-E", "quote=d"]
    command += ["-E", "separator=,", "-E", "aggregator= "]
    for protocol in ("ip", "tcp", "udp"):
        command += ["-o", f"{protocol}.check_checksum:TRUE"]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "appears to" not in done.stderr, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def assert_no_complaint(packets: list[dict[str, str]]) -> None:
    """Checksums are right, and nothing is cut, malformed or of a wrong length."""
    for packet in packets:
        assert packet["ip.checksum.status"] == GOOD
        assert GOOD in (packet["tcp.checksum.status"], packet["udp.checksum.status"])
        faults = ("_ws.malformed", "_ws.short", "tcp.option.len.invalid")
        assert not any(packet[fault] for fault in faults), packet


def ns(packet: dict[str, str]) -> int:
    """Time of a packet."""
    seconds, _, fraction = packet["frame.time_epoch"].partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0"))


def rows(results: Results, **wanted: Any) -> list[dict[str, Any]]:
    """Rows of the packets table that have these values."""
    listed = results.packets.rows()
    return [row for row in listed if all(row[name] == value for name, value in wanted.items())]


@pytest.mark.parametrize("variant", ["tahoe", "reno", "new-reno", "sack"])
def test_analysis_at_the_sender_finds_our_retransmissions_and_duplicates(
    variant: str, tmp_path: Path
) -> None:
    text = BOTTLENECK.format(variant=variant, aqm="", keys="")
    results, packets = captured(load(text), tmp_path, ("S",))
    assert_no_complaint(packets)
    kinds = ("tcp.analysis.retransmission", "tcp.analysis.out_of_order")
    again = sum(any(packet[kind] for kind in kinds) for packet in packets)
    assert again == results.flows["retransmissions"][0] > 10
    fast = sum(bool(packet["tcp.analysis.fast_retransmission"]) for packet in packets)
    assert fast >= results.flows["fast_retransmits"][0] >= 1
    duplicates, last = 0, 0
    for row in rows(results, event="arrived", direction="reverse", link="R->S"):
        duplicates += row["ack"] == last
        last = row["ack"]
    found = sum(bool(packet["tcp.analysis.duplicate_ack"]) for packet in packets)
    assert found == duplicates > 20
    # It misses nothing and sees no acknowledgement of what was never sent.
    lost = ("tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment")
    assert not any(packet[kind] for packet in packets for kind in lost)


def test_sequence_acknowledgement_and_sack_are_the_bytes_of_the_tables(tmp_path: Path) -> None:
    text = BOTTLENECK.format(variant="sack", aqm="", keys=", mss: 1000 B")
    results, packets = captured(load(text), tmp_path, ("S",))
    sent = rows(results, event="queued", link="S->R")
    out = [packet for packet in packets if packet["frame.interface_name"] == "S->R"]
    assert [int(packet["tcp.seq_raw"]) for packet in out] == [1 + row["seq_bytes"] for row in sent]
    assert {packet["tcp.len"] for packet in out} == {"1000"}
    assert [ns(packet) for packet in out] == [row["time_ns"] + row["wait_ns"] for row in sent]
    came = rows(results, event="arrived", link="R->S")
    back = [packet for packet in packets if packet["frame.interface_name"] == "R->S in"]
    assert [int(packet["tcp.ack_raw"]) for packet in back] == [1 + row["ack_bytes"] for row in came]
    assert [ns(packet) for packet in back] == [row["time_ns"] for row in came]
    blocks = 0
    for packet, row in zip(back, came, strict=True):
        edges = zip(
            packet["tcp.options.sack_le"].split(),
            packet["tcp.options.sack_re"].split(),
            strict=True,
        )
        # 1 + 1000 times the segments of the table; an edge in the file is relative to nothing.
        found = " ".join(f"{(int(a) - 1) // 1000}-{(int(b) - 1) // 1000}" for a, b in edges)
        assert found == (row["sack"] or "")
        blocks += len(found.split())
    assert blocks > 20


def test_label_stacks_code_points_and_times_equal_the_tables(root: Path, tmp_path: Path) -> None:
    overrides = {"run.trace": "on", "run.duration": "1 s"}
    scenario = load(root / "python/trunkline/examples" / "label-stack.yaml", overrides=overrides)
    results, packets = captured(scenario, tmp_path)
    assert_no_complaint(packets)
    queued = [row for row in rows(results, event="queued") if row["wait_ns"] is not None]
    queued.sort(key=lambda row: row["time_ns"] + row["wait_ns"])
    assert len(queued) == len(packets) > 1000
    depths = set()
    for packet, row in zip(packets, queued, strict=True):
        entries = zip(
            *(packet[f"mpls.{part}"].split() for part in ("label", "exp", "ttl")), strict=True
        )
        assert " ".join("/".join(entry) for entry in entries) == (row["stack"] or "")
        bottoms = packet["mpls.bottom"].split()
        assert bottoms == ["0"] * (len(bottoms) - 1) + ["1"] * bool(bottoms)
        assert ns(packet) == row["time_ns"] + row["wait_ns"]
        assert packet["frame.interface_name"] == row["link"]
        assert int(packet["ip.ttl"]) == row["ttl"]
        assert int(packet["ip.len"]) == row["ip_bytes"]
        assert int(packet["frame.len"]) == 14 + 4 * row["labels"] + row["ip_bytes"]
        depths.add(row["labels"])
    assert depths == {0, 1, 2, 3, 4}


def test_marks_of_diffserv_mpls_and_ecn_are_in_the_headers(root: Path, tmp_path: Path) -> None:
    """Traffic classes by DSCP on the trunks' labels; CE where RED marks; ECE and CWR in answer."""
    overrides = {"run.trace": "on", "run.duration": "1 s", "run.warm_up": "0 s"}
    results, packets = captured(
        load(root / "python/trunkline/examples" / "trunks.yaml", overrides=overrides), tmp_path
    )
    assert_no_complaint(packets)
    seen = sorted((packet["mpls.exp"], packet["ip.dsfield.dscp"]) for packet in packets)
    made = sorted(
        (" ".join(entry.split("/")[1] for entry in (row["stack"] or "").split()), code(row["dscp"]))
        for row in results.packets.rows()
        if (row["event"] == "queued" and row["wait_ns"] is not None)
        or (row["event"] == "dropped" and row["link"] is not None)
    )
    assert seen == made
    aqm = ", aqm: {kind: red, min_th: 3 packets, max_th: 12 packets, max_p: 0.1, w_q: 0.02}"
    text = BOTTLENECK.format(variant="new-reno", aqm=aqm, keys=", ecn: on")
    results, packets = captured(load(text), tmp_path, ("R->D", "D->R", "S->R"))
    assert_no_complaint(packets)
    marked = sum(packet["ip.dsfield.ecn"] == "3" for packet in packets)
    assert marked == len(rows(results, event="queued", link="R->D", ecn="CE")) > 5
    echoes = sum(packet["tcp.flags.ece"] in ("1", "True") for packet in packets)
    assert (
        echoes
        == len([r for r in rows(results, event="queued", link="D->R") if "ECE" in r["tcp_flags"]])
        > 5
    )
    reduced = sum(packet["tcp.flags.cwr"] in ("1", "True") for packet in packets)
    links = ("S->R", "R->D")
    queued = [row for row in rows(results, event="queued") if row["link"] in links]
    assert reduced == len([row for row in queued if "CWR" in row["tcp_flags"]]) > 2


def code(name: str) -> str:
    """Number of a DSCP."""
    from trunkline.results import dscp

    return next(str(value) for value in range(64) if dscp.name_code_point(value) == name)


def test_a_comment_tells_queue_wait_and_fate(tmp_path: Path) -> None:
    text = BOTTLENECK.format(variant="new-reno", aqm="", keys="")
    results, packets = captured(load(text), tmp_path, ("R->D",))
    dropped = rows(results, event="dropped", link="R->D")
    lines = [packet for packet in packets if "dropped: queue_full" in packet["frame.comment"]]
    assert [ns(packet) for packet in lines] == [row["time_ns"] for row in dropped]
    assert len(lines) == sum(results.drops["packets"]) > 10
    waits = {row["packet"]: row["wait_ns"] for row in rows(results, event="queued", link="R->D")}
    for packet in packets:
        if packet not in lines:
            words = packet["frame.comment"].split("; ")
            number = int(words[0].rpartition(" ")[2])
            assert words[2] == f"waited {waits[number] // 1000}.{waits[number] % 1000:03} us"


def test_the_same_run_gives_the_same_bytes_and_a_snapshot_length_cuts(tmp_path: Path) -> None:
    network = compile(load(BOTTLENECK.format(variant="reno", aqm="", keys="")))
    compiled = json.loads(network.to_json())
    files = []
    for name in ("a", "b"):
        results = simulate(network, seeds=[1])[0]
        write_capture(results, compiled, tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]
    write_capture(results, compiled, tmp_path / "cut", snaplen=54)
    total, cut = dissected(tmp_path / "a"), dissected(tmp_path / "cut")
    for field in ("frame.len", "frame.time_epoch", "tcp.seq_raw", "tcp.ack_raw", "tcp.len"):
        assert [packet[field] for packet in total] == [packet[field] for packet in cut]
    assert not list(tmp_path.glob(".*"))


def test_rfc792_tshark_pairs_each_echo_reply_with_its_request(tmp_path: Path) -> None:
    """Requests and replies of ping are found, their checksums good, the round trips ours.

    A queue of three packets loses some requests; TWAMP's test packets stay UDP.
    """
    scenario = """
trunkline: 1
nodes: [S, R, D]
links: {S-R: {rate: 10 Mbit/s, delay: 5 ms}, R-D: {rate: 1 Mbit/s, delay: 5 ms, port: short}}
ports: {short: {queue: {limit: 3 packets}}}
flows:
  ping: {agent: echo, from: S, to: D, interval: 20 ms, dscp: AF41}
  twamp:
    {agent: echo, from: S, to: D, protocol: udp, interval: 50 ms, start: 3 ms, dscp: EF}
  load: {agent: udp, from: R, to: D, rate: 950 kbit/s, arrivals: poisson, size: 1000 B}
run: {duration: 5 s, trace: on}
"""
    network = compile(load(scenario))
    results = simulate(network, seeds=[1])[0]
    path = tmp_path / "run.pcapng"
    write_capture(results, json.loads(network.to_json()), path, at=("S",))
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-Y", "icmp"]
    command += [part for name in ECHOED for part in ("-e", name)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    packets = [
        dict(zip(ECHOED, line.split("\t"), strict=True)) for line in done.stdout.splitlines()
    ]
    assert {(each["icmp.checksum.status"], each["ip.dsfield.dscp"]) for each in packets} == {
        (GOOD, "34")
    }
    ((ping, twamp),) = [list(results.echoes.rows())]
    kinds = [each["icmp.type"] for each in packets]
    assert (kinds.count("8"), kinds.count("0")) == (ping["requests"], ping["replies"])
    assert int(str(ping["lost"])) > 0
    assert int(str(twamp["replies"])) > 0
    trips = [float(each["icmp.resptime"]) for each in packets if each["icmp.resptime"]]
    assert len(trips) == ping["replies"]
    # Nothing waits on the first link: a request leaves when it is made.
    assert sum(trips) / len(trips) / 1e3 == pytest.approx(float(str(ping["rtt_mean_s"])), abs=1e-6)


ECHOED = (
    "icmp.type",
    "icmp.checksum.status",
    "ip.dsfield.dscp",
    "icmp.resptime",
)

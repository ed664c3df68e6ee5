"""What tcptrace, which is not ours, counts in a capture at the sender, against our tables."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.scenario import load
from trunkline.trace import write_capture

needed = [name for name in ("tcptrace", "editcap") if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(needed), reason=f"{' and '.join(needed)} not installed")

TEXT = """
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


def test_segments_retransmissions_and_sack_are_those_of_the_tables(tmp_path: Path) -> None:
    network = compile(load(TEXT))
    results = simulate(network, seeds=[1])[0]
    capture, plain = tmp_path / "run.pcapng", tmp_path / "run.pcap"
    write_capture(results, json.loads(network.to_json()), capture, at=("S",))
    # It is of 2004 and reads the format before pcapng.
    subprocess.run(["editcap", "-F", "pcap", capture, plain], check=True, capture_output=True)
    command = ["tcptrace", "-l", "-n", plain]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    pairs = dict(re.findall(r"^ *(\w[\w ]+): +(\d+) ", output, re.M))
    backward = dict(re.findall(r"(?<!d)(sack pkts sent|pure acks sent): +(\d+) *$", output, re.M))
    events = [row for row in results.packets.rows() if row["link"] in ("S->R", "R->S")]
    sent = [row for row in events if row["event"] == "queued" and row["link"] == "S->R"]
    sent = [row for row in sent if row["wait_ns"] is not None]
    came = [row for row in events if row["event"] == "arrived" and row["link"] == "R->S"]
    assert int(pairs["actual data pkts"]) == len(sent)
    again = sum(int(row["retransmission"] or 0) for row in sent)
    assert int(pairs["rexmt data pkts"]) == again > 10
    assert int(pairs["unique bytes sent"]) == 1460 * (len(sent) - again)
    assert int(backward["pure acks sent"]) == len(came)
    assert int(backward["sack pkts sent"]) == sum(row["sack"] is not None for row in came) > 10

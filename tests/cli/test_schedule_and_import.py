"""`trunkline schedule` and `trunkline import tcng`."""

from __future__ import annotations

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


def test_tcng_becomes_ports_or_an_error_with_its_line(trunkline, tmp_path: Path) -> None:
    (tmp_path / "good.tcng").write_text("eth0 fifo (limit 20p)\n")
    (tmp_path / "bad.tcng").write_text("eth0 fifo (limit 20p)\neth1 hfsc\n")
    good = trunkline("import", "tcng", "good.tcng")
    assert good.stdout == (
        "# eth0: one queue of 20 packets\nports:\n  eth0:\n    queue:\n      limit: 20 packets\n"
    )
    bad = trunkline("import", "tcng", "bad.tcng")
    assert bad.returncode == 2
    assert "bad.tcng: line 2: there is no queueing discipline hfsc here" in bad.stderr

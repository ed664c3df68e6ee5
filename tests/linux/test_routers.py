"""Exported scripts on the kernel of this machine: routers of veth pairs, real sockets, no guest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from trunkline.cli.export_command import command

SCENARIO = """\
trunkline: 1
nodes: [H1, R, H2]
links:
  H1-R: {rate: 20 Mbit/s, delay: 1 ms}
  R-H2: {rate: 10 Mbit/s, delay: 1 ms}
flows:
  voice: {agent: udp, from: H1, to: H2, rate: 1 Mbit/s}
  data: {agent: tcp, from: H1, to: H2}
run: {duration: 1 s}
"""
CHOSEN = """\
nodes: {H1: 203.0.113.1, H2: [203.0.113.2]}
links:
  R->H2: {address: 192.0.2.0/31}
  H2->R: {address: 192.0.2.1/31}
"""


def exported(folder: Path, *options: str) -> Path:
    file = folder / "line.yaml"
    file.write_text(SCENARIO)
    scripts = folder / "scripts"
    words = [str(file), "--to", "linux", "--out", str(scripts), *options]
    done = CliRunner().invoke(command, words, standalone_mode=False)
    assert done.exception is None, done.output
    return scripts


def in_namespaces(scripts: Path, source: str, target: str) -> dict[str, Any]:
    lines = scripts.parent / "told.json"
    root = [] if os.geteuid() == 0 else ["--map-root-user"]
    harness = str(Path(__file__).parent / "router_namespaces.py")
    words = ["unshare", "--net", "--mount", *root, sys.executable, harness]
    done = subprocess.run(
        [*words, str(scripts), str(lines), source, target],
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare:" in done.stderr or "mount: " in done.stderr or "htb" in done.stderr:
        pytest.skip(f"no network of our own, or no queues, here: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(lines.read_text())
    return seen


@pytest.fixture(scope="module")
def routers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What was seen of routers with addresses that were chosen and others that were generated."""
    folder = tmp_path_factory.mktemp("routers")
    addresses = folder / "addresses.yaml"
    addresses.write_text(CHOSEN)
    return in_namespaces(
        exported(folder, "--addresses", str(addresses)), "203.0.113.1", "203.0.113.2"
    )


def test_b6_tcp_and_udp_arrive_twice_in_a_row(routers: dict[str, Any]) -> None:
    """B6: invented neighbours, no second run: exported routers carried no packet."""
    for time in ("first", "second"):
        assert routers[time] == ["", "", "", 0, 0, 0]
        assert routers[f"{time} udp"] == 50
        assert routers[f"{time} tcp"] == 1_000_000
    assert routers["first state"] == routers["second state"]


def test_b6_a_teardown_leaves_no_trace_after_a_kill_too(routers: dict[str, Any]) -> None:
    """B6: there was no undo, and a script that was killed left half of its work."""
    assert routers["first state"] != routers["before"]
    assert routers["teardown"] == routers["teardown again"] == [0, 0, 0]
    assert routers["after"] == routers["before"]


def test_b6_what_is_refused_is_undone_and_what_was_there_stays(routers: dict[str, Any]) -> None:
    """B6: a failure left a router half configured."""
    status, why = routers["refused"]
    assert status == 1
    assert "refused: tc qdisc add dev l1a root" in why
    assert routers["foreign after"] == routers["foreign before"]


def test_b6_reverse_path_filters_are_set_by_device(routers: dict[str, Any]) -> None:
    """B6: rp_filter was turned off for all devices of the machine."""
    for node, device in (("n0", "l0a"), ("n1", "l1a")):
        state = routers["first state"][node]
        assert "net.ipv4.conf.all.rp_filter = 1" in state
        assert f"net.ipv4.conf.{device}.rp_filter = 2" in state


def test_b6_virtual_time_stays_in_the_test_bed(tmp_path: Path) -> None:
    """B6: devices of 65535 B, bursts of 1 us and fixed neighbours went to real routers."""
    routers, bed = tmp_path / "routers", tmp_path / "bed"
    routers.mkdir()
    bed.mkdir()
    for text in (each.read_text() for each in exported(routers).iterdir()):
        for word in ("nud permanent", "netem", "65535", "burst 3b", "initcwnd", "tcp_rmem"):
            assert word not in text
        assert "mtu 1500" in text
    texts = "".join(each.read_text() for each in exported(bed, "--test-bed").iterdir())
    for word in ("nud permanent", "netem", "mtu 65535", "burst 3b", "initcwnd", "tcp_rmem"):
        assert word in texts

"""Faults of the Linux engine that testing from outside found, by their numbers."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import trunkline
from trunkline.engine.packet_engine import simulate
from trunkline.linux import engine
from trunkline.linux.judge import verification
from trunkline.linux.outcome.records import read_arrivals
from trunkline.linux.plan.compiled_plan import compile_plan as plan
from trunkline.network import compile
from trunkline.scenario import load

WINDOW = """\
trunkline: 1
nodes: [S, A, B, D]
defaults: {link: {rate: 1 Gbit/s}, tcp: {preset: linux, variant: sack, window: WINDOW packets}}
links: {S-A: {}, A-B: {rate: 10 Mbit/s, delay: 20 ms}, B-D: {}}
flows: {tcp: {agent: tcp, from: S, to: D}}
run: {duration: 20 s}
"""


def network(text: str, **changed: str) -> str:
    for word, value in changed.items():
        text = text.replace(word, value)
    return compile(load(text)).to_json()


def test_b1_the_receivers_route_has_the_window() -> None:
    """``cwnd lock`` of a sender's route has no effect; 10 segments are 14600 B."""
    made = plan(network(WINDOW, WINDOW="10")).plan
    routes = {node.name: [line for line in node.ip if "route" in line] for node in made.nodes}
    assert any("window 14600" in line for line in routes["n3"])
    assert not any("cwnd lock" in line for lines in routes.values() for line in lines)


# Round trip: 40 ms; 1500 B and the ACK's 40 B at 10 Mbit/s, 1.2 and 0.03 ms; 1.2 ms until the
# second segment comes, which is acknowledged; 0.02 ms on the fast links: 42.45 ms. In it go 10
# segments of 1460 B: 10 * 11680 bit / 42.45 ms = 2.751 Mbit/s. With 30 it is 3 times as much.
@pytest.mark.parametrize(("window", "goodput"), [(10, 2.751e6), (30, 8.254e6)])
def test_b1_a_window_that_binds_is_goodput_times_round_trip(
    window: int, goodput: float, kernel: str, tmp_path: Path
) -> None:
    written = network(WINDOW, WINDOW=str(window))
    found_value = engine.run_in_guest(written, 1, tmp_path, runner=kernel).results
    (ours,) = simulate(written, seeds=[1])
    for results in (found_value, ours):
        assert results.flows["goodput_bit_s"] == [pytest.approx(goodput, rel=0.01)]
    samples = json.loads((tmp_path / "tcp-0.json").read_text())
    assert samples["retransmitted_segments"] == 0


# Half a window of 48 segments is 24: every 25th segment is marked (PSH) and answered alone.
@pytest.mark.parametrize(
    "window", [10, *(pytest.param(each, marks=pytest.mark.guests) for each in (48, 100))]
)
def test_b1_windows_that_bind_agree_in_both_engines(window: int, uml: str) -> None:
    found = verification.verify_kernel(network(WINDOW, WINDOW=str(window)), [1], runner=uml)
    assert [row for row in found.rows if row.outcome == "differs"] == []


# A TTL of 64, one less at each of A, B, C and D: RFC 3443 section 3, whatever takes the label off.
TTL = """\
trunkline: 1
nodes: [S, A, B, C, D, E]
defaults: {link: {rate: 100 Mbit/s}}
links: {S-A: {}, A-B: {}, B-C: {}, C-D: {}, D-E: {}}
paths: {p: {route: [A, B, C, D], END}}
trunks: {all: {path: p, flows: all}}
flows: {udp: {agent: udp, from: S, to: E, rate: 1 Mbit/s, size: 500 B}}
run: {duration: 100 ms}
"""


REFUSED = """\
trunkline: 1
run: {duration: 5 s}
nodes: [A, B, C, D, E]
defaults: {udp: {rate: 100 kbit/s, size: 500 B}, link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, C-D: {mtu: 700 B}, D-E: {}}
flows:
  short: {from: A, to: E, agent: udp, ttl: 2, start: 0.1 s}
  big: {from: A, to: E, agent: udp, size: 1000 B, start: 0.2 s}
  good: {from: A, to: E, agent: udp, start: 0.3 s}
"""
LABELLED = "paths: {p: {route: [B, C, D, E]}}\ntrunks: {t: {path: p, flows: [short, big, good]}}\n"


# 25 packets a second for 4.9 s, 12.5 a second for 4.8 s. The TTL of 2 ends at C: A sends 2, B 1,
# and C would send 0 (RFC 1812 section 5.3.1; RFC 3443 section 3.1, as B copies it into the label).
@pytest.mark.slow
@pytest.mark.parametrize("paths", ["", LABELLED], ids=["ip", "label"])
def test_b4_rfc1812_s5_3_1_what_routers_refuse_has_its_cause_in_both_engines(
    paths: str, quick: str, tmp_path: Path
) -> None:
    written = network(REFUSED + paths)
    found_value = engine.run_in_guest(written, 1, tmp_path, runner=quick).results
    (ours,) = simulate(written, seeds=[1])
    for results in (found_value, ours):
        lost = {row["cause"]: (row["node"], row["packets"]) for row in results.drops.rows()}
        assert lost == {"ttl_expired": ("C", 123), "too_big": ("C", 60)}


@pytest.mark.parametrize(
    "end",
    [
        "php: true",
        "php: false",
        "explicit_null: true",
        "php: false, ttl: pipe",
        "explicit_null: true, ttl: pipe",
    ],
)
def test_b4_rfc3443_s3_a_router_takes_one_off_the_ttl(end: str, uml: str, tmp_path: Path) -> None:
    engine.run_in_guest(network(TTL, END=end), 1, tmp_path, runner=uml)
    # A pipe hides B and C, which take theirs off the label; A and D take one off the IP packet's.
    expected = 62 if "pipe" in end else 60
    assert {each.ttl for each in read_arrivals(tmp_path, 0)} == {expected}


# One sender with and one without ECN through RED: the first is marked, the second loses.
ECN = """\
trunkline: 1
nodes: [S, A, B, D]
defaults: {link: {rate: 1 Gbit/s}, tcp: {preset: linux, window: 1000 packets}}
links: {S-A: {}, A-B: {rate: 10 Mbit/s, delay: 20 ms, port: early}, B-D: {}}
ports:
  early:
    queue:
      limit: 225 kB
      aqm: {kind: red-linux, idle_ageing: false, min: 15140 B, max: 45420 B, avpkt: 1514 B,
            burst: 17 packets, probability: 0.1}
flows:
  capable: {agent: tcp, from: S, to: D, ecn: true}
  not: {agent: tcp, from: S, to: D, ecn: false, start: 5 ms}
run: {duration: 10 s}
"""


def test_b9_ecn_is_a_flows_own(uml: str, tmp_path: Path) -> None:
    """RFC 3168: ``features ecn`` of both routes; tcp_ecn is a node's."""
    found_value = engine.run_in_guest(network(ECN), 1, tmp_path, runner=uml).results.flows
    again = dict(zip(found_value["flow"], found_value["retransmissions"], strict=True))
    assert again["capable"] < 10 < again["not"]


@pytest.mark.guests
def test_b9_the_preset_of_linux_runs_on_the_kernel(uml: str) -> None:
    """WRED as GRED has it with grio and equal priorities; the protected ring, cut, with it."""
    ring = Path(trunkline.__file__).parent / "examples" / "protected-ring.yaml"
    written = compile(load(ring, overrides={"ports.per-class.preset": "diffserv-linux"})).to_json()
    plan(written)
    found = verification.verify_kernel(network(PRESET), [1, 2, 3, 4, 5], runner=uml)
    assert [row for row in found.rows if row.outcome == "differs"] == []
    assert sum(row.reference for row in found.rows if row.measure == "packets lost") > 100


PRESET = """\
trunkline: 1
nodes: [S, A, B, D]
defaults: {udp: {size: 1000 B, arrivals: poisson}}
links:
  S-A: {rate: 100 Mbit/s}
  A-B: {rate: 10 Mbit/s, delay: 5 ms, port: core}
  B-D: {rate: 100 Mbit/s}
ports: {core: {preset: diffserv-linux}}
flows:
  voice: {agent: udp, from: S, to: D, rate: 1 Mbit/s, dscp: EF}
  in: {agent: udp, from: S, to: D, rate: 2 Mbit/s, dscp: AF11}
  out: {agent: udp, from: S, to: D, rate: 2 Mbit/s, dscp: AF13}
  rest: {agent: udp, from: S, to: D, rate: 8 Mbit/s}
run: {duration: 10 s}
"""


@pytest.mark.parametrize(
    "how",
    [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)],
    ids=["term", "kill"],
)
def test_b8_nothing_is_left_of_a_verify_that_was_ended(
    how: signal.Signals, quick: str, tmp_path: Path
) -> None:
    """SIGTERM left 8 MB; what SIGKILL leaves, the next run removes."""
    (tmp_path / "long.yaml").write_text(REFUSED.replace("duration: 5 s", "duration: 500 s"))
    (tmp_path / "short.yaml").write_text(REFUSED.replace("duration: 5 s", "duration: 1 s"))
    private = tmp_path / "private"
    private.mkdir()
    words = [sys.executable, "-m", "trunkline", "run", "--engine", "linux", "--runner", quick]
    about: dict[str, Any] = {
        "cwd": tmp_path,
        "env": {**os.environ, "TMPDIR": str(private)},
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    with subprocess.Popen([*words, "long.yaml"], **about) as child:
        end = time.monotonic() + 60
        while not any(private.glob("*/*")) and child.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        child.send_signal(how)
    assert child.returncode == (130 if how is signal.SIGTERM else -signal.SIGKILL)
    if how is signal.SIGKILL:
        assert list(private.iterdir())
        subprocess.run([*words, "short.yaml"], check=True, timeout=120, **about)
    assert not list(private.iterdir())

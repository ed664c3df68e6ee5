"""Failures and recovery on the kernel: each packet that the simulator loses, by the same cause."""

from dataclasses import replace
from pathlib import Path

import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.linux import engine
from trunkline.linux.guest.process import GuestFailed
from trunkline.linux.guest.readiness import examine_runner
from trunkline.linux.guest.runner import execute_plan
from trunkline.linux.judge import verification
from trunkline.linux.plan.compiled_plan import compile_plan as plan_of
from trunkline.linux.plan.guest_plan import TimedCommand
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import load

# Nothing arrives at the very moment of a change, when either engine may be first.
NET = """\
trunkline: 1
nodes: [S, A, B, T, C, D]
defaults: {link: {rate: 8 Mbit/s, delay: 5 ms}}
links: {S-A: {}, A-B: {}, B-T: {}, S-C: {}, C-D: {}, D-T: {}, A-C: {}, B-D: {}}
PATHS
flows:
  cbr: {agent: udp, from: S, to: T, rate: 4 Mbit/s, size: 1000 B, start: 300 us}
  noise: {agent: udp, from: S, to: T, rate: 3500 kbit/s, size: 500 B, arrivals: poisson, dscp: AF11}
failures: {cut: {WHAT, at: 300 ms, repair: 600 ms}}
HOW
run: {duration: 1 s}
"""
# Linux does not write the TTL of a uniform bypass into the label below it (RFC 3443 section 3.1).
PATHS = """\
paths:
  working: {route: [S, A, B, T]}
  spare: {route: [S, C, D, T]}
  around: {route: [A, C, D, B], ttl: pipe}
trunks:
  all: {path: working, flows: [cbr, noise]}
"""
PROTECTED = """\
protections:
  p: {path: working, KIND, switch: 13 ms, wait_to_restore: 50 ms, detection: DETECTION}
"""
LOSS, HELLO = "{kind: loss-of-signal}", "{kind: hello, interval: 10 ms}"
REROUTING = f"rerouting: {{detection: {LOSS}, spf_delay: 50 ms}}"


def network(how: str, paths: str = PATHS, what: str = "link: A-B") -> str:
    text = NET.replace("PATHS\n", paths).replace("HOW", how).replace("WHAT", what)
    return compile(load(text)).to_json()


def protected(kind: str, detection: str = LOSS) -> str:
    return PROTECTED.replace("KIND", kind).replace("DETECTION", detection)


def causes(results: Results) -> dict[tuple[str, str, str], int]:
    found: dict[tuple[str, str, str], int] = {}
    for row in results.drops.rows():
        key = (str(row["cause"]), str(row["node"]), str(row["link"]))
        found[key] = found.get(key, 0) + int(str(row["packets"]))
    return found


# S sends by C, where shortest is by A; C has a floating route by A.
STATIC_ROUTES = (
    NET.replace("PATHS\n", "").replace("HOW", REROUTING).replace("WHAT", "link: C-D")
).replace(
    "nodes: [S, A, B, T, C, D]",
    "nodes: {S: {routes: [{to: T, via: C}]}, A: {}, B: {}, T: {},"
    " C: {routes: [{to: T, via: D}, {to: T, via: A, distance: 200}]}, D: {}}",
)
CASES = {
    "unprotected": network(""),
    "backup": network(protected("kind: backup, backup: spare")),
    "gap": network(protected("kind: backup, backup: spare, make_before_break: false")),
    "bypass": network(protected("kind: facility-bypass, backup: around")),
    "detour": network(protected("kind: detour, backup: around")),
    "restoration": network(protected("kind: restoration, compute: 20 ms")),
    "node": network(protected("kind: backup, backup: spare", HELLO), what="node: B"),
    "rerouting": network(REROUTING, paths=""),
    "floating static route": compile(load(STATIC_ROUTES)).to_json(),
}


QUICK = ("gap", "restoration")
"""Those of `./dev test`: between them they have queues cut, bypassed, and labels made anew."""


@pytest.fixture
def uml() -> str:
    """The runner whose processor takes no time, so that packets can be compared one by one."""
    state = examine_runner("uml")
    if not state.is_ready:
        pytest.skip(f"the runner uml is not ready: {state.reason}")
    return state.runner


@pytest.mark.parametrize(
    "case",
    [case if case in QUICK else pytest.param(case, marks=pytest.mark.guests) for case in CASES],
)
def test_the_kernel_loses_the_same_packets_by_the_same_causes(
    case: str, uml: str, tmp_path: Path
) -> None:
    run = engine.run_in_guest(CASES[case], 1, tmp_path / "run", runner=uml)
    (simulated,) = simulate(CASES[case], seeds=[1])
    assert causes(run.results) == causes(simulated)
    assert list(run.results.timeline.rows()) == list(simulated.timeline.rows())
    verdict = verification.verify_kernel(CASES[case], [1], runner=uml)
    assert verdict.is_exact
    lost = [row for row in verdict.rows if row.measure == "lost, each packet"]
    assert [row.difference for row in lost] == [0, 0]
    assert [row for row in verdict.rows if not row.agrees] == []


# After local repair of link A-B the bypass has one hop more; acknowledgements are routed by IP.
MIXED = """\
trunkline: 1
nodes: [S, A, B, T, C, D]
defaults:
  link: {rate: 8 Mbit/s, delay: 5 ms, port: q}
  tcp: {variant: sack, preset: linux, window: 300 packets}
links: {S-A: {rate: 100 Mbit/s}, A-B: {}, B-T: {}, A-C: {}, C-D: {}, D-B: {}}
ports:
  q:
    scheduler: priority
    classify: [{dscp: EF, class: voice}]
    classes: {voice: {}, default: {queue: {limit: 30 packets}}}
paths:
  working: {route: [A, B, T], php: false, diffserv: {kind: e-lsp, map: {DF: 0, EF: 5}}}
  around: {route: [A, C, D, B], ttl: pipe, diffserv: {kind: e-lsp, map: {DF: 0, EF: 5}}}
trunks: {all: {path: working, flows: [bulk, cbr]}}
flows:
  bulk: {agent: tcp, from: S, to: T}
  cbr: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B, dscp: EF}
failures: {cut: {link: A-B, at: 5 s, repair: 10 s}}
protections:
  p:
    {path: working, kind: facility-bypass, backup: around, switch: 50 ms, wait_to_restore: 1 s,
     detection: {kind: loss-of-signal}}
rerouting: {detection: {kind: loss-of-signal}, spf_delay: 100 ms}
run: {duration: 15 s}
"""


@pytest.mark.guests
def test_tcp_and_voice_beside_it_come_through_a_local_repair_alike(uml: str) -> None:
    verdict = verification.verify_kernel(compile(load(MIXED)).to_json(), range(1, 7), runner=uml)
    # Known, and documented beside the other differences: ACKs around the cut, and one phase of cbr.
    assert {(row.subject, row.measure) for row in verdict.rows if not row.agrees} == {
        *((f"{arc}, default", "sent by class") for arc in ("B->D", "D->C", "C->A")),
        *((f"{arc}, default", "bytes a packet") for arc in ("B->D", "D->C", "C->A")),
        ("cbr, rerouted 3", "mean delay"),
    }
    rows = {(row.subject, row.measure): row for row in verdict.rows}
    lost, slowest = rows["cbr", "packets lost"], rows["cbr", "delay p99"]
    assert lost.simulator > 10
    assert lost.difference == 0
    assert abs(slowest.difference) < 20e-6


def test_a_line_that_the_kernel_refuses_during_the_run_is_named(
    kernel: str, tmp_path: Path
) -> None:
    compiled = plan_of(network(""))
    wrong = TimedCommand(500_000_000, "n1", "ip", "route del 10.128.0.77/32")
    plan = replace(compiled.plan, changes=(*compiled.plan.changes[:6], wrong), duration_ns=10**9)
    with pytest.raises(GuestFailed, match=r"ip route del 10\.128\.0\.77/32: .*No such process"):
        execute_plan(plan, compiled.schedules, tmp_path, kernel)

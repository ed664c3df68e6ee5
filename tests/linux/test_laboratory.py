"""A network that comes up in a guest from the files of ``export --to containerlab`` alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from router_designs import SEGMENTS

from trunkline.linux.guest.frr_daemons import SHELL
from trunkline.linux.guest.runner import execute_plan
from trunkline.linux.judge.verification import EngineVerdict, run_until_decided
from trunkline.linux.plan.command_target import CommandTarget
from trunkline.linux.plan.frr_config import name_state_folder
from trunkline.linux.plan.guest_plan import Daemon
from trunkline.network import compile
from trunkline.routers import export_routers
from trunkline.routers.derivation import derive_routers
from trunkline.routers.laboratory import (
    compile_laboratory,
    make_laboratory_runner,
    read_laboratory,
)
from trunkline.scenario import load

LABELS = """\
trunkline: 1
name: line
nodes: [A, B, C]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}}
paths: {p: {route: [A, B, C], labels: [40, 41], php: off}}
trunks: {t: {path: p, flows: [f]}}
flows: {f: {agent: udp, from: A, to: C, rate: 1 Mbit/s}}
run: {duration: 200 ms}
"""
EIGHT = """\
trunkline: 1
name: eight
nodes: [R1, R2, R3, R4, R5, R6, R7, R8]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms, port: core}}
ports:
  core:
    scheduler: priority
    classify: [{dscp: EF, class: voice}, {dscp: AF11, class: data}]
    classes: {voice: {}, data: {}, default: {}}
links: {R1-R2: {}, R2-R3: {metric: 4}, R3-R4: {}, R4-R5: {}, R5-R6: {metric: 9}, R6-R7: {},
        R7-R8: {}, R8-R1: {}}
paths:
  east: {route: [R1, R2, R3, R4], diffserv: {kind: e-lsp, map: {EF: 5, AF11: 1}}}
  west: {route: [R1, R8, R7, R6, R5, R4], diffserv: {kind: e-lsp, map: {EF: 5, AF11: 1}}}
trunks:
  voice: {path: east, flows: [v], dscp: [EF]}
  data: {path: west, flows: [d], dscp: [AF11]}
flows:
  v: {agent: udp, from: R1, to: R4, rate: 2 Mbit/s, dscp: EF}
  d: {agent: udp, from: R1, to: R4, rate: 7 Mbit/s, dscp: AF11}
  p: {agent: udp, from: R2, to: R4, rate: 9 Mbit/s}
  q: {agent: udp, from: R8, to: R6, rate: 5 Mbit/s}
run: {duration: 1 s}
"""
LDP = """\
trunkline: 1
name: ldp
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, C-D: {}, A-D: {metric: 9}}
flows: {f: {agent: udp, from: A, to: D, rate: 1 Mbit/s}}
routing: {ospf: {}, ldp: {}}
run: {duration: 200 ms}
"""


def write_laboratory(text: str, folder: Path) -> Path:
    (export,) = export_routers(load(text), ("containerlab",))
    for name, content in export.list_files().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    return folder


def verify(text: str, folder: Path) -> EngineVerdict:
    """The verdict of one seed."""
    scenario = load(text)
    run_seed = make_laboratory_runner(scenario, folder)
    return run_until_decided([(compile(scenario, seed=1).to_json(), 1)], run_seed)


def list_differing(verdict: EngineVerdict) -> list[tuple[str, str]]:
    return [(row.subject, row.measure) for row in verdict.rows if not row.agrees]


@pytest.mark.guests
def test_rfc3031_static_labels_of_exported_files_carry_the_scenarios_packets(
    frr: str, tmp_path: Path
) -> None:
    """Each packet arrives in its time, with its label on both links (1004 B) and its TTL."""
    verdict = verify(LABELS, write_laboratory(LABELS, tmp_path))
    assert list_differing(verdict) == []
    assert verdict.is_exact
    sizes = {row.subject: row for row in verdict.rows if row.measure == "bytes a packet"}
    assert sizes["B->C, default"].reference == sizes["B->C, default"].simulator == 1004


@pytest.mark.guests
def test_a_label_that_was_changed_in_one_script_is_a_difference(frr: str, tmp_path: Path) -> None:
    script = write_laboratory(LABELS, tmp_path) / "B" / "setup.sh"
    assert "as 41 via" in script.read_text()
    script.write_text(script.read_text().replace("as 41 via", "as 43 via"))
    assert ("f", "packets lost") in list_differing(verify(LABELS, tmp_path))


@pytest.mark.guests
def test_eight_exported_routers_come_up_and_verify_agrees(frr: str, tmp_path: Path) -> None:
    """Two labelled paths by DSCP, three classes at each port, two links that are overloaded."""
    verdict = verify(EIGHT, write_laboratory(EIGHT, tmp_path))
    assert list_differing(verdict) == []
    assert verdict.outcome == "agrees"
    lost = {row.subject: row.simulator for row in verdict.rows if row.measure == "packets lost"}
    assert lost["v"] == lost["d"] == 0
    assert lost["q"] > 50


CUT = LABELS.replace("run: {duration: 200 ms}", "failures: {cut: {link: B-C, at: 80 ms, "
    "repair: 120 ms}}\nrun: {duration: 200 ms}")  # fmt: skip
CUT_WITH_OSPF = """\
trunkline: 1
name: around
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-D: {}, A-C: {metric: 3}, C-D: {}}
flows: {f: {agent: udp, from: A, to: D, rate: 1 Mbit/s}}
failures: {cut: {link: B-D, at: 1 s}}
routing:
  ospf: {hello: 1 s, dead: 4 s, lsa_interval: 500 ms, spf: {kind: backoff, initial: 50 ms,
         second: 200 ms, maximum: 1 s}}
run: {duration: 4 s}
"""


@pytest.mark.guests
def test_rfc3469_a_cut_that_no_router_notices_loses_the_same_packets(
    frr: str, tmp_path: Path
) -> None:
    """40 ms of 125 packets a second: five, of which one comes too near to be compared alone."""
    verdict = verify(CUT, write_laboratory(CUT, tmp_path))
    assert list_differing(verdict) == []
    assert verdict.is_exact
    (lost,) = [row for row in verdict.rows if row.measure == "lost by cause: link_down"]
    assert lost.simulator == lost.reference == 5


@pytest.mark.guests
def test_rfc2328_s13_ospf_of_exported_files_leads_around_a_cut(frr: str, tmp_path: Path) -> None:
    """ospfd floods, computes after 50 ms, and packets take the other way as in the simulator."""
    verdict = verify(CUT_WITH_OSPF, write_laboratory(CUT_WITH_OSPF, tmp_path))
    assert list_differing(verdict) == []
    lost = {row.subject: row for row in verdict.rows if row.measure == "packets lost"}["f"]
    # 10 ms of detection and 50 ms of throttle, at 8 ms a packet.
    assert 7 <= lost.simulator <= 8
    assert abs(lost.difference) <= 2
    (first,) = [row for row in verdict.rows if row.measure == "first packet after"]
    assert abs(first.difference) < 0.02


@pytest.mark.guests
def test_rfc5036_labels_of_exported_ldpd_carry_the_scenarios_packets(
    frr: str, tmp_path: Path
) -> None:
    """A label is 3.2 us of each link's time: on A-B and B-C, and none behind C."""
    verdict = verify(LDP, write_laboratory(LDP, tmp_path))
    assert list_differing(verdict) == []
    (delay,) = [row for row in verdict.rows if row.measure == "mean delay"]
    assert delay.simulator == pytest.approx(3 * 1.8e-3 + 2 * 3.2e-6, abs=2e-6)
    assert abs(delay.difference) < 2e-6


READER = "vtysh --vty_socket FOLDER -c 'show mpls ldp binding' -c 'show mpls table' >FOLDER/seen\n"


@pytest.mark.guests
def test_rfc5036_s3_5_7_bindings_that_vtysh_reads_are_those_of_the_scenario(
    frr: str, tmp_path: Path
) -> None:
    """A label of each router for each other's address, implicit null for its own, and its use."""
    scenario = load(LDP)
    write_laboratory(LDP, tmp_path)
    routers = derive_routers(scenario, CommandTarget(on_routers=True))
    texts = read_laboratory(tmp_path, routers)
    compiled = compile_laboratory(routers, texts, seed=1)
    readers = [
        Daemon(each.name, None, (SHELL, f"/trunkline/{each.name}.read.sh"))
        for each in compiled.plan.nodes
    ]
    logs = [
        Daemon(each.name, f"{name_state_folder(each.name)}/seen", ("true",))
        for each in compiled.plan.nodes
    ]
    scripts = {
        f"{each.name}.read.sh": READER.replace("FOLDER", name_state_folder(each.name)).encode()
        for each in compiled.plan.nodes
    }
    # Two minutes after their start: what they have told each other by then.
    settle = Daemon(compiled.plan.nodes[0].name, None, ("sleep", "120"))
    daemons = (*compiled.plan.daemons, settle, *readers, *logs)
    plan = replace(compiled.plan, daemons=daemons)
    execute_plan(plan, {**compiled.schedules, **scripts}, tmp_path / "out", "uml")
    seen = [(tmp_path / "out" / f"{each.name}.true.log").read_text() for each in plan.nodes]
    addresses = [f"10.255.0.{number}" for number in (1, 2, 3, 4)]
    neighbours = {0: (1, 3), 1: (0, 2), 2: (1, 3), 3: (2, 0)}
    bindings = [read_bindings(text) for text in seen]
    for node, own in enumerate(bindings):
        # RFC 5036 section 3.4.1: a FEC is a host's address; each neighbour tells its label.
        assert {fec for fec, _ in own} == {f"{each}/32" for each in addresses}
        for target, address in enumerate(addresses):
            for neighbour in neighbours[node]:
                local, remote = own[f"{address}/32", addresses[neighbour]]
                assert (local == "imp-null") == (node == target)
                assert remote == bindings[neighbour][f"{address}/32", addresses[node]][0]
    # A-B-C-D, and the long way A-D is not used.
    line = {(a, b): a + (1 if b > a else -1) for a in range(4) for b in range(4) if a != b}
    for node, text in enumerate(seen):
        table = dict(re.findall(r"^\s*(\d+)\s+LDP\s+\S+\s+(\S+)", text, re.MULTILINE))
        expected = {}
        for target, address in enumerate(addresses):
            if target != node:
                local, remote = bindings[node][f"{address}/32", addresses[line[node, target]]]
                expected[local] = remote.replace("imp-null", "implicit-null")
        assert table == expected


def read_bindings(text: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Local and remote label by FEC and neighbour, of ``show mpls ldp binding``."""
    rows = re.findall(r"^ipv4\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)", text, re.MULTILINE)
    return {(fec, neighbour): (local, remote) for fec, neighbour, local, remote in rows}


@pytest.mark.guests
def test_rfc9256_policy_of_exported_pathd_carries_the_scenarios_packets(
    frr: str, tmp_path: Path
) -> None:
    """Node A, the adjacency A-B, node T: two labels on the first link, one on A->B, none on B->T.

    Where a label ends on another one Linux keeps the TTL of the lower, which is known.
    """
    text = SEGMENTS.replace("rate: 10 Mbit/s", "rate: 10 Mbit/s, delay: 1 ms")
    verdict = verify(text, write_laboratory(text, tmp_path))
    assert {measure.partition(":")[0] for _, measure in list_differing(verdict)} <= {
        "TTL",
        "DSCP, ECN and TTL, each packet",
    }
    assert all(row.explanation for row in verdict.rows if not row.agrees)
    sizes = {row.subject: row for row in verdict.rows if row.measure == "bytes a packet"}
    assert [sizes[f"{link}, default"].reference for link in ("S->A", "A->B", "B->T")] == [
        1008,
        1004,
        1000,
    ]

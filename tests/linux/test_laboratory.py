"""A network that comes up in a guest from the files of ``export --to containerlab`` alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from router_designs import SEGMENTS

from trunkline.linux.judge.verification import EngineVerdict, run_until_decided
from trunkline.network import compile
from trunkline.routers import export_routers
from trunkline.routers.laboratory import make_laboratory_runner
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


def test_rfc3031_static_labels_of_exported_files_carry_the_scenarios_packets(
    frr: str, tmp_path: Path
) -> None:
    """Each packet arrives in its time, with its label on both links (1004 B) and its TTL."""
    verdict = verify(LABELS, write_laboratory(LABELS, tmp_path))
    assert list_differing(verdict) == []
    assert verdict.is_exact
    sizes = {row.subject: row for row in verdict.rows if row.measure == "bytes a packet"}
    assert sizes["B->C, default"].reference == sizes["B->C, default"].simulator == 1004


@pytest.mark.guest_minutes
def test_a_label_that_was_changed_in_one_script_is_a_difference(frr: str, tmp_path: Path) -> None:
    script = write_laboratory(LABELS, tmp_path) / "B" / "setup.sh"
    assert "as 41 via" in script.read_text()
    script.write_text(script.read_text().replace("as 41 via", "as 43 via"))
    assert ("f", "packets lost") in list_differing(verify(LABELS, tmp_path))


@pytest.mark.guest_minutes
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


@pytest.mark.guest_minutes
def test_rfc3469_a_cut_that_no_router_notices_loses_the_same_packets(
    frr: str, tmp_path: Path
) -> None:
    """40 ms of 125 packets a second: five, of which one comes too near to be compared alone."""
    verdict = verify(CUT, write_laboratory(CUT, tmp_path))
    assert list_differing(verdict) == []
    assert verdict.is_exact
    (lost,) = [row for row in verdict.rows if row.measure == "lost by cause: link_down"]
    assert lost.simulator == lost.reference == 5


@pytest.mark.guest_minutes
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


@pytest.mark.guest_minutes
def test_rfc5036_labels_of_exported_ldpd_carry_the_scenarios_packets(
    frr: str, tmp_path: Path
) -> None:
    """A label is 3.2 us of each link's time: on A-B and B-C, and none behind C."""
    verdict = verify(LDP, write_laboratory(LDP, tmp_path))
    assert list_differing(verdict) == []
    (delay,) = [row for row in verdict.rows if row.measure == "mean delay"]
    assert delay.simulator == pytest.approx(3 * 1.8e-3 + 2 * 3.2e-6, abs=2e-6)
    assert abs(delay.difference) < 2e-6


@pytest.mark.guest_minutes
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

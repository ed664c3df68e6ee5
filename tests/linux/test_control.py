"""FRR beside the simulator's OSPF and LDP: routes, labels, convergence, the same bytes."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from trunkline.linux import engine
from trunkline.linux.judge.control_plane import verify_control
from trunkline.network import compile
from trunkline.results.convergence import list_answered_changes
from trunkline.scenario import load

pytestmark = pytest.mark.guests


def square() -> str:
    text = files("trunkline").joinpath("examples/cut-with-ospf.yaml").read_text()
    return compile(load(text), seed=1).to_json()


def test_frr_8_4_ospfd_routes_around_a_cut_as_the_simulator_does(frr: str) -> None:
    verdict = verify_control(square(), [1], daemons=frr)
    assert [row for row in verdict.rows if not row.agrees] == []
    compared = {row.subject for row in verdict.rows if row.measure == "routes at the end"}
    assert compared == {"S", "A", "B", "T"}
    late = [row.difference for row in verdict.rows if row.measure == "new routes after"]
    # ZEBRA_RIB_PROCESS_HOLD_TIME is 10 ms.
    assert len(late) == 3
    assert all(0.010 <= each < 0.011 for each in late), late


def test_frr_8_4_ldpd_labels_the_routes_around_a_cut_as_the_simulator_does(frr: str) -> None:
    """The same next hops, and there the label that the next hop told, or none one hop before."""
    text = files("trunkline").joinpath("examples/cut-with-ospf.yaml").read_text()
    text = text.replace("routing:\n", "routing:\n  ldp: {}\n")
    verdict = verify_control(compile(load(text), seed=1).to_json(), [1], daemons=frr)
    assert [row for row in verdict.rows if not row.agrees] == []
    compared = {row.subject: row for row in verdict.rows if row.measure == "labels at the end"}
    assert compared.keys() == {"S", "A", "B", "T"}
    # Each router has labels or next hops for the three others.
    assert all(row.reference == 3 for row in compared.values())
    late = [row.difference for row in verdict.rows if row.measure == "new labels after the failure"]
    # zebra's hold of 10 ms comes twice: with the route, and with its label.
    assert len(late) == 3
    assert all(0.020 <= each < 0.022 for each in late), late


REPAIRED = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}}
links: {S-A: {}, A-T: {}, S-B: {metric: 2}, B-T: {metric: 2}}
flows: {f: {agent: udp, from: S, to: T, rate: 80 kbit/s, size: 500 B, start: 2 s}}
failures: {cut: {link: A-T, at: 6 s, repair: 9 s}}
routing: {ospf: {}, ldp: {gtsm: GTSM}}
run: {duration: 40 s}
"""


@pytest.mark.parametrize(("gtsm", "lost"), [("off", (2, 2)), ("on", (21, 106))])
def test_rfc6720_after_a_repair_labels_wait_for_routes_over_the_link(
    frr: str, gtsm: str, lost: tuple[int, int]
) -> None:
    """With it both lose what comes between the routes and TCP's next attempt, each at its time."""
    text = REPAIRED.replace("GTSM", gtsm)
    verdict = verify_control(compile(load(text), seed=1).to_json(), [1], daemons=frr)
    (flow,) = (row for row in verdict.rows if row.measure == "packets lost or inside")
    assert (flow.simulator, flow.reference) == lost
    assert [row for row in verdict.rows if not row.agrees] == ([] if gtsm == "off" else [flow])


def test_two_runs_of_the_daemons_leave_the_same_bytes(frr: str, tmp_path: Path) -> None:
    runs = [engine.run_in_guest(square(), 1, tmp_path / name, control=frr) for name in "ab"]
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "ab"
    )
    assert first.keys() == second.keys()
    assert {name for name in first if first[name] != second[name]} <= {"cost.json"}
    assert json.loads(first["run.json"])["trustworthy"]
    (cut,) = list_answered_changes(runs[0].results)
    assert [step.name for step in cut.steps if step.ended_ns is not None] == ["T", "A", "S"]
    # Each computes 50 ms after its first news (`initial`), and A and T at their own LSA.
    ends = {step.name: (step.computed_ns or 0) - step.heard_ns for step in cut.steps}
    assert all(abs(ends[name] - 50_000_000) < 2_000_000 for name in "ATS"), ends


def test_a_run_with_daemons_has_its_tables_and_its_report(frr: str, trunkline, tmp_path) -> None:
    trunkline("examples", "copy", "cut-with-ospf", cwd=tmp_path)
    options = ("--engine", "linux", "--control", frr, "--all", "--out", "found")
    done = trunkline("run", "cut-with-ospf.yaml", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Convergence" in done.stdout
    assert (tmp_path / "found" / "report.html").exists()

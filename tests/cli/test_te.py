"""`trunkline te`: from a published network with its matrix to paths with backups, by commands."""

from __future__ import annotations

import json

import pytest

NETWORK = """\
trunkline: 1
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, C-D: {}, D-A: {}}
traffic: {data: {agent: udp, size: 500 B}}
demands:
  one: {from: A, to: C, rate: 4 Mbit/s, class: data}
  two: {from: B, to: D, rate: 3 Mbit/s, class: data}
trunks: {mesh: {demands: all, path: auto}}
run: {duration: 200 ms}
"""


@pytest.fixture
def net(tmp_path) -> str:
    (tmp_path / "net.yaml").write_text(NETWORK, "utf-8")
    return "net.yaml"


def test_place_then_protect_then_run_types_no_yaml(trunkline, net, tmp_path):
    assert trunkline("te", "place", net, "-o", "placed.yaml").returncode == 0
    done = trunkline(
        *("te", "protect", "placed.yaml", "--around", "node", "--bandwidth", "100 %"),
        *("-o", "safe.yaml", "--picture", "map.svg", "--report", "plan.html"),
    )
    assert done.returncode == 0, done.stderr
    assert "4 of 4 places have a backup" in done.stdout
    assert (tmp_path / "map.svg").read_text("utf-8").startswith("<?xml")
    page = (tmp_path / "plan.html").read_text("utf-8")
    assert "frr.A-B-C" in page
    assert "<script" not in page
    assert trunkline("run", "safe.yaml", "--strict", "--no-report").returncode == 0
    again = json.loads(trunkline("te", "protect", "safe.yaml", "--json").stdout)
    assert again["schema"] == 1


def test_a_new_scenario_has_its_tables_beside_and_replaces_no_others(trunkline, tmp_path):
    table = "from,to,rate,class\nA,C,4 Mbit/s,data\n"
    law = "size,share\n1 kB,0 %\n9 kB,100 %\n"
    (tmp_path / "loads.csv").write_text(table, "utf-8")
    (tmp_path / "sizes.csv").write_text(law, "utf-8")
    transfers = "transfers: {every: 9 ms, size: {cdf: sizes.csv}}"
    flows = f"flows: {{f: {{agent: tcp, from: A, to: B, {transfers}}}}}\n"
    demands = NETWORK.replace(
        "  one: {from: A, to: C, rate: 4 Mbit/s, class: data}", "  t: {file: loads.csv}"
    )
    (tmp_path / "net.yaml").write_text(demands + flows, "utf-8")
    (tmp_path / "new").mkdir()
    assert trunkline("te", "place", "net.yaml", "-o", "new/placed.yaml").returncode == 0
    assert (tmp_path / "new" / "sizes.csv").read_text("utf-8") == law
    assert trunkline("validate", "new/placed.yaml", "--strict").returncode == 0
    (tmp_path / "new" / "sizes.csv").write_text("mine", "utf-8")
    done = trunkline("te", "protect", "net.yaml", "-o", "new/safe.yaml")
    assert (done.returncode, "sizes.csv exists" in done.stderr) == (2, True)
    assert not (tmp_path / "new" / "safe.yaml").exists()


def test_what_would_not_load_is_not_written(trunkline, tmp_path):
    """An event tears a path that the solution leaves out: the new scenario cannot have it."""
    text = NETWORK + "paths: {p: {route: [A, B, C]}}\n"
    text = text.replace("trunks: {", "trunks: {own: {path: p, demands: one}, ")
    text = text.replace("demands: all", "demands: two")
    text += "events: [{at: 1 ms, tear: p}]\nsignalling: {kind: rsvp-te}\n"
    (tmp_path / "net.yaml").write_text(text, "utf-8")
    done = trunkline("te", "solve", "net.yaml", "-o", "new.yaml")
    assert done.returncode == 2
    assert "new.yaml was not written, because it would be invalid:" in done.stderr
    assert "error[reference]: there is no signalled path or trunk p" in done.stderr
    assert not (tmp_path / "new.yaml").exists()


def test_protect_lists_what_is_not_placed(trunkline, net, tmp_path):
    text = NETWORK.replace("4 Mbit/s", "40 Mbit/s")
    (tmp_path / "net.yaml").write_text(text, "utf-8")
    done = trunkline("te", "protect", "net.yaml", "-o", "safe.yaml")
    assert done.returncode == 0, done.stderr
    assert trunkline("validate", "safe.yaml", "--strict").returncode == 0


def test_protect_json_has_backups_gaps_and_links(trunkline, net):
    expected = json.loads(trunkline("te", "protect", net, "--json").stdout)
    assert expected["coverage"] == 1
    assert {each["backup"] for each in expected["backups"]} >= {"frr.A-B"}
    assert set(expected["links"][0]) == {
        *("link", "capacity_bit_s", "load_bit_s", "reserved_bit_s", "backup_bit_s"),
        *("unshared_bit_s", "utilisation"),
    }


def test_a_file_that_says_what_it_wants_takes_no_options(trunkline, net, tmp_path):
    text = NETWORK + "protections: {p: {path: all, kind: backup, backup: auto}}\n"
    (tmp_path / "own.yaml").write_text(text, "utf-8")
    assert trunkline("te", "protect", "own.yaml").returncode == 0
    done = trunkline("te", "protect", "own.yaml", "--kind", "detour", "-o", "x.yaml")
    assert done.returncode == 2
    assert "--kind, --around and --bandwidth are for files without" in done.stderr
    assert not (tmp_path / "x.yaml").exists()


def test_a_bandwidth_without_a_unit_it_has_is_one_error(trunkline, net):
    done = trunkline("te", "protect", net, "--bandwidth", "5 Mbit/s")
    assert done.returncode == 2
    assert "protections[frr].bandwidth" in done.stderr
    assert "Traceback" not in done.stderr


SLAS = "slas: {data: {dscp: DF, at_most: {loss: 10 %}}}\n"


def test_survive_json_ranks_failures_and_judges_the_worst_in_packets(trunkline, tmp_path):
    (tmp_path / "net.yaml").write_text(NETWORK + SLAS, "utf-8")
    done = trunkline("te", "survive", "net.yaml", "--packets", "1", "--judge", "--json")
    assert done.returncode == 3, done.stderr
    expected = json.loads(done.stdout)
    assert set(expected["failures"][0]) >= {
        *("failure", "mlu", "worst_link", "lost_bit_s", "rerouted", "unprotected", "stretch_s"),
    }
    assert {each["outcome"] for each in expected["slas"] if each["by"] == "packets"} == {"refuted"}
    counts = expected["judgement"]
    assert counts["pairs"] == len(expected["slas"]) == len(expected["failures"])
    assert (
        counts["broken"] + counts["held_by_screen"] + counts["held_in_packets"] <= counts["pairs"]
    )
    assert set(expected["slas"][0]) >= {
        "sla",
        "failure",
        "bound",
        "value",
        "low",
        "high",
        "outcome",
    }
    assert trunkline("te", "protect", "net.yaml", "-o", "safe.yaml").returncode == 0
    done = trunkline(
        *("te", "survive", "safe.yaml", "--each", "link", "--packets", "2", "--judge"),
        *("--out", "tried", "--report", "page.html", "--picture", "map.svg"),
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "held" in page
    assert "<script" not in page
    assert json.loads(trunkline("study", "status", "tried", "--json").stdout)["complete"]
    again = trunkline("te", "survive", "safe.yaml", "--each", "link", "--packets", "2", "--resume")
    assert again.returncode == 2
    assert "--out" in again.stderr


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--each", "duct"), "--each takes link, node, risk, named, pair"),
        (("--judge", "--ecmp"), "--ecmp is only for the screen"),
        (("--packets", "1"), "has no `slas` to judge"),
        (("--packets", "1", "--ecmp"), "--ecmp is only for the screen"),
    ],
)
def test_what_survive_cannot_do_is_one_error(trunkline, net, options, expected):
    done = trunkline("te", "survive", net, *options)
    assert done.returncode == 2
    assert expected in done.stderr

"""`export` to configurations of routers: folders, refusals, tables."""

from __future__ import annotations

import json

import pytest

LINE = """\
trunkline: 1
nodes: [A, B, C]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {forward: {port: p}}, B-C: {}}
ports: {p: {queue: {aqm: {kind: codel}}}}
paths: {x: {route: [A, B, C], labels: [16002]}}
trunks: {t: {path: x, flows: [f]}}
flows: {f: {agent: udp, from: A, to: C, rate: 1 Mbit/s}}
run: {duration: 1 s}
"""


@pytest.fixture
def line(tmp_path):
    (tmp_path / "line.yaml").write_text(LINE)
    return "line.yaml"


def test_what_a_target_cannot_express_is_refused_at_once_and_nothing_is_written(
    trunkline, line, tmp_path
):
    done = trunkline("export", line, "--to", "iosxr", "--to", "junos", "--out", "out")
    assert done.returncode == 2
    assert "line.yaml:5:" in done.stderr
    assert "iosxr: class default: codel: routers have no codel; nearest: red" in done.stderr
    assert "junos: class default: codel" in done.stderr
    assert "iosxr: path x: its head end" in done.stderr
    assert not (tmp_path / "out").exists()


def test_partial_writes_the_rest_in_a_folder_for_each_target(trunkline, line, tmp_path):
    words = ("--to", "iosxr", "--to", "junos", "--out", "out", "--partial")
    done = trunkline("export", line, *words)
    assert done.returncode == 0, done.stderr
    names = {file.name for file in (tmp_path / "out" / "iosxr").iterdir()}
    assert {"A.cfg", "A.xml", "omissions.csv", "asked-and-expressed.csv"} <= names
    assert (tmp_path / "out" / "junos" / "C.set").exists()
    again = trunkline("export", line, *words)
    assert again.returncode == 2
    assert "--overwrite" in again.stderr


def test_json_has_files_and_both_tables(trunkline, line):
    done = trunkline("export", line, "--to", "openconfig", "--partial", "--json")
    (export,) = json.loads(done.stdout)["exports"]
    assert set(export["files"]) == {"A.json", "B.json", "C.json"}
    assert any("codel" in each["element"] for each in export["omissions"])


def test_a_label_in_the_block_of_node_labels_is_refused(trunkline, tmp_path):
    text = LINE.replace("ports: {p: {queue: {aqm: {kind: codel}}}}\n", "")
    text = text.replace("{forward: {port: p}}", "{}").replace(
        "paths: {", "paths: {s: {from: A, segments: [B, C]}, "
    )
    (tmp_path / "both.yaml").write_text(text)
    done = trunkline("export", "both.yaml", "--to", "frr", "--out", "out")
    assert done.returncode == 2
    assert "label 16002: it lies in the block of node labels, 16000 to 16002" in done.stderr
    assert "nearest: 16003" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--to", "frr"), "give --out FOLDER, or --json"),
        (("--to", "frr", "--test-bed", "--out", "x"), "--test-bed is of --to linux"),
        (("--to", "linux", "--to", "frr", "--out", "x"), "--to linux goes alone"),
        (("--to", "linux", "--partial"), "without --partial"),
    ],
)
def test_options_that_do_not_go_together_are_refused(trunkline, line, words, message):
    done = trunkline("export", line, *words)
    assert done.returncode == 2
    assert message in done.stderr


def test_chosen_addresses_and_devices_are_those_of_the_files(trunkline, line, tmp_path):
    (tmp_path / "addresses.yaml").write_text(
        "nodes: {A: 192.0.2.1}\nlinks: {A->B: {device: eth7, address: 198.51.100.1/30}}\n"
    )
    words = ("--to", "frr", "--out", "out", "--partial", "--addresses", "addresses.yaml")
    done = trunkline("export", line, *words)
    assert done.returncode == 0, done.stderr
    config = (tmp_path / "out" / "A" / "frr.conf").read_text()
    assert " ip address 192.0.2.1/32" in config
    assert "interface eth7\n" in config
    assert " ip address 198.51.100.1/30" in config


LACKING = """\
trunkline: 1
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s}}
links:
  A-B: {forward: {port: shared}}
  B-C: {forward: {port: fair}}
  B-D: {}
  D-C: {}
ports:
  shared:
    scheduler: cbq
    classify: [{tc: 5, class: voice}]
    classes: {voice: {rate: 3 Mbit/s}, default: {rate: 6 Mbit/s}}
  fair: {scheduler: fq-codel}
paths:
  p: {route: [A, B, C], ttl: pipe}
  around: {route: [B, D, C]}
protections: {x: {path: p, kind: facility-bypass, backup: around, link: [B-C]}}
trunks: {t: {path: p, flows: [f]}}
flows: {f: {agent: udp, from: A, to: C, rate: 1 Mbit/s}}
run: {duration: 1 s}
"""


@pytest.mark.parametrize("target", ["openconfig", "iosxr", "junos"])
def test_cbq_queues_by_flow_and_the_uniform_ttl_of_a_bypass_are_refused_at_once(
    trunkline, tmp_path, target
):
    (tmp_path / "lacking.yaml").write_text(LACKING)
    done = trunkline("export", "lacking.yaml", "--to", target, "--out", "out")
    assert done.returncode == 2
    for place, text in (
        ("11:16", "port shared: scheduler cbq: routers have no cbq; nearest: htb"),
        ("17:3", "path around: ttl uniform where others have pipe"),
    ):
        assert f"lacking.yaml:{place}: error[export]: {target}: {text}" in done.stderr
    assert "fair" in done.stderr
    assert not (tmp_path / "out").exists()
    partial = trunkline("export", "lacking.yaml", "--to", target, "--out", "out", "--partial")
    assert partial.returncode == 0, partial.stderr
    table = (tmp_path / "out" / "omissions.csv").read_text()
    assert "scheduler cbq" in table
    assert "path around: ttl uniform where others have pipe" in table

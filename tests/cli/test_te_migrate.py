"""`trunkline te migrate`: steps that run, what is written, and how it ends."""

from __future__ import annotations

import json

import pytest

NETWORK = """\
trunkline: 1
nodes: [A, B, C, D, T]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-T: {}, A-C: {}, C-T: {}, A-D: {}, D-T: {}}
traffic: {data: {agent: udp, size: 500 B}}
demands: {t: {file: loads.csv}, own: {from: A, to: T, rate: 5 Mbit/s, class: data}}
paths: {one: {route: [A, B, T]}, two: {route: [A, C, T]}}
trunks: {one: {path: one, demands: t}, two: {path: two, demands: own}}
run: {duration: 1 s, warm_up: 200 ms}
"""
TABLE = "from,to,rate,class\nA,T,6 Mbit/s,data\n"


@pytest.fixture
def nets(tmp_path) -> tuple[str, str]:
    """The paths change places; over D one of them can wait."""
    (tmp_path / "loads.csv").write_text(TABLE, "utf-8")
    (tmp_path / "before.yaml").write_text(NETWORK, "utf-8")
    turned = NETWORK.replace("[A, B, T]", "?").replace("[A, C, T]", "[A, B, T]")
    (tmp_path / "after.yaml").write_text(turned.replace("?", "[A, C, T]"), "utf-8")
    return "before.yaml", "after.yaml"


def test_steps_are_written_and_run_without_loss(trunkline, nets, tmp_path):
    how = ("--packets", "-o", "steps", "--picture", "steps.svg", "--report", "steps.html")
    done = trunkline("te", "migrate", *nets, *how)
    assert done.returncode == 0, done.stderr
    assert "3 steps, 1 detour, 0 preemptions" in done.stdout
    assert "3 steps in packets, 0 with loss" in " ".join(done.stdout.split())
    written = sorted(each.name for each in (tmp_path / "steps").iterdir())
    assert written == ["01-detour-one.yaml", "02-move-two.yaml", "03-move-one.yaml", "loads.csv"]
    for each in written[:3]:
        assert trunkline("run", f"steps/{each}", "--strict", "--no-report").returncode == 0
    assert (tmp_path / "steps.svg").read_text("utf-8").startswith("<?xml")
    assert "<script" not in (tmp_path / "steps.html").read_text("utf-8")
    again = trunkline("te", "migrate", *nets, "-o", "steps")
    assert (again.returncode, "steps exists" in again.stderr) == (2, True)


def test_no_order_is_status_3_with_what_it_would_need(trunkline, nets, tmp_path):
    for each in nets:
        text = (tmp_path / each).read_text("utf-8").replace(", A-D: {}, D-T: {}", "")
        (tmp_path / each).write_text(text, "utf-8")
    done = trunkline("te", "migrate", *nets)
    assert done.returncode == 3
    assert "no order keeps every link at 100 %" in done.stdout
    found = json.loads(trunkline("te", "migrate", *nets, "--json").stdout)
    assert (found["schema"], found["outcome"], found["steps"]) == (1, "impossible", [])
    # 6 and 5 on one link of 10.
    assert found["headroom"]["missing_bit_s"] == {"A->B": 1_000_000, "B->T": 1_000_000}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--bound", "much"), "--bound much:"),
        (("--bound", "50 %"), "before the migration A->B holds 6 Mbit/s"),
    ],
)
def test_bad_input_writes_nothing(trunkline, nets, tmp_path, arguments, message):
    done = trunkline("te", "migrate", *nets, *arguments, "-o", "steps", "--report", "page.html")
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "steps").exists()
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("side", "old", "new", "expected"),
    [
        (
            "after",
            "A-D: {}, D-T: {}",
            "A-D: {}",
            "before.yaml:4:54: error[relation]: the second scenario has no link D-T",
        ),
        (
            "after",
            "one: {route: [A, C, T]}",
            "one: {route: [A, C]}",
            "after.yaml:7:9: error[relation]: path one leads from A to T before, and from A to C",
        ),
        (
            "after",
            "rate: 5 Mbit/s",
            "rate: 15 Mbit/s",
            "after.yaml:4:9: error[relation]: after the migration A->B holds 15 Mbit/s",
        ),
    ],
)
def test_scenarios_that_do_not_fit_are_refused_at_their_place(
    trunkline, nets, tmp_path, side, old, new, expected
):
    file = tmp_path / f"{side}.yaml"
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
    done = trunkline("te", "migrate", *nets, "-o", "steps")
    assert done.returncode == 2
    assert expected in done.stderr
    assert not (tmp_path / "steps").exists()

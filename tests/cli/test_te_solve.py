"""`trunkline import network`, `te place` and `te solve`, as a planner types them."""

from __future__ import annotations

import json

import pytest

SNDLIB = """\
?SNDlib native format; type: network; version: 1.0
META (
  unit = MBITPERSEC
)
NODES (
  A ( 10.0 50.0 )
  B ( 11.0 50.0 )
  C ( 10.5 51.0 )
)
LINKS (
  ab ( A B ) 10.00 0.00 0.00 0.00 ( )
  bc ( B C ) 10.00 0.00 0.00 0.00 ( )
  ac ( A C ) 10.00 0.00 0.00 0.00 ( )
)
DEMANDS (
  one ( A B ) 1 6.00 UNLIMITED
  two ( C B ) 1 9.00 UNLIMITED
)
"""


@pytest.fixture
def net(tmp_path) -> str:
    (tmp_path / "net.txt").write_text(SNDLIB, "utf-8")
    return "net.txt"


def test_import_place_run_are_three_commands(trunkline, net, tmp_path):
    assert trunkline("import", "network", net, "-o", "net.yaml").returncode == 0
    done = trunkline("te", "place", "net.yaml", "-o", "placed.yaml", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert set(document["methods"][0]) == {"method", "mlu", "bound", "gap", "cost", "cost_gap"}
    found = {each["method"]: each["mlu"] for each in document["methods"]}
    # 6 from A and 9 from C on links of 10: split, 15 enter B over two links.
    assert found["placed"] == pytest.approx(0.9)
    assert found["optimum"] == pytest.approx(0.75)
    keys = {"path", "route", "bandwidth_bit_s", "placed", "why"}
    assert keys <= set(document["paths"][0])
    keys = {"link", "capacity_bit_s", "load_bit_s", "reserved_bit_s", "utilisation"}
    assert keys <= set(document["links"][0])
    ran = trunkline("run", "placed.yaml", "--no-report", "--set", "run.duration=200 ms")
    assert ran.returncode == 0, ran.stderr


def test_solve_writes_scenario_picture_page_and_json(trunkline, net, tmp_path):
    trunkline("import", "network", net, "-o", "net.yaml")
    done = trunkline(
        *("te", "solve", "net.yaml", "-o", "best.yaml"),
        *("--picture", "map.svg", "--report", "plan.html"),
    )
    assert done.returncode == 0, done.stderr
    for word in ("optimum", "unsplit", "igp-weights", "gap", "2 demands"):
        assert word in done.stdout
    assert (tmp_path / "map.svg").read_text("utf-8").startswith("<?xml")
    page = (tmp_path / "plan.html").read_text("utf-8")
    assert "igp-weights" in page
    assert "<script" not in page
    document = json.loads(trunkline("te", "solve", "net.yaml", "--json").stdout)
    assert document["schema"] == 1
    assert document["form"] == "arcs"
    found = {each["method"]: each["mlu"] for each in document["methods"]}
    assert found["unsplit"] == pytest.approx(0.9)
    placed = json.loads(trunkline("te", "place", "best.yaml", "--json").stdout)
    assert placed["methods"][0]["mlu"] == pytest.approx(0.9)


def test_a_report_shows_planned_beside_measured_load_and_the_scale(trunkline, net, tmp_path):
    trunkline("import", "network", net, "-o", "net.yaml")
    trunkline("te", "place", "net.yaml", "-o", "placed.yaml")
    placed = (tmp_path / "placed.yaml").read_text("utf-8")
    (tmp_path / "placed.yaml").write_text(placed + "scale: 50 %\n", "utf-8")
    done = trunkline("run", "placed.yaml", "--out", "r")
    assert done.returncode == 0, done.stderr
    words = "a run has 50 % of these rates: queueing times there are 2 times as long"
    assert words in done.stderr
    document = json.loads(trunkline("run", "placed.yaml", "--json").stdout)
    assert document["scale"] == 0.5
    plan = json.loads((tmp_path / "r" / "plan.json").read_text("utf-8"))
    assert plan["methods"][0]["method"] == "placed"
    page = (tmp_path / "r" / "report.html").read_text("utf-8")
    for word in (
        'id="x0-engineering"',
        "data:image/svg+xml;base64,",
        "Maximum link utilisation by method",
        "planned and measured load",
        "This run has 50 % of the rates of the network",
    ):
        assert word in page
    (tmp_path / "r" / "plan.json").write_text("[]", "utf-8")
    done = trunkline("report", "r", "--out", "again.html")
    assert done.returncode == 2
    assert "plan.json is damaged" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["net.yaml", "--method", "optimum", "-o", "x.yaml"], "the optimum splits demands at will"),
        (["net.yaml", "-o", "net.yaml"], "net.yaml exists; --overwrite replaces it"),
        (["bare.yaml"], "bare.yaml: the scenario has no demands"),
        (["net.yaml", "--form", "simplex"], "'simplex' is not one of"),
        (["net.yaml", "--evaluations", "0"], "0 is not in the range"),
    ],
)
def test_what_cannot_be_solved_ends_with_2_and_writes_nothing(
    trunkline, net, tmp_path, words, message
):
    trunkline("import", "network", net, "-o", "net.yaml")
    (tmp_path / "bare.yaml").write_text(
        "trunkline: 1\nnodes: [A, B]\nlinks: {A-B: {rate: 1 Mbit/s}}\nrun: {duration: 1 s}\n",
        "utf-8",
    )
    before = sorted(each.name for each in tmp_path.iterdir())
    done = trunkline("te", "solve", *words)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert sorted(each.name for each in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (SNDLIB.replace("( A B ) 1 6", "( A Bee ) 1 6"), [], "Bee"),
        (SNDLIB.replace(" 10.00 0.00", " 0.00 0.00"), [], "capacity"),
        (SNDLIB.replace("1 6.00", "1 -6.00"), [], "-6"),
        (
            "<!DOCTYPE x [<!ENTITY a 'b'>]><network><networkStructure>&a;</networkStructure>",
            [],
            "document type",
        ),
        (
            SNDLIB.replace("  bc ( B C )", "  bc ( A B )").replace("  ac ( A C )", "  ac ( A B )"),
            [],
            "--largest-part",
        ),
        ("graph [ node [ id 0 ] node [ id 0 ] ]", ["--capacity", "1 Gbit/s"], "0"),
        ("nothing known", [], "format"),
    ],
)
def test_networks_that_cannot_be_read_end_with_2_and_write_nothing(
    trunkline, tmp_path, text, options, message
):
    (tmp_path / "bad.txt").write_text(text, "utf-8")
    done = trunkline("import", "network", "bad.txt", *options, "-o", "net.yaml")
    assert done.returncode == 2, done.stdout
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "net.yaml").exists()


def test_robust_paths_for_every_failure_and_two_hours(trunkline, net, tmp_path):
    trunkline("import", "network", net, "-o", "net.yaml")
    (tmp_path / "hours.csv").write_text(
        "from,to,day,night\nA,B,6 Mbit/s,2 Mbit/s\nC,B,1 Mbit/s,9 Mbit/s\n", "utf-8"
    )
    done = trunkline(
        *("te", "solve", "net.yaml", "--method", "robust", "--each", "link"),
        *("-o", "safe.yaml", "--picture", "map.svg", "--report", "plan.html", "--json"),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    # Without A-B all 15 enter B over one link of 10.
    assert document["methods"][0]["mlu"] == pytest.approx(1.5)
    assert document["methods"][0]["gap"] == 0
    assert set(document["backups"]) == {"A-B", "C-B"}
    assert "backup" in (tmp_path / "plan.html").read_text("utf-8")
    screened = json.loads(trunkline("te", "survive", "safe.yaml", "--json").stdout)
    assert max(each["mlu"] for each in screened["failures"]) == pytest.approx(1.5)
    hours = trunkline("te", "solve", "net.yaml", "--method", "robust", "--matrix", "hours.csv")
    assert hours.returncode == 0, hours.stderr
    # At night 9 and 2 come to B: apart 0.9.
    assert "2 demands, 2 states: 90 % at most" in hours.stdout
    wrong = trunkline("te", "solve", "net.yaml", "--each", "link")
    assert wrong.returncode == 2
    assert "for --method robust" in wrong.stderr
    (tmp_path / "bare.csv").write_text("from,to,rate\nA,B,6\n", "utf-8")
    bare = trunkline("te", "solve", "net.yaml", "--method", "robust", "--matrix", "bare.csv")
    assert bare.returncode == 2
    assert "bare.csv:2:1" in bare.stderr

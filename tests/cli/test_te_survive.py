"""`trunkline te survive`: what mends, what replays, and what cannot be judged."""

from __future__ import annotations

import json
import re

import pytest

import trunkline as tl
from trunkline.planning import capacity_upgrade, survive

# A ring: B-C or D-A loads one link with 15 of 10 Mbit/s; A-E and A cut E off.
NETWORK = """\
trunkline: 1
nodes: [A, B, C, D, E]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, C-D: {}, D-A: {}, A-E: {}}
traffic: {data: {agent: udp, size: 500 B}}
demands:
  one: {from: A, to: C, rate: 8 Mbit/s, class: data}
  two: {from: B, to: D, rate: 7 Mbit/s, class: data}
  ip: {from: E, to: B, rate: 1 Mbit/s, class: data}
rerouting: {}
slas: {data: {dscp: DF, at_most: {loss: 5 %}}}
run: {duration: 400 ms, warm_up: 100 ms}
"""


@pytest.fixture
def net(tmp_path) -> str:
    (tmp_path / "net.yaml").write_text(NETWORK, "utf-8")
    return "net.yaml"


def test_mend_says_the_least_capacity_and_the_links_that_bind(trunkline, net):
    done = trunkline("te", "survive", net, "--mend", "--json")
    assert done.returncode == 0, done.stderr
    mend = json.loads(done.stdout)["mend"]
    # Without B-C, C's 8 come over D-C and D's 7 over A-D and C-D: over A-D go 8 + 7, 5 too many;
    # without D-A over B-C. Each link is the only way, so no routing does with less.
    assert mend["added_bit_s"] == 10_000_000
    assert mend["links"] == {"B-C": 5_000_000, "D-A": 5_000_000}
    assert set(mend["failures"]) == {"B-C", "D-A"}
    assert set(mend["binds"]) >= {"B-C", "D-A"}
    assert "2 of 2 broken" in trunkline("te", "survive", net, "--mend").stdout


def test_failures_beyond_the_program_are_checked_alone(monkeypatch):
    scenario = tl.loads(NETWORK)
    found = survive(scenario, kinds=("link",))
    monkeypatch.setattr(capacity_upgrade, "MAX_PROGRAM_COLUMNS", 1)
    mend = capacity_upgrade.find_least_upgrade(scenario, found)
    # One of B-C and D-A is in the program, for 5 Mbit/s; the other needs 5 on another link.
    assert len(mend.failures) == 1
    assert set(mend.failures + mend.unrepaired) == {"B-C", "D-A"}
    assert mend.added_bit_s == 5_000_000


def test_replays_are_reports_that_the_page_leads_to(trunkline, net, tmp_path):
    how = ("--packets", "2", "--replays", "again", "--report", "page.html")
    done = trunkline("te", "survive", net, *how)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    links = re.findall(r'href="(again/[^"]*)"', page)
    assert sorted(links) == ["again/1/report.html", "again/2/report.html"]
    for each in links:
        assert "<html" in (tmp_path / each).read_text("utf-8")
    # The folder is there: nothing is written over it, and nothing else is written either.
    before = page
    again = trunkline("te", "survive", net, *how)
    assert again.returncode == 2
    assert "page.html" in again.stderr
    assert (tmp_path / "page.html").read_text("utf-8") == before
    alone = trunkline("te", "survive", net, "--replays", "other")
    assert alone.returncode == 2
    assert "--replays needs --packets" in alone.stderr
    assert not (tmp_path / "other").exists()


def test_disconnecting_failures_are_named(trunkline, net):
    failures = json.loads(trunkline("te", "survive", net, "--json").stdout)["failures"]
    cut = {each["failure"]: each["disconnects"] for each in failures if each["disconnects"]}
    assert cut == {"A-E": ["E"], "A": ["E"]}
    assert "Failures that disconnect" in trunkline("te", "survive", net).stdout


def test_an_agreement_on_a_dscp_without_traffic_is_one_error(trunkline, tmp_path):
    text = NETWORK.replace("{dscp: DF, at_most", "{dscp: EF, at_most")
    (tmp_path / "ef.yaml").write_text(text, "utf-8")
    done = trunkline("te", "survive", "ef.yaml", "--packets", "1", "--out", "tried")
    assert done.returncode == 2
    assert "no flow sends with DSCP EF" in done.stderr
    assert not (tmp_path / "tried").exists()


def test_a_judgement_of_pairs_leaves_none_out(trunkline, net, monkeypatch):
    monkeypatch.setattr("trunkline.planning.failure_screening.CERTAIN_WORST_PAIRS", 1)
    scenario = tl.loads(NETWORK)
    # Ten pairs of five links; the screen of loads alone ends as soon as the worst is certain.
    assert survive(scenario, kinds=("pair",)).left_out is not None
    assert survive(scenario, kinds=("pair",), every_pair=True).left_out is None
    done = trunkline("te", "survive", net, "--each", "pair", "--judge")
    assert "10 failures x bounds" in " ".join(done.stdout.split())
    assert done.returncode == 3


def test_drained_each_with_out_keeps_the_runs_of_each_outage(trunkline, net, tmp_path):
    how = ("te", "survive", net, "--drained", "each", "--each", "link", "--packets", "1")
    how = (*how, "--runs", "2", "--json", "--progress", "json")
    first = trunkline(*how, "--out", "tried")
    assert first.returncode == 0, first.stderr
    links = ("A-B", "A-E", "B-C", "C-D", "D-A")
    assert sorted(each.name for each in (tmp_path / "tried").iterdir() if each.is_dir()) == [*links]
    document = json.loads(first.stdout)
    assert {each["link"] for each in document["drained"]} == set(links)
    # Each folder is the study of the failure that its outage needs most.
    by_packets = [each["failure"] for each in document["slas"] if each["by"] == "packets"]
    assert sorted(each.rpartition(" + ")[2] for each in by_packets) == [*links]
    for failure in by_packets:
        shown = trunkline("study", "show", f"tried/{failure.rpartition(' + ')[2]}", "--json")
        assert shown.returncode == 0, shown.stderr
        assert failure in shown.stdout
    again = trunkline(*how, "--out", "tried", "--resume")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == document
    # Nothing was run again: each study begins with all of its two runs done.
    studies = [json.loads(each) for each in again.stderr.splitlines() if '"of": 2' in each]
    assert studies
    assert all(each["done"] == 2 for each in studies)
    refused = trunkline(*how, "--out", "tried")
    assert refused.returncode == 2

"""`trunkline te grow`: what is printed, the page for management, and bad input."""

from __future__ import annotations

import json

import pytest

NETWORK = """\
trunkline: 1
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, C-D: {}, D-A: {}}
traffic: {data: {agent: udp, size: 500 B}}
demands: {t: {file: loads.csv}}
rerouting: {}
run: {duration: 1 s}
"""
MODULE = ("--module", "2M=2 Mbit/s@30")


@pytest.fixture
def net(tmp_path) -> str:
    (tmp_path / "loads.csv").write_text(
        "from,to,rate,class\nA,C,4 Mbit/s,data\nB,D,3 Mbit/s,data\n", "utf-8"
    )
    (tmp_path / "net.yaml").write_text(NETWORK, "utf-8")
    return "net.yaml"


def test_growth_upgrade_and_page_by_one_command(trunkline, net, tmp_path):
    how = ("--by", "20 %/year", "--years", "4", "--each", "link", *MODULE)
    files = ("-o", "up.yaml", "--picture", "curve.svg", "--report", "page.html")
    done = trunkline("te", "grow", net, *how, *files)
    assert done.returncode == 0, done.stderr
    last = " ".join(done.stdout.split())
    assert "it breaks first in year 2: B-C overloads A->D" in last
    assert "2 links upgraded for 180 carry year 4" in last
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "How long does net carry its traffic" in page
    assert "<script" not in page
    assert "@page{size:A4" in page
    assert (tmp_path / "curve.svg").read_text("utf-8").startswith("<?xml")
    survived = json.loads(trunkline("te", "survive", "up.yaml", "--each", "link", "--json").stdout)
    assert survived["failures"][0]["mlu"] < 1
    found = json.loads(trunkline("te", "grow", net, *how, "--json").stdout)
    assert found["schema"] == 1
    assert found["any_routes"]["bound"] == 180


def test_a_catalogue_that_is_not_enough_is_status_3(trunkline, net, tmp_path):
    text = NETWORK + "te: {modules: {2M: {rate: 2 Mbit/s, cost: 30, most: 1}}}\n"
    (tmp_path / "net.yaml").write_text(text, "utf-8")
    done = trunkline("te", "grow", net, "--by", "20 %", "--each", "link", "-o", "up.yaml")
    assert done.returncode == 3
    assert "the catalogue is not enough" in done.stdout
    assert not (tmp_path / "up.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give --by RATE"),
        (("--by", "-3 %"), "growth:"),
        (("--by", "10 %", "--by", "20 %"), "--by gives all demands twice"),
        (("--by", "video=10 %"), "no demand is of class video"),
        (("--scale-demands", "2..1"), "grow from a factor above 0 to a larger one"),
        (("--scale-demands", "1"), "grow from a factor above 0 to a larger one"),
        (("--scale-demands", "1..2", "--years", "3"), "--scale-demands is in place of"),
        (("--by", "10 %", "--each", "pair"), "--each takes link, node, risk, named or none"),
        (("--by", "10 %", "--module", "10G"), "--module takes NAME=RATE@COST"),
        (("--by", "10 %", "--module", "10G=fast@3"), "te.modules.10G.rate"),
        (("--by", "10 %", "--bound", "0"), "net.yaml:"),
        (("--by", "10 %", "--cluster", "local:2"), "are for the screen of agreements"),
        (("--by", "10 %", "--cluster", "local:0"), "cluster 'local:0' is not like local:2"),
        (("--by", "20000 %"), "at most 10000 % a year"),
        (("--by", "10 %", "-o", "up.yaml"), "--out needs modules"),
    ],
)
def test_bad_input_writes_nothing(trunkline, net, tmp_path, arguments, message):
    done = trunkline("te", "grow", net, *arguments, "--report", "page.html")
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert not (tmp_path / "page.html").exists()
    assert not (tmp_path / "up.yaml").exists()


def test_a_growth_that_was_interrupted_goes_on_where_it_was(trunkline, net, tmp_path):
    text = NETWORK + "slas: {data: {dscp: DF, at_most: {loss: 1 %}}}\n"
    (tmp_path / "net.yaml").write_text(text, "utf-8")
    how = ("te", "grow", net, "--by", "20 %", *MODULE, "--json", "--progress", "json")
    full = trunkline(*how, "-o", "full.yaml")
    assert full.returncode == 0, full.stderr
    # What an interruption leaves: some levels of today and of the last year.
    journal = tmp_path / "up.yaml.screen.jsonl"
    lines = (tmp_path / "full.yaml.screen.jsonl").read_text("utf-8").splitlines(keepends=True)
    journal.write_text("".join([*lines[:11], lines[11][:20]]), "utf-8")
    again = trunkline(*how, "-o", "up.yaml", "--resume")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == json.loads(full.stdout)
    assert (tmp_path / "up.yaml").read_bytes() == (tmp_path / "full.yaml").read_bytes()
    assert journal.read_text("utf-8").splitlines(keepends=True)[:11] == lines[:11]
    assert len(journal.read_text("utf-8").splitlines()) == len(lines)
    ends = [json.loads(each.stderr.splitlines()[-2]) for each in (full, again)]
    assert [each["done"] for each in ends] == [each["of"] for each in ends]
    # Another growth is another screen, from its beginning.
    other = trunkline(*how, "--years", "3", "-o", "up.yaml", "--resume", "--overwrite")
    assert other.returncode == 0, other.stderr
    assert journal.read_text("utf-8").splitlines()[0] != lines[0].strip()
    alone = trunkline("te", "grow", net, "--by", "20 %", "--resume")
    assert alone.returncode == 2
    assert "--resume needs --out" in alone.stderr


def test_an_agreement_that_breaks_is_said_though_no_link_is_overloaded(trunkline, net, tmp_path):
    text = NETWORK + "slas: {data: {dscp: DF, at_most: {delay_mean: 1 ms, loss: 30 %}}}\n"
    (tmp_path / "net.yaml").write_text(text, "utf-8")
    done = trunkline("te", "grow", net, "--by", "1 %", "--years", "1", "--each", "link")
    last = " ".join(done.stdout.split())
    assert "it carries all until year 1" in last
    # Two hops of 1 ms are more than the bound; nothing is lost for longer than detection takes.
    assert "of the agreements data breaks first (today, delay_mean)" in last
    assert "of 8 failures x bounds 4 break, 0 are open, 4 are held" in last


def test_a_catalogue_that_lacks_many_links_names_some_and_counts_the_others(trunkline, net):
    how = ("--by", "100 %", "--module", "1k=1 kbit/s@1", "--each", "link")
    done = trunkline("te", "grow", net, *how)
    assert done.returncode == 3
    found = json.loads(trunkline("te", "grow", net, *how, "--json").stdout)
    missing = found["kept_routes"]["missing"]
    assert len(missing) > 3
    printed = f"the catalogue is not enough for {', '.join(missing[:3])}, {len(missing) - 3} more"
    assert printed in " ".join(done.stdout.split())


def test_growth_above_100_percent_a_year_and_a_bound_above_100_percent(trunkline, net):
    how = ("te", "grow", net, "--by", "150 %/year", "--years", "1", "--each", "link")
    found = json.loads(trunkline(*how, "--bound", "180 %", "--json").stdout)
    # Without B-C a link carries 7 of 10, after a year 17.5.
    assert found["periods"][1]["worst_mlu"] == pytest.approx(1.75)
    assert all(each["period"] is None for each in found["failures"])

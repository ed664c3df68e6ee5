"""Whatever averages nothing is null in what the commands print and write, and a dash in tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ..conftest import RunCommand

# The SYN and its ACK alone come through: the first segment is lost, and sent again after the end.
SYN_ALONE = """
trunkline: 1
parameters: {start: 0 s}
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s, lose: [{flow: bulk, segment: 0}]}}
flows:
  bulk: {agent: tcp, from: A, to: B, connect: true, size: 1000 B, start: $start}
  call: {agent: udp, from: A, to: B, dscp: EF, call: {codec: g729a}, start: 500 ms}
  web: {agent: tcp, from: A, to: B, pages: {users: 1, reading: 1 s}, start: 499 ms}
slas:
  delays: {flow: bulk, at_most: {delay_p99: 20 ms, delay_max: 20 ms, delay_mean: 20 ms}}
  pages: {flow: web, at_most: {page_p50: 1 s}}
  calls: {flow: call, at_least: {mos: 1}}
probes: [{flow: bulk, measure: [delay, goodput, rtt], every: 10 ms}]
run: {duration: 500 ms}
"""
STUDY = """
study: 1
name: empty
title: A flow of which a SYN arrives, or nothing
scenario: syn.yaml
runs: 2
grid: {start: [0 s, 500 ms]}
columns: {delay: {measure: delay_p99_s, where: {flow: bulk}, unit: ms}}
"""
NOT_A_NUMBER = re.compile(r"\bnan\b|\binf\b|-1 ns|\bNaN\b|\bInfinity\b")


def refuse(constant: str) -> None:
    raise AssertionError(constant)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    (tmp_path / "syn.yaml").write_text(SYN_ALONE, "utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "run syn.yaml",
        "run syn.yaml --runs 2",
        "run syn.yaml --runs 2 --interval bca",
        "run syn.yaml --engine fluid",
        "compare syn.yaml syn.yaml --runs 2",
        "compare syn.yaml syn.yaml --runs 2 --metric calls.mos --metric jitter_s --within 5%",
        "diff syn.yaml syn.yaml",
        "study run study.yaml --out study --progress none",
        "reproduce ./study.yaml --progress none",
    ],
)
def test_commands_print_json_of_numbers_and_nulls_and_tables_with_dashes(
    trunkline: RunCommand, there: Path, words: str
) -> None:
    about = trunkline(*words.split(), "--json", cwd=there)
    assert about.returncode == 0, about.stderr
    json.loads(about.stdout, parse_constant=refuse)
    again = words.replace("--out study", "--out again").split()
    shown = trunkline(*again, cwd=there)
    assert shown.returncode == 0, shown.stderr
    assert NOT_A_NUMBER.findall(shown.stdout) == []


def test_a_flow_whose_syn_alone_arrived_has_dashes_and_breaks_its_agreements(
    trunkline: RunCommand, there: Path
) -> None:
    done = trunkline("run", "syn.yaml", "--judge", cwd=there)
    assert done.returncode == 3, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    for measure in ("delay_p99", "delay_max", "delay_mean"):
        assert f"delays bulk {measure} at most 20 ms BROKEN – –" in lines
    assert "calls call mos at least 1.00 not judged – –" in lines
    assert "pages web page_p50 at most 1 s not judged – –" in lines
    assert "bulk DF 0 bit/s 1.408 kbit/s 33.3 % – – – 0" in lines
    assert "call EF 0 bit/s 0 bit/s – – – – –" in lines


def test_what_is_written_of_it_can_be_reported_inspected_and_drawn(
    trunkline: RunCommand, there: Path
) -> None:
    for words in (
        "run syn.yaml --out one",
        "run syn.yaml --runs 2 --out two",
        "run syn.yaml --engine fluid --out fluid",
        "study run study.yaml --out study --progress none",
        "report two",
        "report study",
        "plot two goodput -o goodput.png",
        "plot two bars -o bars.png",
        "compare one two",
        "compare two fluid",
    ):
        done = trunkline(*words.split(), cwd=there)
        assert done.returncode == 0, (words, done.stderr)
        assert NOT_A_NUMBER.findall(done.stdout) == [], words
    for page in ("one", "two", "fluid", "study"):
        written = (there / page / "report.html").read_text("utf-8")
        assert re.findall(r'data-sort="[^"]*(?:nan|inf)[^"]*"|[ >](?:nan|NaN) ', written) == [], (
            page
        )
    for folder in ("one", "fluid"):
        story = trunkline("inspect", folder, "--flow", "bulk", cwd=there)
        assert story.returncode == 0, story.stderr
        assert NOT_A_NUMBER.findall(story.stdout) == []
        assert "one-way delay" not in story.stdout
    lacking = trunkline("plot", "two", "cdf", "-o", "cdf.png", cwd=there)
    assert (lacking.returncode, "no data arrived" in lacking.stderr) == (2, True)


def test_what_a_flow_that_sent_nothing_was_promised_is_not_judged(
    trunkline: RunCommand, tmp_path: Path
) -> None:
    """Beside it other flows keep a bound, which stays open, or break it."""
    (tmp_path / "silent.yaml").write_text(
        """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s}}
flows:
  busy: {agent: udp, from: A, to: B, rate: 1 Mbit/s}
  silent: {agent: udp, from: A, to: B, rate: 1 Mbit/s, stop: 100 ms}
slas:
  alone: {flow: silent, at_most: {delay_p99: 20 ms, loss: 1 %}}
  kept: {flow: all, at_most: {delay_max: 20 ms}}
  broken: {flow: all, at_most: {delay_max: 20 us}}
run: {duration: 1 s, warm_up: 200 ms}
""",
        "utf-8",
    )
    done = trunkline("run", "silent.yaml", "--judge", "--json")
    assert done.returncode == 3
    outcomes = [(each["sla"], each["outcome"]) for each in json.loads(done.stdout)["slas"]]
    assert outcomes == [
        ("alone", "not judged"),
        ("alone", "not judged"),
        ("kept", "not judged"),
        ("broken", "broken"),
    ]

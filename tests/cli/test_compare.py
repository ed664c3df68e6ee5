"""``trunkline compare`` and ``trunkline diff`` on the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from trunkline.results import store

from ..conftest import MD1_SCENARIO, RunCommand


@pytest.fixture
def file(tmp_path: Path) -> str:
    """An M/D/1 queue."""
    (tmp_path / "md1.yaml").write_text(MD1_SCENARIO, "utf-8")
    return "md1.yaml"


def test_compare_judges_two_settings_of_one_file(trunkline: RunCommand, file: str) -> None:
    done = trunkline("compare", file, file, "--set-b", "load=0.45", "--judge", "--runs", "5")
    assert done.returncode == 3
    assert "B lower" in done.stdout
    assert "5 pairs of runs, seeds 1 to 5" in done.stdout
    assert "metrics differ (Holm" in done.stdout


def test_compare_prints_one_json_object(trunkline: RunCommand, file: str) -> None:
    words = ("compare", file, file, "--set-b", "load=0.499", "--json", "--within", "5%", "--judge")
    done = trunkline(*words, "--metric", "ports.wait_mean_s", "--set", "run.duration='4 s'")
    assert done.returncode == 0
    about = json.loads(done.stdout)
    assert about["held"]
    assert about["seeds"] == list(range(1, 11))
    assert about["differences"][0]["verdict"] == "within"
    assert {"mean", "low", "high", "n"} <= set(about["differences"][0]["difference"])


def test_compare_replicates_until_the_differences_are_sure(
    trunkline: RunCommand, file: str
) -> None:
    words = ("compare", file, file, "--set-b", "load=0.4", "--until-ci", "5%", "--json")
    done = trunkline(*words, "--metric", "ports.wait_mean_s")
    about = json.loads(done.stdout)
    assert about["precision"]["reached"]
    assert about["precision"]["runs"] == len(about["seeds"]) >= 10
    assert f"{len(about['seeds'])} runs reach ± 5 %" in done.stderr
    # With seeds of its own, each side would need more runs.
    assert about["precision"]["plain_runs"] > about["precision"]["runs"]
    assert f"plain replication would need about {about['precision']['plain_runs']}" in done.stderr


def test_compare_takes_control_variates_of_both_sides(
    trunkline: RunCommand, file: str, tmp_path: Path
) -> None:
    words = ("compare", file, file, "--set-b", "load=0.4", "--runs", "12", "--json")
    plain, controlled = (
        json.loads(trunkline(*words, "--metric", "goodput_bit_s", "--interval", name).stdout)
        for name in ("t", "controlled")
    )
    low, high = (
        [each["differences"][0]["difference"][end] for each in (plain, controlled)]
        for end in ("low", "high")
    )
    assert high[1] - low[1] < 0.2 * (high[0] - low[0])
    # A tenth of 10 Mbit/s, without the 28 B of headers in each packet of 1250 B.
    assert low[1] <= -1e6 * 1222 / 1250 <= high[1]
    text = MD1_SCENARIO.replace("arrivals: poisson, ", "")
    (tmp_path / file).write_text(text, "utf-8")
    done = trunkline(*words, "--interval", "controlled")
    assert done.returncode == 2
    assert "needs a source whose mean count is known" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--metric", "goodput"], "flows has no measure 'goodput'"),
        (["--metric", "goodput_bit_s@x"], "no row 'x' on either side"),
        (["--within", "5"], "no percentage"),
        (["--set-b", "lod=1"], "load"),
        (["--seed", str(2**64 - 1)], "goes beyond 2^64 - 1"),
    ],
)
def test_compare_refuses_wrong_options(
    trunkline: RunCommand, file: str, words: list[str], message: str
) -> None:
    done = trunkline("compare", file, file, *words)
    assert done.returncode == 2
    assert message in done.stderr


def test_results_are_compared_and_damaged_ones_refused(
    trunkline: RunCommand, file: str, tmp_path: Path
) -> None:
    assert trunkline("run", file, "--runs", "3", "--out", "kept").returncode == 0
    done = trunkline("compare", "kept", file, "--judge")
    assert done.returncode == 0
    assert "identical: all 3 runs have the same results hash" in done.stdout
    assert "nothing can be set" in trunkline("compare", "kept", file, "--set-a", "load=1").stderr
    assert (
        "--engine is for scenarios"
        in trunkline("compare", "kept", file, "--engine-a", "linux").stderr
    )
    until = trunkline("compare", "kept", file, "--until-ci", "5%")
    assert "stored results get no more runs" in until.stderr
    assert (
        "stored results already have seeds"
        in trunkline("compare", "kept", file, "--seed", "1").stderr
    )
    (tmp_path / "kept" / "run.json").write_text("{}", "utf-8")
    done = trunkline("compare", "kept", file)
    assert done.returncode == 2
    assert "kept cannot be read" in done.stderr
    (tmp_path / "empty").mkdir()
    assert "holds no results" in trunkline("compare", "empty", file).stderr


def test_diff_says_identical_with_the_hash(trunkline: RunCommand, file: str) -> None:
    trunkline("run", file, "--runs", "2", "--out", "a")
    trunkline("run", file, "--runs", "2", "--out", "b")
    done = trunkline("diff", "a", "b", "--judge")
    assert done.returncode == 0
    assert done.stdout.startswith("identical: 2 runs, results hash of the first ")
    assert json.loads(trunkline("diff", "a", "b", "--json").stdout)["identical"]


def test_diff_names_the_packet_the_place_and_the_cause(trunkline: RunCommand, file: str) -> None:
    trunkline("run", file, "--out", "a")
    trunkline("run", file, "--set", "links.S-R.delay='1 ms'", "--out", "b")
    done = trunkline("diff", "a", "b", "--judge")
    assert done.returncode == 3
    # The first packet leaves at 0 in both; 1 ms on the wire, none or 1 ms of delay.
    assert "seed 1: the runs diverge at 0.001000000 s at link S->R" in done.stdout
    assert "packet: poisson, forward, number 0" in done.stdout
    assert "B: does so 1000 us later" in done.stdout
    assert "why: links[S->R].delay_ns: 0 in A, 1000000 in B" in done.stdout
    assert trunkline("diff", "a", "b").returncode == 0
    about = json.loads(trunkline("diff", "a", "b", "--json").stdout)
    assert about["divergence"]["time_ns"] == 1_000_000
    assert any(text.startswith("flows.") for text in about["tables"])


def test_diff_compares_the_tables_alone_where_a_kernel_ran(
    trunkline: RunCommand, file: str, tmp_path: Path
) -> None:
    trunkline("run", file, "--out", "a")
    trunkline("run", file, "--set", "links.S-R.delay='1 ms'", "--out", "b")
    runs = store.read_results(tmp_path / "b")
    for run in runs:
        run.provenance = replace(run.provenance, version="0.1.0 linux 6.1.192 uml")
    network = (tmp_path / "b" / store.NETWORK_FILE).read_text()
    store.write_results(runs, tmp_path / "b", network_json=network, overwrite=True)
    done = trunkline("diff", "a", "b", "--judge")
    assert done.returncode == 3
    first, *tables = done.stdout.splitlines()
    assert first == "seed 1: for runs in Linux 6.1.192 uml, only the tables are compared"
    assert tables
    assert all(line.startswith("  tables: ") for line in tables)


def test_diff_of_other_seeds_is_asked_for(trunkline: RunCommand, file: str) -> None:
    trunkline("run", file, "--out", "a")
    trunkline("run", file, "--seed", "2", "--out", "b")
    assert "have no seed in common" in trunkline("diff", "a", "b").stderr
    assert "has no run of seed 7" in trunkline("diff", "a", "b", "--seed", "7").stderr
    shown = trunkline("diff", "a", "b", "--seed", "1", "--seed-b", "2").stdout
    assert "seeds 1 and 2: the runs diverge at" in shown
    assert "why: the seeds differ, 1 and 2" in shown


def test_a_name_that_would_steer_the_terminal_is_spelt_out(
    trunkline: RunCommand, tmp_path: Path
) -> None:
    (tmp_path / "a\x1b[31m.yaml").write_text(MD1_SCENARIO, "utf-8")
    done = trunkline("compare", "a\x1b[31m.yaml", "a\x1b[31m.yaml", "--runs", "2")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout


MANY = """\
trunkline: 1
parameters: {rate: 1 Mbit/s}
nodes: [A, B]
links: {A-B: {rate: $rate}}
traffic: {data: {agent: udp, arrivals: poisson, size: 500 B}}
demands:
DEMANDS
run: {duration: 1 s}
"""


def test_of_many_differences_the_largest_are_shown_and_all_where_all_are_asked_for(
    trunkline, tmp_path
):
    each = "\n".join(f"  d{n}: {{from: A, to: B, rate: 20 kbit/s, class: data}}" for n in range(30))
    (tmp_path / "many.yaml").write_text(MANY.replace("DEMANDS", each))
    both = ("compare", "many.yaml", "many.yaml", "--set-b", "rate=2 Mbit/s", "--runs", "2")
    few = trunkline(*both).stdout
    assert "the 40 largest of 120 differences: --all" in few
    assert sum(few.count(f" d{n} ") for n in range(30)) == 40
    every = trunkline(*both, "--all").stdout
    assert "--all" not in every
    assert sum(every.count(f" d{n} ") for n in range(30)) == 120

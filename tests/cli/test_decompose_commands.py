"""``run --decompose`` and ``te delays``: what they print, judge and refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

RING = """
trunkline: 1
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms, port: per-class}}
nodes: [A, B, C, D]
links: {A-B: {}, B-C: {}, C-D: {}, D-A: {}}
ports: {per-class: {preset: diffserv}}
flows:
  voice: {agent: udp, from: A, to: C, dscp: EF, arrivals: poisson, rate: 1 Mbit/s, size: 200 B}
  data: {agent: udp, from: A, to: C, arrivals: poisson, rate: 5 Mbit/s, size: 1000 B}
  more: {agent: udp, from: D, to: C, arrivals: poisson, rate: 3 Mbit/s, size: 1000 B}
rerouting: {detection: {kind: loss-of-signal, delay: 10 ms}}
slas:
  voice: {dscp: EF, at_most: {delay_p99: 8 ms, loss: 1 %}}
  best: {dscp: DF, at_most: {delay_p99: BOUND}}
run: {duration: 4 s, warm_up: 500 ms}
"""


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "ring.yaml"
    path.write_text(RING.replace("BOUND", "200 ms"))
    return path


@pytest.fixture
def run(trunkline: Callable[..., CompletedProcess[str]]) -> Callable[..., tuple[int, str]]:
    def call(*arguments: str) -> tuple[int, str]:
        done = trunkline(*arguments)
        as_json = "--json" in arguments and done.stdout
        return done.returncode, done.stdout if as_json else done.stdout + done.stderr

    return call


def test_a_decomposed_run_prints_its_error(run: Callable[..., tuple[int, str]], ring: Path) -> None:
    code, output = run("run", str(ring), "--decompose", "--link-packets", "20000", "--check", "1 s")
    assert code == 0
    assert "Error against a full run" in output
    assert "each link simulated alone" in output
    assert "one run gives no confidence intervals" not in output
    code, output = run("run", str(ring), "--decompose", "--link-packets", "20000", "--json")
    document = json.loads(output)
    assert document["engine"] == "decomposed"
    # Four links one way each carry packets, of three loads.
    assert document["decomposition"]["links"] == 3
    assert {each["dscp"] for each in document["decomposition"]["check"]["classes"]} == {"EF", "DF"}


def test_every_failure_has_the_delay_that_a_full_run_of_it_measures(
    run: Callable[..., tuple[int, str]], ring: Path, tmp_path: Path
) -> None:
    """Without A-B voice and data go over D, where `more` joins them."""
    code, output = run("te", "delays", str(ring), "--link-packets", "200000", "--json")
    assert code == 0
    found = json.loads(output)
    assert found["failures"] == 4
    cut = tmp_path / "cut.yaml"
    cut.write_text(
        ring.read_text().replace("links: {A-B: {}, ", "links: {").replace("4 s", "100 s")
    )
    full = json.loads(run("run", str(cut), "--json")[1])
    p99 = {row["dscp"]: row["delay_p99_s"] for row in full["aggregates"]}
    for each in found["classes"]:
        if each["failure"] == "A-B":
            assert each["delay_p99_s"] == pytest.approx(p99[each["dscp"]], rel=0.06)
            assert each["cut_flows"] == 0


@pytest.mark.parametrize(
    ("bound", "code", "line"),
    [("200 ms", 0, "0 of 15 bounds broken, 15 held"), ("4 ms", 3, "bounds broken")],
)
def test_agreements_are_judged_after_every_failure(
    run: Callable[..., tuple[int, str]], ring: Path, bound: str, code: int, line: str
) -> None:
    ring.write_text(RING.replace("BOUND", bound))
    found, output = run(
        "te", "delays", str(ring), "--judge", "--link-packets", "50000", "--check", "2 s"
    )
    assert line in output
    assert found == code


def test_a_bound_within_the_error_is_undecided(
    run: Callable[..., tuple[int, str]], ring: Path
) -> None:
    """The bound is the value itself: no error is small enough to decide."""
    output = run("te", "delays", str(ring), "--link-packets", "50000", "--json")[1]
    value = next(
        each["value"]
        for each in json.loads(output)["judgements"]
        if each["sla"] == "best" and each["failure"] == "none"
    )
    ring.write_text(RING.replace("BOUND", f"{round(value * 1e9)} ns"))
    code, output = run("te", "delays", str(ring), "--link-packets", "50000", "--json", "--judge")
    outcomes = {
        each["failure"]: each["outcome"]
        for each in json.loads(output)["judgements"]
        if each["sla"] == "best"
    }
    assert outcomes["none"] == "undecided"
    assert "broken" in outcomes.values()
    assert code == 3


def test_a_check_without_packets_judges_nothing(
    run: Callable[..., tuple[int, str]], ring: Path
) -> None:
    code, output = run(
        "te", "delays", str(ring), "--link-packets", "5000", "--check", "1 us", "--judge"
    )
    assert code == 6
    assert "NOT CHECKED" in output
    assert "15 not judged" in output
    # The slowest class has 625 packets a second, so 1200 take 2 s, or 6,000 packet-hops: well below
    # a second of a core.
    assert "--check '1 s' would do" in " ".join(output.split())
    output = run("te", "delays", str(ring), "--link-packets", "5000", "--check", "1 s")[1]
    assert "NOT CHECKED" not in output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--decompose", "--engine", "fluid"), "not for --engine fluid"),
        (("--decompose", "--runs", "3"), "exclude each other"),
        (("--decompose", "--judge"), "exclude each other"),
        (("--check", "3 s"), "are for --decompose"),
        (("--cluster", "local:2"), "are for --decompose"),
        (("--decompose", "--resume"), "--resume needs --out"),
        (("--decompose", "--cluster", "local:2", "--threads", "2"), "give one"),
        (("--decompose", "--cluster", "local:none"), "is not like local:2"),
        (("--decompose", "--check", "soon"), "no time"),
    ],
)
def test_options_that_exclude_each_other(
    run: Callable[..., tuple[int, str]], ring: Path, options: tuple[str, ...], words: str
) -> None:
    code, output = run("run", str(ring), *options)
    assert code == 2
    assert words in output


def test_tcp_is_refused_with_its_line(run: Callable[..., tuple[int, str]], ring: Path) -> None:
    ring.write_text(RING.replace("BOUND", "1 s").replace(
        "arrivals: poisson, rate: 3 Mbit/s, size: 1000 B}", "to: C}").replace(
        "agent: udp, from: D, to: C, to: C", "agent: tcp, from: D, to: C"))  # fmt: skip
    for command in (("run", str(ring), "--decompose"), ("te", "delays", str(ring))):
        code, output = run(*command)
        assert code == 2
        assert "ring.yaml:10:" in output
        assert "heeds congestion" in output


def test_without_rerouting_a_failure_cuts_what_crosses_it(
    run: Callable[..., tuple[int, str]], ring: Path
) -> None:
    """Routes stay, so without C-D all flows that go over it are lost, and no others."""
    text = ring.read_text()
    ring.write_text("".join(line for line in text.splitlines(True) if "rerouting" not in line))
    code, output = run("te", "delays", str(ring), "--link-packets", "5000", "--json")
    assert code == 0
    cut = {
        (each["failure"], each["dscp"]): each["cut_flows"] for each in json.loads(output)["classes"]
    }
    assert [cut[failure, "DF"] for failure in ("none", "A-B", "B-C", "C-D", "D-A")] == [
        0,
        1,
        1,
        1,
        0,
    ]
    assert cut["B-C", "EF"] == 1


def test_links_that_were_kept_do_not_run_again(
    run: Callable[..., tuple[int, str]], ring: Path, tmp_path: Path
) -> None:
    """Half of the kept lines and a torn one are left: resumed, all values are those of a whole."""
    links = ("--link-packets", "20000", "--check", "500 ms")
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    assert run("te", "delays", str(ring), *links, "--out", str(first))[0] == 0
    kept = tmp_path / "first.json.links.jsonl"
    lines = kept.read_text().splitlines(keepends=True)
    assert len(lines) > 4
    doctored = json.loads(lines[0])
    # A known link is taken as it is in the file, so this shows that it did not run again.
    for row in doctored["waits"]:
        row[4] = 0.5
    again = tmp_path / "second.json.links.jsonl"
    again.write_text(lines[1] + lines[2] + lines[3][:100])
    assert run("te", "delays", str(ring), *links, "--out", str(second), "--resume")[0] == 0
    assert second.read_bytes() == first.read_bytes()
    assert sorted(again.read_text().splitlines(True)) == sorted(lines)
    kept.write_text(json.dumps(doctored) + "\n" + "".join(lines[1:]))
    again = run("te", "delays", str(ring), *links, "--out", str(first), "--resume", "--overwrite")
    assert again[0] == 0
    assert max(each["loss"] for each in json.loads(first.read_text())["classes"]) >= 0.5


@pytest.mark.slow
def test_links_run_on_a_cluster_as_on_threads(
    run: Callable[..., tuple[int, str]], ring: Path, tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    links = ("run", str(ring), "--decompose", "--link-packets", "20000", "--check", "500 ms")
    threads, cluster = (
        run(*links, "--json", "--out", str(tmp_path / name), *where)
        for name, where in (("a", ("--threads", "2")), ("b", ("--cluster", "local:2")))
    )
    assert threads[0] == cluster[0] == 0
    one, two = (json.loads(each[1]) for each in (threads, cluster))
    assert one == two
    kept = [(tmp_path / f"{name}.links.jsonl").read_text().splitlines() for name in "ab"]
    assert sorted(kept[0]) == sorted(kept[1])
    assert len(kept[0]) == one["decomposition"]["link_runs"]


SURVIVE = ("--each", "link", "--json", "--set", "run.duration='40 s'")


def read_slas(output: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    document = json.loads(output)
    return {(each["sla"], each["measure"], each["failure"]): each for each in document["slas"]}


def test_links_alone_judge_what_packets_measure_under_every_failure(
    run: Callable[..., tuple[int, str]], ring: Path
) -> None:
    """The percentiles of a run with a failure in it, a quarter of the time without it."""
    bounds = "delay_p99: 13 ms, delay_p90: 8 ms, delay_p50: 4 ms, delay_mean: 3100 us"
    ring.write_text(RING.replace("delay_p99: BOUND", bounds))
    links = ("--link-packets", "200000", "--check", "4 s")
    code, output = run("te", "survive", str(ring), *SURVIVE, "--judge", "--decompose", *links)
    assert code == 3
    by_links = read_slas(output)
    errors = json.loads(output)["check"]["classes"]
    assert [each["dscp"] for each in errors] == ["EF", "DF"]
    code, output = run("te", "survive", str(ring), *SURVIVE, "--packets", "4", "--runs", "6")
    by_packets = read_slas(output)
    measured = [key for key, each in by_links.items() if each["by"] == "links"]
    assert len(measured) >= 12
    assert {measure for _, measure, _ in measured} >= {"delay_p99", "delay_p90", "delay_p50"}
    for key in measured:
        ours, theirs = by_links[key], by_packets[key]
        half = (theirs["high"] - theirs["low"]) / 2
        error = ours["high"] - ours["value"]
        assert abs(ours["value"] - theirs["value"]) <= error + half + 0.02 * theirs["value"], key
        if theirs["outcome"] in ("held", "refuted") and ours["outcome"] != "undecided":
            assert ours["outcome"] == theirs["outcome"], key


def test_a_bound_within_the_error_of_links_alone_is_undecided_under_a_failure(
    run: Callable[..., tuple[int, str]], ring: Path
) -> None:
    how = (
        "te",
        "survive",
        str(ring),
        *SURVIVE,
        "--judge",
        "--decompose",
        "--link-packets",
        "20000",
    )
    ring.write_text(RING.replace("BOUND", "9 ms"))
    key = ("best", "delay_p99", "C-D")
    value = read_slas(run(*how)[1])[key]["value"]
    ring.write_text(RING.replace("BOUND", f"{round(value * 1e9)} ns"))
    found = read_slas(run(*how)[1])[key]
    assert (found["outcome"], found["by"]) == ("undecided", "links")
    assert found["low"] < found["bound"] < found["high"]


def test_te_survive_decomposes_only_what_it_judges(
    run: Callable[..., tuple[int, str]], ring: Path
) -> None:
    for options, words in (
        (("--decompose",), "--decompose needs --judge or --packets"),
        (("--judge", "--check", "1 s"), "are for --decompose"),
        (("--judge", "--decompose", "--drained", "each"), "--drained each takes no"),
    ):
        code, output = run("te", "survive", str(ring), *options)
        assert code == 2
        assert words in output
    ring.write_text(RING.replace("BOUND", "1 s").replace("agent: udp, from: D, to: C, arrivals: "
        "poisson, rate: 3 Mbit/s, size: 1000 B}", "agent: tcp, from: D, to: C}"))  # fmt: skip
    code, output = run("te", "survive", str(ring), "--judge", "--decompose")
    assert code == 2
    assert "ring.yaml:10:" in output
    assert "heeds congestion" in output

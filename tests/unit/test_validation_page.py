"""The bounds on the page of validation are those that the tests hold."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "dev"))

from mutant_journal import drop_number, drop_place
from python_mutants import mutate_file

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "validation.md").read_text("utf-8")
QUEUEING = "crates/engine/tests/evidence/queueing"
TCP = "crates/engine/tests/evidence/tcp"
NS2 = "crates/engine/tests/evidence/ns2.rs"
SHARES = "crates/port/src/sched/shares_tests.rs"
HFSC = "crates/port/src/sched/hfsc_tests.rs"
SENDER = "crates/agent/tests/tcp/ns2.rs"
CUBIC = "crates/agent/tests/tcp/rfc9438.rs"
SEEN_HEADING = "seen to fail with"

# Row of the page, pattern of its bound, test file, pattern of the bound there (the largest counts),
# and what one of the page is in the test. A percentage is there as a share.
CONGESTION = "tests/evidence/test_congestion.py"
BOUNDS = [
    ("M/D/1", r"± (\d+) %", f"{QUEUEING}/poisson.rs", r"assert_theory\(.*, (0\.\d+)\)", 0.01),
    ("limits", r"loss ± (\d+) %", f"{QUEUEING}/finite.rs", r"loss\.assert_.*, (0\.\d+)\)", 0.01),
    ("limits", r"wait ± (\d+) %", f"{QUEUEING}/finite.rs", r"wait\.assert_.*, (0\.\d+)\)", 0.01),
    ("strict p", r"± (\d+) %", f"{QUEUEING}/priority.rs", r"waits.*assert_.*, (0\.\d+)\)", 0.01),
    ("priority, DRR", r"± (\d+) %", f"{QUEUEING}/priority.rs", r"sum\.assert_.*, (0\.\d+)\)", 0.01),
    ("every sch", r"to (\d+) %", SHARES, r", (0\.\d+)\);$", 0.01),
    ("DRR", r"≤ (\d+) B", "tests/evidence/test_drr.py", r"<= (\d+)$", 1),
    ("HFSC", r"± (0\.\d+) of", HFSC, r"- expected\)\.abs\(\) < (0\.\d+)", 1),
    ("RED with", r"± (\d+) %", NS2, r"assert_like\(&theirs, (0\.\d+)\)", 0.01),
    ("RIO-C", r"within (\d+) standard", "tests/evidence/test_diffserv.py", r"= (\d+) \* error", 1),
    ("Tahoe", r"< (\d+) ns", SENDER, r"abs_diff\(theirs\.0\) < (\d+),", 1),
    ("Tahoe", r"< (0\.\d+) segment", SENDER, r"- cwnd\)\.abs\(\) < (0\.\d+),", 1),
    ("SACK", r"± (0\.\d+) %", SENDER, r"ratio - 1\.0\)\.abs\(\) < (0\.\d+),", 0.01),
    ("CUBIC under", r"± (\d+) %", CUBIC, r"\.abs\(\) < (0\.\d+),", 0.01),
    ("BBR on", r"± (\d+) %", CONGESTION, r"np\.full\(6, 2\.0\), rel=(0\.\d+)", 0.01),
    ("throughput", r"± (10) %", f"{TCP}/models.rs", r"\.\.=1(\.\d+)\)\.contains\(&root", 0.01),
    ("throughput", r"± (25) %", f"{TCP}/models.rs", r"\.\.=1(\.\d+)\)\.contains\(&full", 0.01),
    ("share by", r"± (\d+) %", f"{TCP}/fairness.rs", r"3\.0 - 1\.0\)\.abs\(\) < (0\.\d+)", 0.01),
    ("equal flows", r"> (0\.\d+)", f"{TCP}/fairness.rs", r"index > (0\.\d+)", 1),
    ("saw-tooth", r"same; (0\.\d+) %", NS2, r"\.abs\(\) <= (0\.\d+) \* theirs\.acked", 0.01),
    ("saw-tooth", r"(\d+) segment", NS2, r"peak\(\)\)\.abs\(\) <= (\d+\.\d+)", 1),
    ("saw-tooth", r"segment; (\d+) %", NS2, r"period - 1\.0\)\.abs\(\) < (0\.\d+)", 0.01),
]


@pytest.mark.parametrize(("row", "expected", "file", "held", "unit"), BOUNDS)
def test_bound_on_the_page_is_that_of_the_test(row, expected, file, held, unit):
    [line] = [each for each in PAGE.splitlines() if each.startswith(f"| {row}")]
    [bound] = re.findall(expected, line)
    figures = [float(each) for each in re.findall(held, (ROOT / file).read_text("utf-8"), re.M)]
    assert max(figures) == pytest.approx(float(bound) * unit), line


def test_every_percentage_bound_of_a_mechanism_is_checked():
    checked = {row for row, *_ in BOUNDS}
    # Below that heading stand differences that were measured; their bounds are on another page.
    mechanisms = PAGE.partition("## Against a Linux kernel")[0].splitlines()
    bounded = [each for each in mechanisms if each.startswith("| ") and "±" in each]
    assert bounded
    assert [each for each in bounded if not each.startswith(tuple(f"| {r}" for r in checked))] == []


def find_tests_cell(line: str) -> str:
    """The cell with tests: the fourth of tables of mechanisms, else the last."""
    cells = line.removesuffix(" |").split(" | ")
    return cells[min(3, len(cells) - 1)]


def test_every_test_named_on_the_page_exists():
    named = {
        name
        for line in PAGE.partition("## Published studies")[0].splitlines()
        if line.startswith("| ")
        for name in re.findall(r"`([^`]+)`", find_tests_cell(line))
    }
    assert len(named) > 60
    tests = [ROOT / "tests", ROOT / "crates"]
    defined = {
        name
        for file in (each for top in tests for each in top.rglob("*.*"))
        if file.suffix in {".py", ".rs"}
        for name in re.findall(r"^ *(?:def|fn) (\w+)\(", file.read_text("utf-8"), re.M)
    }
    files = [each for top in ("crates", "tests") for each in (ROOT / top).rglob("*.*")]
    missing = [
        name
        for name in named - defined
        if not any(each.match(name) for each in files)
        and not any(f"/{name}" in f"{each}" for each in files)
    ]
    assert missing == []


def test_every_mutant_that_a_test_was_seen_to_catch_is_in_the_rows_of_its_file():
    """`./dev mutants --seen` writes the list and the column."""
    with (ROOT / "tests" / "mutants-seen.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) > 10
    sections = re.split(r"\n##+ ", PAGE)
    by_mutant = [each for each in sections if f"| {SEEN_HEADING} |" in each]
    lines = [line for each in by_mutant for line in each.splitlines()]
    for row in rows:
        place = ROOT / row["file"]
        files = [place] if place.is_file() else list(place.rglob("*.rs"))
        assert any(row["test"] in file.read_text("utf-8") for file in files), row
        source, _, change = row["mutant"].partition(": ")
        assert (ROOT / source).is_file(), row
        function = change.rpartition(" in ")[2] if " in " in change else change.split()[1]
        linking = [line for line in lines if f"](../{row['file']})" in line]
        assert linking, row
        for line in linking:
            assert f"{Path(source).name}, {function}" in line, (row, line)


def test_every_mutant_that_lives_has_its_reason():
    """`./dev mutants --scores` writes the scores; one that lives without a reason needs a test."""
    with (ROOT / "tests" / "mutation-scores.csv").open(encoding="utf-8", newline="") as stream:
        scores = list(csv.DictReader(stream))
    assert scores
    for row in scores:
        tried, caught, listed, lives = (
            int(row[key]) for key in ("tried", "caught", "listed", "lives")
        )
        assert tried == caught + listed + lives, row
        assert lives == 0, row
    with (ROOT / "tests" / "mutants.csv").open(encoding="utf-8", newline="") as stream:
        reasons = list(csv.DictReader(stream))
    assert all(len(row["reason"]) > 10 for row in reasons)


def test_every_mutant_that_lives_is_of_code_that_there_is():
    with (ROOT / "tests" / "mutants.csv").open(encoding="utf-8", newline="") as stream:
        named = [row["mutant"] for row in csv.DictReader(stream)]
    assert len(named) == len(set(named)) > 20
    gone = []
    for mutant in named:
        path, _, change = drop_number(mutant).partition(": ")
        content = (ROOT / path).read_bytes() if (ROOT / path).is_file() else b""
        if path.endswith(".py"):
            known = {drop_place(each.name) for each in mutate_file(path, content)}
            gone += [] if mutant in known else [mutant]
            continue
        # Rust: the function and, behind its name, what is replaced in it; both may be missing.
        what, _, function = change.rpartition(" in ") if " in " in change else ("", "", change)
        where = function if what else function.removeprefix("replace ").partition(" with ")[0]
        names = re.findall(r"\w+", where.partition(" -> ")[0])
        replaced = re.match(r"replace (?:match guard )?(.+?) with ", what)
        found = content.decode().partition(f"fn {names[-1]}" if names else where)[2]
        words = replaced[1].split() if replaced else []
        gone += [] if found and all(word in found for word in words) else [mutant]
    assert gone == []

"""``./dev mutants --seen``: for each test file of the page of validation, a mutant that it catches.

Of the mutants that the tests of a file reach, those that the fewest other tests reach come first:
they are nearest to what the file is about. ``tests/mutants-seen.csv`` keeps what was found.
"""

import csv
import os
import re
import sys
from collections.abc import Iterator

import setup_steps as steps
from mutant_journal import Plan
from pytest_server import PytestServer
from python_mutants import (
    PACKAGES,
    PythonMutant,
    copy_packages,
    mutate_file,
    put_mutant,
    start_server,
)
from rust_mutant_build import ALL_FOLDER, compile_mutants
from rust_mutant_list import CRATES, RustMutant, list_mutants
from rust_mutants import MIN_CPU_LIMIT_S, TestCase, list_tests, note_reached, run_tests
from shell import print_message

PAGE = os.path.join(steps.ROOT, "docs", "validation.md")
SEEN = os.path.join(steps.ROOT, "tests", "mutants-seen.csv")
SCORES = os.path.join(steps.ROOT, "tests", "mutation-scores.csv")
SEEN_COLUMNS = ["file", "test", "mutant"]
SEEN_HEADING = "seen to fail with"
HAND_HEADING = "What the tests were seen to catch"
MAX_CODE_SHOWN = 60
MAX_TRIALS = 12
MAX_PYTHON_TRIALS = 4
"""Of mutants for a file, in Python for a module that it imports."""
MAX_FILE_S = 120.0
"""Of a test file in Python."""


def list_linked_files(folder: str) -> list[str]:
    """List the files and folders below a folder of the repository that rows of mechanisms link."""
    with open(PAGE, encoding="utf-8") as stream:
        lines = stream.read().partition(HAND_HEADING)[0].splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    linked = [path for row in rows for path in re.findall(rf"\]\(\.\./({folder}/[^)]*)\)", row)]
    return sorted(set(linked))


def find_tests(path: str, tests: list[TestCase]) -> list[TestCase]:
    """Find the tests that are defined in a file or a folder, the quick ones first."""
    names = set()
    for file in _iterate_files(os.path.join(steps.ROOT, path)):
        with open(file, encoding="utf-8") as stream:
            names |= set(re.findall(r"^ *fn (\w+)\(", stream.read(), re.M))
    crate = path.split("/")[1]
    found = [
        test for test in tests if test.crate == crate and test.name.rsplit("::", 1)[-1] in names
    ]
    return sorted(found, key=lambda test: test.cpu_s)


def _iterate_files(path: str) -> Iterator[str]:
    if path.endswith(".rs"):
        yield path
    for base, _, files in os.walk(path):
        yield from (os.path.join(base, file) for file in files if file.endswith(".rs"))


def find_witness(
    tests: list[TestCase], reached: dict[int, list[TestCase]], mutants: list[RustMutant]
) -> tuple[str, RustMutant] | None:
    """Find a mutant that some tests catch, and the first test that does; None without one."""
    own = {(test.program, test.name) for test in tests}
    reaching: dict[int, list[TestCase]] = {}
    for mutant in mutants:
        cases = [
            test for test in reached.get(mutant.number, []) if (test.program, test.name) in own
        ]
        if cases:
            reaching[mutant.number] = cases
    # Among equals the order of their identities is as good as chance.
    chosen = sorted(
        (each for each in mutants if each.number in reaching),
        key=lambda each: (len(reached[each.number]), each.identity),
    )
    for mutant in chosen[:MAX_TRIALS]:
        for test in reaching[mutant.number][:3]:
            limit_s = max(MIN_CPU_LIMIT_S, 10 * test.cpu_s)
            number = str(mutant.number)
            failed, _ = run_tests(test.folder, test.program, [test.name], number, limit_s)
            # A program that is ended by its limit is no assertion that fails.
            if test.name in failed:
                return test.name, mutant
    return None


def find_python_witness(
    path: str, copy: str, server: PytestServer
) -> tuple[str, PythonMutant] | None:
    """Find a mutant of the modules that a test file imports, and the test that catches it.

    Parameters
    ----------
    path : str
        Of the file.
    copy : str
        Of the packages, for the mutants.
    server : PytestServer
        For the copy.
    """
    with open(os.path.join(steps.ROOT, path), encoding="utf-8") as stream:
        names = re.findall(r"^from (trunkline(?:\.\w+)+) import", stream.read(), re.M)
    modules = [f"python/{name.replace('.', '/')}.py" for name in names]
    modules = [each for each in modules if os.path.isfile(os.path.join(steps.ROOT, each))]
    stem = os.path.basename(path).removeprefix("test_")
    for base, _, files in os.walk(os.path.join(steps.ROOT, "python", "trunkline")):
        if stem in files:
            module = os.path.relpath(os.path.join(base, stem), steps.ROOT)
            modules += [module] if module not in modules else []
    # The module of the test's own name first.
    modules.sort(key=lambda module: os.path.basename(module) != stem)
    for module in modules:
        with open(os.path.join(steps.ROOT, module), "rb") as stream_b:
            content = stream_b.read()
        mutants = sorted(mutate_file(module, content), key=lambda each: each.identify(content))
        for mutant in mutants[:MAX_PYTHON_TRIALS]:
            with put_mutant(mutant, content, copy):
                _, output = server.run(["-x", path], MAX_FILE_S)
            failed = re.findall(r"^FAILED (\S+)", output, re.M)
            if failed:
                return failed[0].rsplit("::", 1)[-1].partition("[")[0], mutant
    return None


def write_seen(plan: Plan) -> None:
    """Find a mutant for each file that has none, and write them."""
    rows = {row["file"]: row for row in read_seen()}

    def keep(path: str, found: tuple[str, RustMutant | PythonMutant] | None) -> None:
        if found is None:
            print_message(f"{path}: no mutant caught")
            return
        test, mutant = found
        name = re.sub(r":\d+:\d+: ", ": ", mutant.name)
        rows[path] = {"file": path, "test": test.rsplit("::", 1)[-1], "mutant": name}
        print_message(f"{path}: {rows[path]['test']} catches {name}")
        with open(SEEN, "w", encoding="utf-8", newline="") as stream:
            table = csv.DictWriter(stream, SEEN_COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows[each] for each in sorted(rows))

    copy = os.path.join(ALL_FOLDER, "python", "0")
    copy_packages(copy)
    with start_server(copy) as server:
        for path in list_linked_files("tests"):
            if path.endswith(".py") and path not in rows:
                keep(path, find_python_witness(path, copy, server))
    left = [path for path in list_linked_files("crates") if path not in rows]
    if not left:
        return
    mutants = [each for crate in CRATES for each in list_mutants(crate)]
    programs = compile_mutants(ALL_FOLDER, CRATES, mutants)
    viable = [each for each in mutants if each.is_viable]
    tests = list_tests(ALL_FOLDER, programs)
    reached = note_reached(tests, plan.jobs)
    for path in left:
        keep(path, find_witness(find_tests(path, tests), reached, viable))


def describe_mutant(name: str) -> str:
    """Describe a mutant in a cell of the page, from the name that the lists have."""
    path, _, change = name.partition(": ")
    change, _, function = change.rpartition(" in ") if " in " in change else (change, "", "")
    replaced = re.fullmatch(r"replace (?:match guard )?(.+) with (.*)", change, re.S)
    if replaced and " -> " in replaced[1]:
        function = replaced[1].partition(" -> ")[0]
        change = f"gives {_quote(replaced[2])}"
    elif replaced and not function:
        function, change = replaced[1], f"gives {_quote(replaced[2])}"
    elif replaced:
        new = _quote(replaced[2]) if replaced[2] else "nothing"
        change = f"{new} for {_quote(replaced[1])}"
    else:
        change = re.sub(r"(\S+) expression$", r"\1", change.replace("delete", "without"))
    where = f"{os.path.basename(path)}, {function}" if function else os.path.basename(path)
    return f"{change} (`{where}`)"


def _quote(code: str) -> str:
    """Set code in a cell of a table."""
    text = " ".join(code.split())
    text = text if len(text) <= MAX_CODE_SHOWN else text[: MAX_CODE_SHOWN - 3] + "..."
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"


def fill_page() -> None:
    """Write into each row of the page the changes that its tests were seen to catch."""
    seen = {row["file"]: row["mutant"] for row in read_seen()}
    with open(PAGE, encoding="utf-8") as stream:
        text = stream.read()
    by_hand = _read_changes_by_hand(text)
    tables = re.split(r"((?:^\|[^\n]*\n)+)", text, flags=re.M)
    for index, table in enumerate(tables):
        if table.startswith(("| mechanism | compared with", "| what | compared with")):
            tables[index] = _fill_table(table, seen, by_hand)
        if table.startswith("| package | mutants |"):
            tables[index] = _write_score_table()
    with open(PAGE, "w", encoding="utf-8") as stream:
        stream.write("".join(tables))


def _write_score_table() -> str:
    """Write the table of scores of the page: first outcomes of samples, and all of today.

    Of each package it shows the first sample and the freshest two; the file of scores has all.
    """
    with open(SCORES, encoding="utf-8", newline="") as stream:
        scores = list(csv.DictReader(stream))
    heads = ["package", "mutants", "first sample", "last but one", "last sample"]
    heads += ["all tried, now", "live, with reason"]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for name in (*CRATES, *PACKAGES):
        rows = [row for row in scores if row["package"] == name]
        if not rows:
            continue
        samples = [_describe_first(row) for row in rows if row["seed"]]
        shown = [*samples[:1], *samples[1:][-2:]]
        tried, equivalent, caught, listed = (
            sum(int(row[key]) for row in rows)
            for key in ("tried", "equivalent", "caught", "listed")
        )
        cells = [f"`{name}`", rows[-1]["mutants"]]
        cells += shown + [""] * (3 - len(shown))
        cells += [f"{caught} of {tried - equivalent}, {100 * caught / (tried - equivalent):.1f} %"]
        cells += [f"{listed}, {equivalent} of them equivalent"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _describe_first(row: dict[str, str]) -> str:
    """Describe how many mutants of a sample were caught before tests were added for it."""
    count, caught = int(row["tried"]) - int(row["equivalent"]), int(row["caught_at_first"])
    bounds = f" ({row['low_percent']} to {row['high_percent']})"
    return f"{row['seed']}: {caught} of {count}, {100 * caught / count:.1f} %{bounds}"


def _read_changes_by_hand(text: str) -> dict[str, list[tuple[str, str]]]:
    """Read the changes that were made by hand: mechanism and change, by file of the test."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in text.partition(HAND_HEADING)[2].partition("\n## ")[0].splitlines():
        cells = line.removesuffix(" |").split(" | ")
        links = re.findall(r"\]\(\.\./([^)]*)\)", line)
        if len(cells) == 3 and links:
            found.setdefault(links[0], []).append((cells[0].removeprefix("| "), cells[1]))
    return found


def _fill_table(table: str, seen: dict[str, str], by_hand: dict[str, list[tuple[str, str]]]) -> str:
    """Fill the last column of a table; without any change for it, it has none."""
    head, _, *rows = table.rstrip("\n").split("\n")
    filled = []
    for row in rows:
        cells = row.removesuffix(" |").split(" | ")[:4]
        changes = []
        for path in re.findall(r"\]\(\.\./([^)]*)\)", cells[3]):
            changes += [describe_mutant(seen[path])] if path in seen else []
            words = _list_subjects(cells[0])
            own = by_hand.get(path, [])
            about = [each for each in own if words & _list_subjects(each[0])]
            changes += [f"{mechanism}: {change}" for mechanism, change in about]
        filled.append([*cells, "; ".join(changes)])
    columns = [*head.removesuffix(" |").split(" | ")[:4], SEEN_HEADING]
    count = 5 if any(cells[4] for cells in filled) else 4
    lines = [columns[:count], ["| ---", *["---"] * (count - 1)]]
    lines += [cells[:count] for cells in filled]
    return "".join(" | ".join(cells) + " |\n" for cells in lines)


def _list_subjects(mechanism: str) -> set[str]:
    """List the words of a mechanism that say what it is about."""
    return set(re.findall(r"\w{3,}", mechanism)) - {"and", "for", "the", "with"}


def read_seen() -> list[dict[str, str]]:
    """Read the mutants that were seen to be caught, by file."""
    try:
        with open(SEEN, encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))
    except OSError:
        return []


if __name__ == "__main__":
    write_seen(Plan.from_words(sys.argv[1:]))
    fill_page()

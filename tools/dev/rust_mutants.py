"""Tries the mutants of the Rust crates: all compiled at once, each on the tests that reach it.

``rust_mutant_list.py`` lists them, ``rust_mutant_build.py`` compiles them; an environment variable
switches each on. Every test runs alone and notes the mutants that it reaches, so that a mutant is
tried on these tests only, the quick ones first: those of its own crate, then those of the engine,
which uses all crates.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from python_mutants import find_changed_lines
from rust_mutant_build import FOLDER, WORKSPACE, compile_mutants
from rust_mutant_list import CRATES, RustMutant
from shell import Stopwatch, print_message

SWITCH = "TRUNKLINE_MUTANT"
MEMORY_LIMIT = 6 << 30
"""Maximum memory of a test [B]; a mutant may ask for memory without end."""
MIN_CPU_LIMIT_S = 5
BATCH_S = 2.0
"""Tests that take so long together run in one process."""


@dataclass
class TestCase:
    """A test of a program, and what it needs."""

    crate: str
    program: str
    name: str
    cpu_s: float = 0.0


def list_tests(programs: dict[str, list[str]]) -> list[TestCase]:
    """List all tests of the programs."""
    found = []
    for crate, paths in programs.items():
        for path in sorted(paths):
            listed = subprocess.run(
                [path, "--list", "--format", "terse"],
                cwd=os.path.join(WORKSPACE, "crates", crate), capture_output=True, text=True,
                check=True,
            ).stdout  # fmt: skip
            names = [each.removesuffix(": test") for each in listed.splitlines()]
            found += [TestCase(crate, path, name) for name in names if name]
    return found


def _run_tests(
    crate: str, program: str, names: list[str], switch: str, cpu_limit_s: float
) -> tuple[bool, float]:
    """Whether tests of a program pass, and the processor's time they take."""

    def limit() -> None:
        most = int(cpu_limit_s) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))

    with subprocess.Popen(
        [program, "--exact", "--test-threads", "1", *names],
        cwd=os.path.join(WORKSPACE, "crates", crate),
        env={**os.environ, SWITCH: switch, "PROPTEST_RNG_SEED": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=limit,
    ) as process:
        # A test that waits for nothing uses no time.
        try:
            _, status, usage = _wait(process, cpu_limit_s * 60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False, cpu_limit_s
    return status == 0, usage


def _wait(process: "subprocess.Popen[bytes]", wall_limit_s: float) -> tuple[int, int, float]:
    import threading

    timer = threading.Timer(wall_limit_s, process.kill)
    timer.start()
    try:
        pid, status, usage = os.wait4(process.pid, 0)
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return pid, process.returncode, usage.ru_utime + usage.ru_stime


def note_reached(tests: list[TestCase], jobs: int) -> dict[int, list[TestCase]]:
    """Run each test alone: the tests that reach each mutant, the quick ones first."""
    reached: dict[int, list[TestCase]] = defaultdict(list)
    notes_folder = os.path.join(FOLDER, "notes")
    shutil.rmtree(notes_folder, ignore_errors=True)
    os.makedirs(notes_folder)

    def run(numbered: tuple[int, TestCase]) -> tuple[TestCase, list[int]]:
        number, test = numbered
        notes = os.path.join(notes_folder, str(number))
        passes, test.cpu_s = _run_tests(
            test.crate, test.program, [test.name], f"notes:{notes}", 600
        )
        if not passes:
            print_message(f"{test.name} fails without a mutant and is left out")
            return test, []
        try:
            with open(notes, encoding="utf-8") as stream:
                return test, [int(each) for each in stream.read().split()]
        except OSError:
            return test, []

    with ThreadPoolExecutor(jobs) as pool:
        for test, numbers in pool.map(run, enumerate(tests)):
            for number in numbers:
                reached[number].append(test)
    for cases in reached.values():
        cases.sort(key=lambda test: test.cpu_s)
    return reached


def try_mutant(mutant: RustMutant, tests: list[TestCase]) -> str:
    """``caught`` or ``lives``: on tests of its own crate, then on those of the others."""
    own = [test for test in tests if test.crate == mutant.crate]
    others = [test for test in tests if test.crate != mutant.crate]
    for cases in (own, others):
        for program, names, cpu_s in _batch(cases):
            crate = next(test.crate for test in cases if test.program == program)
            limit = max(MIN_CPU_LIMIT_S, 10 * cpu_s)
            passes, _ = _run_tests(crate, program, names, str(mutant.number), limit)
            if not passes:
                return "caught"
    return "lives"


def _batch(tests: list[TestCase]) -> Iterator[tuple[str, list[str], float]]:
    """Groups of tests of one program that take little time together."""
    waiting: dict[str, tuple[list[str], float]] = {}
    for test in tests:
        names, total = waiting.pop(test.program, ([], 0.0))
        if names and total + test.cpu_s > BATCH_S:
            yield test.program, names, total
            names, total = [], 0.0
        waiting[test.program] = ([*names, test.name], total + test.cpu_s)
    for program, (names, total) in waiting.items():
        yield program, names, total


def get_journal_path(crate: str) -> str:
    """Return the file of the outcomes of a crate's mutants."""
    return os.path.join(FOLDER, f"{crate}.jsonl")


def read_journal(crate: str) -> dict[str, str]:
    """Read the outcomes by identity, the last of each."""
    try:
        with open(get_journal_path(crate), encoding="utf-8") as stream:
            rows = [json.loads(line) for line in stream]
    except OSError:
        return {}
    return {row["of"]: row["outcome"] for row in rows}


def read_compiled(crate: str) -> dict[str, str]:
    """Read the mutants of a crate that compiled at the last run: names by identity."""
    try:
        with open(_get_list_path(crate), encoding="utf-8") as stream:
            names: dict[str, str] = json.load(stream)
    except OSError:
        return {}
    return names


def _get_list_path(crate: str) -> str:
    return os.path.join(FOLDER, f"{crate}.list.json")


def read_outcomes(crate: str) -> dict[str, str]:
    """Read the mutants of a crate that were tried: ``caught`` or ``lives``, by name."""
    known = read_journal(crate)
    return {name: known[of] for of, name in read_compiled(crate).items() if of in known}


def try_crates(crates: list[str], difference: str | None) -> None:
    """Try the mutants of crates that no earlier run has caught.

    Parameters
    ----------
    crates : list of str
        Names.
    difference : str or None
        Path of a difference: only mutants of its lines are tried, on tests of their own crate.
    """
    clock = Stopwatch()
    jobs = os.cpu_count() or 1
    mutants, programs = compile_mutants(CRATES)
    mutants = [each for each in mutants if each.is_viable]
    for crate in CRATES:
        names = {each.identity: each.name for each in mutants if each.crate == crate}
        with open(_get_list_path(crate), "w", encoding="utf-8") as stream:
            json.dump(names, stream)
    print_message(f"{len(mutants)} mutants compiled ({clock})")
    journals = {crate: read_journal(crate) for crate in crates}
    left = [
        each
        for each in mutants
        if each.crate in crates and journals[each.crate].get(each.identity) != "caught"
    ]
    if difference is not None:
        changed = find_changed_lines(difference)
        left = [each for each in left if each.line in changed.get(each.path, ())]
        own = {each.crate for each in left}
        programs = {crate: paths for crate, paths in programs.items() if crate in own}
    print_message(f"{len(left)} mutants of {', '.join(crates)} remain to try")
    tests = list_tests(programs)
    reached = note_reached(tests, jobs)
    print_message(f"{len(tests)} tests noted what they reach ({clock})")

    def judge(mutant: RustMutant) -> None:
        outcome = try_mutant(mutant, reached.get(mutant.number, []))
        row = {"of": mutant.identity, "mutant": mutant.name, "outcome": outcome}
        with open(get_journal_path(mutant.crate), "a", encoding="utf-8") as journal:
            journal.write(json.dumps(row) + "\n")
        if outcome == "lives":
            print(f"lives: {mutant.name}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(judge, left))


if __name__ == "__main__":
    try_crates(sys.argv[1].split(","), sys.argv[2] if len(sys.argv) > 2 else None)

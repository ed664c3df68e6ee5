"""Tries the mutants of the Rust crates: all compiled at once, each on the tests that reach it.

``rust_mutant_list.py`` lists them, ``rust_mutant_build.py`` compiles them; an environment variable
switches each on. Every test runs alone and notes the mutants that it reaches, so that a mutant is
tried on these tests only, the quick ones first: those of its own crate, then those of the engine,
which uses all crates.
"""

import contextlib
import functools
import hashlib
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from module_tests import ModuleTests
from mutant_journal import FOLDER, Plan, find_settled, write_list, write_outcome
from rust_mutant_build import (
    ALL_FOLDER,
    PART_FOLDER,
    SWITCH,
    compile_module,
    compile_mutants,
    read_refused,
)
from rust_mutant_list import CRATES, RustMutant, list_mutants
from shell import Stopwatch, print_message

MEMORY_LIMIT = 6 << 30
"""Maximum memory of a test [B]; a mutant may ask for memory without end."""
MIN_CPU_LIMIT_S = 5
MAX_TEST_S = 5
"""Processor's time after which a test is too slow to be tried on mutants."""
MAX_TRIAL_S = 25
"""Processor's time of all tests that a mutant is tried on, the quick ones first."""
BATCH_S = 2.0
"""Tests that take so long together run in one process."""


@dataclass
class TestCase:
    """A test of a program, and what it needs."""

    crate: str
    folder: str
    """Of the crate: its tests read files from there."""
    program: str
    name: str
    cpu_s: float = 0.0


def list_tests(folder: str, programs: dict[str, list[str]]) -> list[TestCase]:
    """List all tests of the programs."""
    found = []
    for crate, paths in programs.items():
        crate_folder = os.path.join(folder, "workspace", "crates", crate)
        for path in sorted(paths):
            listed = subprocess.run(
                [path, "--list", "--format", "terse"],
                cwd=crate_folder, capture_output=True, text=True,
                check=True,
            ).stdout  # fmt: skip
            names = [each.removesuffix(": test") for each in listed.splitlines()]
            found += [TestCase(crate, crate_folder, path, name) for name in names if name]
    return found


def run_tests(
    folder: str, program: str, names: list[str], switch: str, cpu_limit_s: float
) -> tuple[list[str], float]:
    """The tests of a program that fail, and the processor's time that all of them take."""

    def limit() -> None:
        most = int(cpu_limit_s) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))

    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            [program, "--exact", "--test-threads", "1", *names],
            cwd=folder,
            env={**os.environ, SWITCH: switch, "PROPTEST_RNG_SEED": "1"},
            stdout=output,
            stderr=subprocess.DEVNULL,
            preexec_fn=limit,
        ) as process,
    ):
        # A test that waits for nothing uses no time.
        _, status, usage = _wait(process, cpu_limit_s * 20)
        if status == 0:
            return [], usage
        output.seek(0)
        failed = re.findall(
            r"^test (\S+) \.\.\. FAILED", output.read().decode("utf-8", "replace"), re.M
        )
    # One that ends the whole program says nothing.
    return failed or [f"the program ends with {status}"], usage


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
    """Run each test alone: the tests that reach each mutant, the quick ones first.

    Those of a program that is as it was at the last run are not run again.
    """
    reached: dict[int, list[TestCase]] = defaultdict(list)
    os.makedirs(_NOTES_FOLDER, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        for test, numbers in zip(tests, pool.map(_note_test, tests), strict=True):
            for number in numbers:
                reached[number].append(test)
    for cases in reached.values():
        cases.sort(key=lambda test: test.cpu_s)
    return reached


_NOTES_FOLDER = os.path.join(FOLDER, "notes")


def _note_test(test: TestCase) -> list[int]:
    """Set the time that a test takes; the mutants that it reaches, none if it fails."""
    key = hashlib.sha256(f"{_hash_program(test.program)} {test.name}".encode()).hexdigest()[:24]
    notes, known = os.path.join(_NOTES_FOLDER, key), os.path.join(_NOTES_FOLDER, f"{key}.json")
    if os.path.exists(known):
        with open(known, encoding="utf-8") as stream:
            test.cpu_s, numbers = json.load(stream)
        return list(numbers)
    failed, test.cpu_s = run_tests(
        test.folder, test.program, [test.name], f"notes:{notes}", MAX_TEST_S
    )
    numbers = []
    if failed and test.cpu_s > MAX_TEST_S:
        print_message(f"{test.name} takes more than {MAX_TEST_S} s and is left out")
    elif failed:
        print_message(f"{test.name} fails without a mutant and is left out")
    elif os.path.exists(notes):
        with open(notes, encoding="utf-8") as stream:
            numbers = [int(each) for each in stream.read().split()]
    with open(known, "w", encoding="utf-8") as stream:
        json.dump([test.cpu_s, numbers], stream)
    return numbers


@functools.cache
def _hash_program(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def try_mutant(mutant: RustMutant, tests: list[TestCase]) -> list[str]:
    """Tests that catch a mutant: of its own crate, or else of the others; none where it lives."""
    own = [test for test in tests if test.crate == mutant.crate]
    others = [test for test in tests if test.crate != mutant.crate]
    total_s = 0.0
    for cases in (own, others):
        for program, names, cpu_s in _batch(cases):
            first = next(test for test in cases if test.program == program)
            if total_s > MAX_TRIAL_S:
                return []
            total_s += cpu_s
            limit = max(MIN_CPU_LIMIT_S, 10 * cpu_s)
            failed, _ = run_tests(first.folder, program, names, str(mutant.number), limit)
            if failed:
                return [f"{first.crate}: {name}" for name in failed]
    return []


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


def try_crates(crates: list[str], plan: Plan) -> None:
    """Try the mutants of crates that no earlier run has caught.

    Parameters
    ----------
    crates : list of str
        Names.
    plan : Plan
        Which mutants. Where only changed lines are tried, it is on tests of their own crate.
    """
    clock = Stopwatch()
    listed = {crate: list_mutants(crate) for crate in (crates if plan.is_partial else CRATES)}
    if plan.is_partial:
        # Some mutants are compiled in a fraction of the time that all of them take.
        refused = read_refused()
        listed = {
            crate: [each for each in mutants if each.identity not in refused]
            for crate, mutants in listed.items()
        }
    chosen = {crate: plan.choose(crate, listed[crate]) for crate in crates}
    folder = PART_FOLDER if plan.is_partial else ALL_FOLDER
    compiled = [each for part in (chosen if plan.is_partial else listed).values() for each in part]
    needed = sorted({each.crate for each in compiled})
    if plan.difference is None:
        needed = list(CRATES)
    programs = compile_mutants(folder, needed, compiled) if needed else {}
    left_by_crate = []
    for crate in crates:
        count = sum(each.is_viable for each in listed[crate])
        viable = [each for each in chosen[crate] if each.is_viable]
        write_list(crate, count, plan, {each.identity: each.name for each in viable})
        settled = find_settled(crate)
        left_by_crate.append([each for each in viable if each.identity not in settled])
    # Whenever the run ends, all crates have their share.
    turns = itertools.zip_longest(*left_by_crate)
    left = [each for turn in turns for each in turn if each is not None]
    print_message(f"{sum(each.is_viable for each in compiled)} mutants compiled ({clock})")
    print_message(f"{len(left)} mutants of {', '.join(crates)} left to try")
    tests = list_tests(folder, programs) if left else []
    reached = note_reached(tests, plan.jobs)
    print_message(f"{len(tests)} tests noted what they reach ({clock})")

    with contextlib.ExitStack() as stack:
        module_tests = None
        # A change is tried in minutes, which the module would take to compile.
        if left and plan.difference is None:
            module = compile_module(folder)
            print_message(f"the module of the engine compiled ({clock})")
            module_tests = stack.enter_context(ModuleTests(module, plan.jobs))

        def judge(mutant: RustMutant) -> None:
            cases = reached.get(mutant.number, [])
            count, failed = len(cases), try_mutant(mutant, cases)
            if not failed and module_tests is not None:
                failed = module_tests.find_failed(mutant.number)
                count += module_tests.count_reaching(mutant.number)
            write_outcome(mutant.crate, mutant.identity, mutant.name, failed, count)

        with ThreadPoolExecutor(plan.jobs) as pool:
            list(pool.map(judge, left))


if __name__ == "__main__":
    try_crates(sys.argv[1].split(","), Plan.from_words(sys.argv[2:]))

"""``./dev mutants``: see whether the tests notice when the code is broken.

Each mutant is the code with one small change. ``rust_mutants.py`` makes those of the Rust crates,
from the list of cargo-mutants, ``python_mutants.py`` those of Python. Both keep what they found in
``.stamps/mutants`` and continue from there. ``tests/mutants.csv`` lists the mutants that live, each
with its reason; ``tests/mutation-scores.csv`` has how many were caught, by package, and the share
of all mutants that a sample lets expect.
"""

import argparse
import csv
import os
import signal
import subprocess

import python_mutants
import rust_mutant_list
import setup_steps as steps
from mutant_journal import (
    SAMPLES,
    Listed,
    Outcome,
    Plan,
    drop_place,
    read_lists,
    read_outcomes,
    read_reasons,
)
from mutant_sample import compute_wilson_interval
from mutant_witnesses import SCORES, fill_page
from rust_mutant_list import CRATES
from shell import StepFailed, Stopwatch, print_message, run_program

KNOWN_PACKAGES = [*CRATES, *python_mutants.PACKAGES]
TOOL_VERSION = "27.1.0"
PARSER_PACKAGES = ["tree-sitter==0.26.1", "tree-sitter-rust==0.24.2"]
CHANGED_LIMIT_S = 180.0
"""A package's time where only what differs is tried."""
EQUIVALENT = "Equivalent: "
"""How the reason of a mutant begins that no test can catch."""
SCORE_COLUMNS = [
    "package", "mutants", "seed", "tried", "equivalent", "caught_at_first", "low_percent",
    "high_percent", "caught", "listed", "lives",
]  # fmt: skip
USAGE = """\
usage: ./dev mutants [--sample N] [--seed S] [--jobs N] [PACKAGE ...]
       ./dev mutants --install | --changed | --scores | --seen
  PACKAGE     {packages}; all if left out, which takes hours: it continues where it stopped
  --sample    only so many mutants of each package, at random, of each file its share
  --seed      of the sample; 1 if left out
  --jobs      so many at once; as many as there are cores if left out
  --install   put cargo-mutants into .boot (some minutes); done at need otherwise
  --changed   only what differs from main, as `./dev check` does, with what is installed
  --seen      find a mutant that each test file of docs/validation.md catches
  --scores    try nothing, write tests/mutation-scores.csv and docs/validation.md from what is known
"""


def run_mutants(arguments: list[str]) -> int:
    """Try mutants of packages, and say which live without a reason."""
    known = KNOWN_PACKAGES
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for word in ("install", "changed", "scores", "seen"):
        parser.add_argument(f"--{word}", action="store_true")
    for word in ("sample", "seed", "jobs"):
        parser.add_argument(f"--{word}", type=int)
    parser.add_argument("packages", nargs="*")
    try:
        words, extra = parser.parse_known_args(arguments)
    except argparse.ArgumentError as error:
        print_message(f"{error}\n" + USAGE.format(packages=", ".join(known)))
        return 2
    unknown = [*extra, *(each for each in words.packages if each not in known)]
    unknown += [
        f"--{word} {value}"
        for word in ("sample", "jobs")
        if (value := getattr(words, word)) is not None and value < 1
    ]
    if unknown:
        print_message(f"{unknown[0]} is unknown\n" + USAGE.format(packages=", ".join(known)))
        return 2
    if words.scores:
        write_scores()
        fill_page()
        return report_survivors(known)
    if words.install:
        install_tool()
        return 0
    jobs = words.jobs or os.cpu_count() or 1
    if words.seen:
        install_tool()
        return run_tool("mutant_witnesses.py", Plan(jobs).to_words(), None)
    if words.changed:
        difference = write_difference()
        if difference is None:
            print_message("mutants: nothing differs from main")
            return 0
        if not os.path.exists(rust_mutant_list.TOOL):
            print_message("mutants: cargo-mutants is not installed, so none of Rust is tried")
        plan = Plan(jobs, difference=difference, limit_s=CHANGED_LIMIT_S)
    else:
        prepare_packages(words.packages or known)
        install_tool()
        plan = Plan(jobs, sample=words.sample, seed=1 if words.seed is None else words.seed)
    chosen = words.packages or known
    if not os.path.exists(rust_mutant_list.TOOL):
        chosen = [name for name in chosen if name not in CRATES]
    if crates := [name for name in chosen if name in CRATES]:
        try_crates(crates, plan)
    for name in chosen:
        clock = Stopwatch()
        if name not in CRATES:
            python_mutants.try_package(name, plan)
        print_message(f"mutants of {name}: {describe_score(name, plan.list_word)} ({clock})")
    if not words.changed:
        write_scores()
        fill_page()
    return report_survivors(chosen, plan.list_word)


def prepare_packages(names: list[str]) -> None:
    """Make the environment ready for mutants; those of Rust need no engine but their own."""
    if any(name not in CRATES for name in names):
        steps.prepare_environment("test")
    elif (packages := steps.check_packages("test")) is not None:
        steps.sync_packages(*packages)


def install_tool() -> None:
    """Compile cargo-mutants and fetch a parser of Rust, both of a fixed version."""
    if not os.path.isdir(rust_mutant_list.PARSER):
        command = [steps.get_installer(), "pip", "install", "--quiet", *PARSER_PACKAGES]
        command += ["--python", steps.VENV_PYTHON, "--target", rust_mutant_list.PARSER]
        run_program(command, cwd=steps.ROOT, log=steps.get_stamp_path("mutants-parser.log"))
    if os.path.exists(rust_mutant_list.TOOL):
        return
    steps.check_rust()
    print_message("compiling cargo-mutants (some minutes, once)")
    command = ["cargo", "install", "cargo-mutants", "--locked", "--version", TOOL_VERSION]
    command += ["--root", rust_mutant_list.TOOL_FOLDER]
    run_program(command, cwd=steps.ROOT, log=steps.get_stamp_path("cargo-mutants.log"))


def write_difference() -> str | None:
    """Write what differs from main in the packages that are mutated; None if nothing does."""
    paths = [f"crates/{name}/src" for name in CRATES]
    paths += [path for path, _ in python_mutants.PACKAGES.values()]
    command = ["git", "diff", "--merge-base", "main", "--", *paths]
    found = subprocess.run(command, cwd=steps.ROOT, capture_output=True, check=False)
    if found.returncode or not found.stdout:
        return None
    path = steps.get_stamp_path("mutants.diff")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(found.stdout)
    return path


def try_crates(names: list[str], plan: Plan) -> None:
    """Try the mutants of crates that no earlier run has caught."""
    try:
        run_tool("rust_mutants.py", [",".join(names), *plan.to_words()], plan.limit_s)
    except subprocess.TimeoutExpired:
        print_message("not all mutants of Rust tried; ./dev mutants --changed continues")


def run_tool(file: str, words: list[str], limit_s: float | None) -> int:
    """Run a file of this folder with the Python of the environment, which has the parser of Rust.

    Returns: Its exit status, 0.
    Raises StepFailed: It is another.
    """
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), file)
    command = [steps.VENV_PYTHON, program, *words]
    with subprocess.Popen(command, cwd=steps.ROOT, start_new_session=True) as process:
        try:
            status = process.wait(limit_s)
        except BaseException:
            # The compiler too, that it may have started.
            os.killpg(process.pid, signal.SIGTERM)
            raise
    if status:
        raise StepFailed(f"the mutants of Rust: status {status}")
    return status


def read_tried(name: str, word: str) -> list[Outcome]:
    """Read the outcomes of the mutants of a package that the lists of a word have."""
    return [each for listed in read_lists(name, word) for each in read_outcomes(name, listed)]


def find_unexplained(name: str, word: str) -> list[str]:
    """Find the mutants of a package that live and are not listed with a reason."""
    reasons = read_reasons(name)
    lives = (each.name for each in read_tried(name, word) if not each.is_caught)
    return [mutant for mutant in lives if drop_place(mutant) not in reasons]


def describe_score(name: str, word: str) -> str:
    """Describe the score of a package in a line."""
    outcomes = read_tried(name, word)
    caught = sum(each.is_caught for each in outcomes)
    share = f", {100 * caught / len(outcomes):.1f} %" if outcomes else ""
    return f"{caught} of {len(outcomes)} caught{share}"


def write_scores() -> None:
    """Write how many mutants each package has, and the outcomes of each sample of them."""
    with open(SCORES, encoding="utf-8", newline="") as stream:
        rows = {(row["package"], row["seed"]): row for row in csv.DictReader(stream)}
    for name in KNOWN_PACKAGES:
        reasons = read_reasons(name)
        for listed in read_lists(name):
            if outcomes := read_outcomes(name, listed):
                row = compute_scores(name, listed, outcomes, reasons)
                rows[name, row["seed"]] = row
    ranks = {name: rank for rank, name in enumerate(KNOWN_PACKAGES)}
    in_order = sorted(rows, key=lambda key: (ranks[key[0]], int(key[1] or 0)))
    with open(SCORES, "w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, SCORE_COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows[key] for key in in_order)


def compute_scores(
    name: str, listed: Listed, outcomes: list[Outcome], reasons: dict[str, str]
) -> dict[str, str]:
    """Compute a row of the scores.

    Parameters
    ----------
    name : str
        A package.
    listed : Listed
        A sample of its mutants.
    outcomes : list of Outcome
        Theirs, at least one.
    reasons : dict of str to str
        Of the package's mutants that live.
    """
    lives = [drop_place(each.name) for each in outcomes if not each.is_caught]
    explained = [reasons[mutant] for mutant in lives if mutant in reasons]
    equivalent = sum(reason.startswith(EQUIVALENT) for reason in explained)
    at_first = sum(each.is_caught_at_first for each in outcomes)
    low, high = compute_wilson_interval(at_first, len(outcomes) - equivalent)
    is_sample = listed.seed is not None
    return {
        "package": name,
        "mutants": f"{listed.of}",
        "seed": f"{listed.seed}" if is_sample else "",
        "tried": f"{len(outcomes)}",
        "equivalent": f"{equivalent}",
        "caught_at_first": f"{at_first}",
        "low_percent": f"{100 * low:.1f}" if is_sample else "",
        "high_percent": f"{100 * high:.1f}" if is_sample else "",
        "caught": f"{len(outcomes) - len(lives)}",
        "listed": f"{len(explained)}",
        "lives": f"{len(lives) - len(explained)}",
    }


def report_survivors(names: list[str], word: str = SAMPLES) -> int:
    """Show the mutants of lists that live without a reason; 1 if there are any."""
    unexplained = [f"{name}: {mutant}" for name in names for mutant in find_unexplained(name, word)]
    for each in unexplained:
        print(each)
    if unexplained:
        print_message(
            f"{len(unexplained)} mutants live; each needs a test, or a line in tests/mutants.csv"
        )
    return 1 if unexplained else 0

"""``./dev mutants``: see whether the tests notice when the code is broken.

Each mutant is the code with one small change. Those of the Rust crates are made by cargo-mutants,
those of Python by ``tools/dev/python_mutants.py``. Both keep what they found in ``.stamps/mutants``
and go on from there. ``tests/mutants.csv`` lists the mutants that live, each with its reason;
``tests/mutation-scores.csv`` has how many were caught, by package.
"""

import csv
import os
import re
import subprocess

import python_mutants
import setup_steps as steps
from shell import StepFailed, Stopwatch, print_message, run_program

CRATES = ("units", "packet", "port", "agent", "control", "engine")
TOOL_VERSION = "27.1.0"
TOOL_FOLDER = os.path.join(steps.BOOT_FOLDER, "mutants")
TOOL = os.path.join(TOOL_FOLDER, "bin", "cargo-mutants")
RESULTS = steps.get_stamp_path("mutants")
SURVIVORS = os.path.join(steps.ROOT, "tests", "mutants.csv")
SCORES = os.path.join(steps.ROOT, "tests", "mutation-scores.csv")
CHANGED_LIMIT_S = 180.0
"""A package's time where only what differs is tried."""
SURVIVOR_COLUMNS = ["package", "mutant", "reason"]
SCORE_COLUMNS = ["package", "mutants", "tried", "caught", "listed", "lives"]
PLACE = re.compile(r":\d+:\d+: ")
"""Line and column of a mutant, which a change elsewhere in the file moves."""

UNVIABLE = "unviable-of-all-runs.txt"

USAGE = """\
usage: ./dev mutants [--install] [--changed] [--scores] [PACKAGE ...]
  PACKAGE     {packages}; all if left out, which takes days on two cores: it goes on where it was
  --install   compile cargo-mutants into .boot (some minutes); done at need otherwise
  --changed   only what differs from main, as `./dev check` does, with what is installed
  --scores    try nothing, write tests/mutation-scores.csv from what is known
"""


def run_mutants(arguments: list[str]) -> int:
    """Try mutants of packages, and say which live without a reason."""
    options = [each for each in arguments if each.startswith("-")]
    packages = [each for each in arguments if not each.startswith("-")]
    known = [*CRATES, *python_mutants.PACKAGES]
    unknown = [each for each in options if each not in ("--install", "--changed", "--scores")]
    unknown += [each for each in packages if each not in known]
    if unknown:
        print_message(f"{unknown[0]} is unknown\n" + USAGE.format(packages=", ".join(known)))
        return 2
    if "--scores" in options:
        write_scores()
        return report_survivors(known)
    if "--install" in options:
        install_tool()
        return 0
    difference = None
    if "--changed" in options:
        difference = write_difference()
        if difference is None:
            print_message("mutants: nothing differs from main")
            return 0
        if not os.path.exists(TOOL):
            print_message("mutants: cargo-mutants is not installed, so none of Rust is tried")
    else:
        install_tool()
        steps.prepare_environment("test")
    chosen = packages or known
    for name in chosen:
        clock = Stopwatch()
        if name in CRATES:
            if os.path.exists(TOOL):
                try_crate(name, difference)
        else:
            python_mutants.try_package(name, difference, CHANGED_LIMIT_S)
        print_message(f"mutants of {name}: {describe_score(name)} ({clock})")
    if difference is None:
        write_scores()
    return report_survivors(chosen)


def install_tool() -> None:
    """Compile cargo-mutants, of a fixed version, into the folder of what is needed to begin."""
    if os.path.exists(TOOL):
        return
    steps.check_rust()
    print_message("compiling cargo-mutants (some minutes, once)")
    command = ["cargo", "install", "cargo-mutants", "--locked", "--version", TOOL_VERSION]
    command += ["--root", TOOL_FOLDER]
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


def try_crate(name: str, difference: str | None) -> None:
    """Try the mutants of a crate that no earlier run has caught."""
    output = os.path.join(RESULTS, name)
    os.makedirs(output, exist_ok=True)
    command = [TOOL, "mutants", "--package", f"trunkline-{name}", "--output", output]
    command += ["--iterate", "--jobs", str(os.cpu_count() or 1), "--profile", "release"]
    command += ["--no-times", "--colors", "never", "--minimum-test-timeout", "60"]
    command += [f"--cargo-arg={each}" for each in (*steps.QUICK_BUILD_OPTIONS, "--locked")]
    if difference is not None:
        command += ["--in-diff", difference]
    command += ["--", "--lib", "--tests"]
    environment = {**os.environ, **steps.CARGO_ENVIRONMENT}
    limit_s = None if difference is None else CHANGED_LIMIT_S
    try:
        # 2: some live; 3: some ran for too long, which counts as caught; 0 without any mutant.
        status = subprocess.call(command, cwd=steps.ROOT, env=environment, timeout=limit_s)
    except subprocess.TimeoutExpired:
        print_message(f"mutants of {name}: not all tried; ./dev mutants --changed goes on")
        return
    keep_unviable(output)
    if status not in (0, 2, 3):
        raise StepFailed(f"cargo-mutants ended with {status}")


def keep_unviable(output: str) -> None:
    """Keep the names of mutants that do not compile, which the next run takes for caught."""
    try:
        with open(os.path.join(output, "mutants.out", "unviable.txt"), encoding="utf-8") as stream:
            names = stream.read()
    except OSError:
        return
    with open(os.path.join(output, UNVIABLE), "a", encoding="utf-8") as stream:
        stream.write(names)


def read_outcomes(name: str) -> dict[str, str]:
    """Mutants of a package that were tried: ``caught``, ``lives`` or ``unviable``, by name."""
    if name in python_mutants.PACKAGES:
        return python_mutants.read_outcomes(name)
    folder = os.path.join(RESULTS, name, "mutants.out")
    outcomes: dict[str, str] = {}
    for file, outcome in [
        ("previously_caught.txt", "caught"),
        ("caught.txt", "caught"),
        ("timeout.txt", "caught"),
        ("missed.txt", "lives"),
        ("unviable.txt", "unviable"),
        (os.path.join("..", UNVIABLE), "unviable"),
    ]:
        try:
            with open(os.path.join(folder, file), encoding="utf-8") as stream:
                outcomes.update(dict.fromkeys(stream.read().splitlines(), outcome))
        except OSError:
            continue
    return outcomes


def count_mutants(name: str) -> int:
    """How many mutants a package has, tried or not."""
    if name in python_mutants.PACKAGES:
        return len(python_mutants.list_mutants(name))
    # The list of a run has only those that it tried.
    command = [TOOL, "mutants", "--list", "--package", f"trunkline-{name}"]
    listed = subprocess.run(command, cwd=steps.ROOT, capture_output=True, check=True)
    return len(listed.stdout.splitlines())


def read_reasons(name: str) -> dict[str, str]:
    """Reasons of the listed survivors of a package, by name without its place."""
    with open(SURVIVORS, encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["package"] == name]
    return {row["mutant"]: row["reason"] for row in rows}


def find_unexplained(name: str) -> list[str]:
    """Mutants of a package that live and are not listed."""
    reasons = read_reasons(name)
    lives = (mutant for mutant, outcome in read_outcomes(name).items() if outcome == "lives")
    return [mutant for mutant in lives if PLACE.sub(": ", mutant) not in reasons]


def describe_score(name: str) -> str:
    """What is known of a package, in a line."""
    outcomes = [each for each in read_outcomes(name).values() if each != "unviable"]
    caught = outcomes.count("caught")
    share = f", {100 * caught / len(outcomes):.1f} %" if outcomes else ""
    return f"{caught} of {len(outcomes)} caught{share}"


def write_scores() -> None:
    """Write how many mutants each package has, and what became of those that were tried."""
    with open(SCORES, encoding="utf-8", newline="") as stream:
        rows = {row["package"]: row for row in csv.DictReader(stream)}
    for name in (*CRATES, *python_mutants.PACKAGES):
        outcomes = [each for each in read_outcomes(name).values() if each != "unviable"]
        if not outcomes:
            continue
        unexplained = len(find_unexplained(name))
        counts = {
            "mutants": count_mutants(name),
            "tried": len(outcomes),
            "caught": outcomes.count("caught"),
            "listed": outcomes.count("lives") - unexplained,
            "lives": unexplained,
        }
        rows[name] = {"package": name} | {key: str(count) for key, count in counts.items()}
    with open(SCORES, "w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, SCORE_COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows.values())


def report_survivors(names: list[str]) -> int:
    """Show the mutants that live without a reason; 1 if there are any."""
    unexplained = [f"{name}: {mutant}" for name in names for mutant in find_unexplained(name)]
    for each in unexplained:
        print(each)
    if unexplained:
        print_message(
            f"{len(unexplained)} mutants live; each needs a test, or a line in tests/mutants.csv"
        )
    return 1 if unexplained else 0

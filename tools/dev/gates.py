"""The commands that judge: ``test``, ``check``, ``bench`` and ``package``."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import mutants
import newcomer
import resolutions
import setup_steps as steps
from shell import StepFailed, Stopwatch, is_plain, print_message, run_program

# Units are in square brackets, which are no links.
DOC_FLAGS = "-D warnings -A rustdoc::broken_intra_doc_links"

TOOLS = os.pathsep.join(os.path.join("tools", name) for name in ("dev", "build"))

Gate = tuple[str, list[str], dict[str, str]]
"""Name of a gate, its command, and environment variables."""


def run_tests(arguments: list[str]) -> int:
    """Run the Rust tests alongside the Python tests; arguments go to pytest.

    With arguments the Rust tests are left out, as pytest's names mean nothing to them. ``--slow``
    alone runs all tests, those that are marked slow included, but no guests; ``--linux`` alone all
    tests of the Linux engine, with its guests; ``--oldest`` and ``--newest`` run the Python tests
    on other packages than the pinned ones.
    """
    steps.prepare_environment("test")
    clock = Stopwatch()
    failed = []
    python = steps.VENV_PYTHON
    # Files are kept whole, as fixtures of a module take long; tests/conftest.py has the long ones
    # come first. Single tests run at once. Some tests wait for guests, browsers and other programs:
    # one worker more than cores keeps the cores busy, and each collects all tests.
    workers = str((os.cpu_count() or 1) + 1)
    distribution_options = ["-n", workers, "--dist", "loadfile", "--no-loadscope-reorder"]
    run_everything = arguments in ([], ["--slow"])
    if arguments[:1] and arguments[0] in resolutions.RESOLUTIONS:
        python = resolutions.make_environment(arguments[0])
        # Warnings of a package about later or earlier packages are no fault of ours.
        arguments = ["-W", "default", *(arguments[1:] or distribution_options)]
    elif arguments == ["--linux"]:
        arguments = ["--linux", "tests/linux", "tests/unit/linux", "tests/evidence"]
        arguments.append("tests/cli/test_kernel_commands.py")
    # Compiling leaves a core idle at times, and so do the last tests.
    with ThreadPoolExecutor(1) as pool:
        rust = pool.submit(run_rust_tests, arguments == ["--slow"]) if run_everything else None
        print_message("Python tests")
        if run_visibly(
            [python, "-m", "pytest", *(distribution_options if run_everything else []), *arguments]
        ):
            failed.append("Python")
        try:
            if rust is not None:
                rust.result()
        except StepFailed as failure:
            print_message(str(failure))
            failed.append("Rust")
    # When all is well the last word is pytest's own.
    if failed:
        print_message(f"{' and '.join(failed)} tests failed, after {clock}")
    return 1 if failed else 0


def run_rust_tests(tries_all_cases: bool) -> None:
    """Run the Rust tests, and say how many passed.

    tries_all_cases: Of property tests whose cases are whole runs; otherwise a quarter.
    Raises StepFailed: Some did not; the message has the end of their output.
    """
    print_message("Rust tests, alongside them (compiling takes about a minute the first time)")
    clock = Stopwatch()
    # On the engine that the environment has: to compile another takes as long again. There are no
    # examples in comments to test; to look for some takes 5 s.
    command = ["cargo", "test", "--release", "--tests", *steps.QUICK_BUILD_OPTIONS]
    command += ["--workspace", "--locked", "--quiet", "--no-fail-fast"]
    log = steps.get_stamp_path("rust-tests.log")
    environment = dict(steps.CARGO_ENVIRONMENT)
    if tries_all_cases:
        environment["TRUNKLINE_ALL_CASES"] = "1"
    run_program(command, cwd=steps.ROOT, log=log, environment=environment)
    with open(log, encoding="utf-8") as stream:
        passed = sum(map(int, re.findall(r"^test result: ok\. (\d+) passed", stream.read(), re.M)))
    print_message(f"Rust tests: {passed} passed ({clock})")


def run_visibly(command: list[str]) -> int:
    """Run a program in the open and give its exit status.

    command: The program and its arguments.
    """
    if is_plain():
        print_message("$ " + " ".join(command))
    return subprocess.call(command, cwd=steps.ROOT)


def list_gates() -> list[Gate]:
    """List the gates of ``./dev check``: name, command, variables to add."""
    python = steps.VENV_PYTHON
    cargo = steps.CARGO_ENVIRONMENT
    # In the profile of the engine, whose dependencies are there.
    lint = ["cargo", "clippy", "--release", *steps.QUICK_BUILD_OPTIONS]
    lint += ["--workspace", "--all-targets", "--locked", "--quiet"]
    lint += ["--features", "trunkline-engine/program"]
    document = ["cargo", "doc", "--release", *steps.QUICK_BUILD_OPTIONS]
    document += ["--workspace", "--no-deps", "--locked", "--quiet"]
    return [
        ("python format", [python, "-m", "ruff", "format", "--check", "--quiet", "."], {}),
        ("python lint", [python, "-m", "ruff", "check", "--output-format", "concise", "."], {}),
        ("python types", [python, "-m", "mypy"], {}),
        ("stub", [python, "tools/stub.py"], {}),
        ("tools types", [python, "-m", "mypy", "tools/dev", "tools/build"], {"MYPYPATH": TOOLS}),
        ("rust format", ["cargo", "fmt", "--all", "--check"], cargo),
        ("rust lint", [*lint, "--", "-D", "warnings"], cargo),
        ("rust docs", document, {**cargo, "RUSTDOCFLAGS": DOC_FLAGS}),
        ("import arrows", [python, "tools/dependency_rules.py"], {}),
        ("names", [python, "tools/names.py"], {}),
        ("forbidden words", [python, "tools/forbidden_text.py"], {}),
        ("requirements", [python, "tools/requirements.py"], {}),
        ("schema", [python, "tools/reference_pages.py"], {}),
        ("study pages", [python, "tools/study_pages.py"], {}),
        ("docs", [python, "tools/doc_examples.py"], {}),
        ("mutants", [python, "tools/dev", "mutants", "--changed"], {}),
    ]


def pass_gates(chosen: list[Gate]) -> list[str]:
    """Run gates one after the other and say how each ended.

    chosen: As ``list_gates`` gives them.
    Returns: The names of those that failed.
    """
    failed = []
    for name, command, environment in chosen:
        gate = Stopwatch()
        try:
            log = steps.get_stamp_path(f"check-{name.replace(' ', '-')}.log")
            run_program(command, cwd=steps.ROOT, log=log, environment=environment)
        except StepFailed as failure:
            print_message(f"{name}: FAILED, {failure}")
            failed.append(name)
        else:
            print_message(f"{name}: ok ({gate})")
    return failed


def run_checks(arguments: list[str]) -> int:
    """Run every gate, or those whose name holds one of the words given, and say which failed."""
    steps.prepare_environment("check")
    clock = Stopwatch()
    failed = []
    chosen = [
        gate_
        for gate_ in list_gates()
        if not arguments or any(word in gate_[0] for word in arguments)
    ]
    if not chosen:
        raise StepFailed(
            f"no such gate; there are {', '.join(gate_[0] for gate_ in list_gates())}", 2
        )
    # Cargo's gates wait for each other's lock. The documents take as long as all others of Python.
    gates_by_group: dict[str, list[Gate]] = {}
    for gate in chosen:
        name, command, _ = gate
        group = "cargo" if command[0] == "cargo" or name == "mutants" else "python"
        group = "docs" if name == "docs" else group
        gates_by_group.setdefault(group, []).append(gate)
    with ThreadPoolExecutor(len(gates_by_group)) as pool:
        for names in pool.map(pass_gates, gates_by_group.values()):
            failed += names
    if failed:
        print_message(f"{len(failed)} of {len(chosen)} gates failed: {', '.join(failed)}")
        return 1
    print_message(f"all {len(chosen)} gates passed in {clock}")
    return 0


def run_benchmarks(arguments: list[str]) -> int:
    """Build the plain engine program and run the benchmarks."""
    steps.prepare_environment("run")
    print_message("compiling the benchmark program")
    command = ["cargo", "build", "--release", "--locked", "--bins"]
    command += ["-p", "trunkline-engine", "--features", "program"]
    log = steps.get_stamp_path("bench.log")
    # In a folder of its own it neither waits for another build nor keeps one waiting.
    target = os.path.join(steps.TARGET_FOLDER, "bench")
    environment = {**steps.CARGO_ENVIRONMENT, "CARGO_TARGET_DIR": target}
    run_program(command, cwd=steps.ROOT, log=log, environment=environment)
    program = os.path.join(target, "release", "trunkline-sim")
    return run_visibly([steps.VENV_PYTHON, "bench/bench.py", "--engine", program, *arguments])


def test_package(arguments: list[str]) -> int:
    """Build the wheel as ``pip install .`` does and try it in an environment of its own."""
    if arguments:
        raise StepFailed("package takes no arguments", 2)
    steps.check_rust()
    program = steps.get_installer()
    clock = Stopwatch()
    print_message("building the wheel and installing it into an empty environment (about 60 s)")
    folder = tempfile.mkdtemp(prefix="trunkline-package-")
    try:
        venv = os.path.join(folder, "venv")
        python = os.path.join(venv, "bin", "python")
        log = steps.get_stamp_path("package.log")
        environment = {"UV_PYTHON_DOWNLOADS": "never", "VIRTUAL_ENV": venv}
        # The build shares the compiled dependencies; the environment shares nothing.
        build = {
            **environment,
            "MATURIN_PEP517_ARGS": " ".join(steps.QUICK_BUILD_OPTIONS),
            "CARGO_TARGET_DIR": steps.TARGET_FOLDER,
        }
        make_venv = [
            program,
            "venv",
            "--quiet",
            "--python",
            os.path.realpath(sys.executable),
            venv,
        ]
        run_program(make_venv, cwd=folder, log=log, environment=environment)
        install = [program, "pip", "install", "--quiet", "--no-cache", steps.ROOT]
        run_program(install, cwd=folder, log=log, environment=build)
        copy_words, run_words = (
            ["examples", "copy", "hello"],
            ["run", "hello.yaml", "--out", "results"],
        )
        share_words = ["share", "hello.yaml"]
        all_words = (
            ["version"],
            ["examples", "list"],
            ["schema"],
            copy_words,
            run_words,
            share_words,
        )
        for words in all_words:
            run_program([os.path.join(venv, "bin", "trunkline"), *words], cwd=folder, log=log)
        run_program([python, "-c", "import trunkline._core"], cwd=folder, log=log)
        with open(os.path.join(folder, "results", "report.html"), encoding="utf-8") as page:
            if 'id="library"' not in page.read():
                raise StepFailed("the package's report has no charts library")
        newcomer.test_live_page(
            os.path.join(venv, "bin", "trunkline"), tempfile.mkdtemp(dir=folder)
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print_message(f"the package installs and answers; {clock}")
    return 0


def build_docs(arguments: list[str]) -> int:
    """Make the documentation site; a page in no menu, or a link to nowhere, is an error."""
    if arguments:
        raise StepFailed("docs takes no arguments", 2)
    steps.prepare_environment("docs")
    return run_visibly([steps.VENV_PYTHON, "tools/website.py"])


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "test": run_tests,
    "check": run_checks,
    "bench": run_benchmarks,
    "mutants": mutants.run_mutants,
    "package": test_package,
    "docs": build_docs,
}

"""The commands that judge: ``test``, ``check``, ``bench`` and ``package``."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import newcomer
import resolutions
import setup_steps as steps
from shell import Clock, Failed, plain, run, say

# Units stand in square brackets, which are no links.
DOC_FLAGS = "-D warnings -A rustdoc::broken_intra_doc_links"

TOOLS = os.pathsep.join(os.path.join("tools", name) for name in ("dev", "build"))

Gate = tuple[str, list[str], dict[str, str]]
"""Its name, its command, and variables to add."""


def test(arguments: list[str]) -> int:
    """Run the Rust tests beside the Python tests; arguments go to pytest.

    With arguments the Rust tests are left out, as pytest's names mean nothing to them. ``--linux``
    alone runs all tests of the Linux engine, those that take minutes included; ``--oldest`` and
    ``--newest`` run the Python tests on other packages than the pinned ones.
    """
    steps.prepare("test")
    clock = Clock()
    failed = []
    python = steps.VENV_PYTHON
    # Files are kept whole, as fixtures of a module take long; tests/conftest.py has the long ones
    # come first. Single tests run at once.
    spread = ["-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder"]
    whole = not arguments
    if arguments[:1] and arguments[0] in resolutions.RESOLUTIONS:
        python = resolutions.make(arguments[0])
        # What a package says of those that came after it, or before it, is no fault of ours.
        arguments = ["-W", "default", *(arguments[1:] or spread)]
    elif arguments == ["--linux"]:
        arguments = ["--linux", "tests/linux", "tests/unit/linux", "tests/evidence/linux"]
    # Compiling leaves a core idle at times, and so do the last tests.
    with ThreadPoolExecutor(1) as beside:
        rust = beside.submit(rust_tests) if whole else None
        say("Python tests")
        if attempt([python, "-m", "pytest", *(spread if whole else arguments)]):
            failed.append("Python")
        try:
            if rust is not None:
                rust.result()
        except Failed as failure:
            say(str(failure))
            failed.append("Rust")
    # When all is well the last word is pytest's own.
    if failed:
        say(f"{' and '.join(failed)} tests failed, after {clock}")
    return 1 if failed else 0


def rust_tests() -> None:
    """Run the Rust tests, and say how many passed.

    Raises
    ------
    Failed
        Some did not; the end of what they said is shown.
    """
    say("Rust tests, beside them (compiling takes about a minute the first time)")
    clock = Clock()
    # On the engine that the environment has: to compile another takes as long again. There are no
    # examples in comments to test; to look for some takes 5 s.
    command = ["cargo", "test", "--release", "--tests", *steps.QUICK]
    command += ["--workspace", "--locked", "--quiet", "--no-fail-fast"]
    log = steps.stamp_path("rust-tests.log")
    run(command, cwd=steps.ROOT, log=log, environment=steps.CARGO_ENVIRONMENT)
    with open(log, encoding="utf-8") as stream:
        passed = sum(map(int, re.findall(r"^test result: ok\. (\d+) passed", stream.read(), re.M)))
    say(f"Rust tests: {passed} passed ({clock})")


def attempt(command: list[str]) -> int:
    """Run a program in the open and give its exit status.

    Parameters
    ----------
    command : list of str
        The program and its arguments.

    Returns
    -------
    int
    """
    if plain():
        say("$ " + " ".join(command))
    return subprocess.call(command, cwd=steps.ROOT)


def gates() -> list[Gate]:
    """The gates of ``./dev check``: name, command, variables to add.

    Returns
    -------
    list of Gate
    """
    python = steps.VENV_PYTHON
    cargo = steps.CARGO_ENVIRONMENT
    # In the profile of the engine, whose dependencies are there.
    lint = ["cargo", "clippy", "--release", *steps.QUICK]
    lint += ["--workspace", "--all-targets", "--locked", "--quiet"]
    lint += ["--features", "trunkline-engine/program"]
    document = ["cargo", "doc", "--release", *steps.QUICK]
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
        ("import arrows", [python, "tools/arrows.py"], {}),
        ("forbidden words", [python, "tools/words.py"], {}),
        ("requirements", [python, "tools/requirements.py"], {}),
        ("schema", [python, "tools/schema.py"], {}),
        ("study pages", [python, "tools/study_pages.py"], {}),
        ("docs", [python, "tools/docs.py"], {}),
    ]


def pass_gates(chosen: list[Gate]) -> list[str]:
    """Run gates one after the other and say how each ended.

    Parameters
    ----------
    chosen : list of Gate
        As ``gates`` gives them.

    Returns
    -------
    list of str
        The names of those that failed.
    """
    failed = []
    for name, command, environment in chosen:
        gate = Clock()
        try:
            log = steps.stamp_path(f"check-{name.replace(' ', '-')}.log")
            run(command, cwd=steps.ROOT, log=log, environment=environment)
        except Failed as failure:
            say(f"{name}: FAILED, {failure}")
            failed.append(name)
        else:
            say(f"{name}: ok ({gate})")
    return failed


def check(arguments: list[str]) -> int:
    """Run every gate, or those whose name holds one of the words given, and say which failed."""
    steps.prepare("check")
    clock = Clock()
    failed = []
    chosen = [g for g in gates() if not arguments or any(word in g[0] for word in arguments)]
    if not chosen:
        raise Failed(f"no such gate; there are {', '.join(g[0] for g in gates())}", 2)
    # Cargo's gates wait for each other's lock. The documents take as long as all others of Python.
    rows: dict[str, list[Gate]] = {}
    for gate in chosen:
        name, command, _ = gate
        row = "cargo" if command[0] == "cargo" else "docs" if name == "docs" else "python"
        rows.setdefault(row, []).append(gate)
    with ThreadPoolExecutor(len(rows)) as pool:
        for names in pool.map(pass_gates, rows.values()):
            failed += names
    if failed:
        say(f"{len(failed)} of {len(chosen)} gates failed: {', '.join(failed)}")
        return 1
    say(f"all {len(chosen)} gates passed in {clock}")
    return 0


def bench(arguments: list[str]) -> int:
    """Build the plain engine program and run the benchmarks."""
    steps.prepare("run")
    say("compiling the benchmark program")
    command = ["cargo", "build", "--release", "--locked", "--bins"]
    command += ["-p", "trunkline-engine", "--features", "program"]
    log = steps.stamp_path("bench.log")
    # In a folder of its own it neither waits for another build nor keeps one waiting.
    target = os.path.join(steps.TARGET, "bench")
    environment = {**steps.CARGO_ENVIRONMENT, "CARGO_TARGET_DIR": target}
    run(command, cwd=steps.ROOT, log=log, environment=environment)
    program = os.path.join(target, "release", "trunkline-sim")
    return attempt([steps.VENV_PYTHON, "bench/bench.py", "--engine", program, *arguments])


def package(arguments: list[str]) -> int:
    """Build the wheel as ``pip install .`` does and try it in an environment of its own."""
    if arguments:
        raise Failed("package takes no arguments", 2)
    steps.check_rust()
    program = steps.uv()
    clock = Clock()
    say("building the wheel and installing it into an empty environment (about 60 s)")
    folder = tempfile.mkdtemp(prefix="trunkline-package-")
    try:
        venv = os.path.join(folder, "venv")
        python = os.path.join(venv, "bin", "python")
        log = steps.stamp_path("package.log")
        environment = {"UV_PYTHON_DOWNLOADS": "never", "VIRTUAL_ENV": venv}
        # The build shares the compiled dependencies; the environment shares nothing.
        build = {
            **environment,
            "MATURIN_PEP517_ARGS": " ".join(steps.QUICK),
            "CARGO_TARGET_DIR": steps.TARGET,
        }
        make = [
            program,
            "venv",
            "--quiet",
            "--python",
            os.path.realpath(sys.executable),
            venv,
        ]
        run(make, cwd=folder, log=log, environment=environment)
        install = [program, "pip", "install", "--quiet", "--no-cache", steps.ROOT]
        run(install, cwd=folder, log=log, environment=build)
        copy, keep = ["examples", "copy", "hello"], ["run", "hello.yaml", "--out", "results"]
        for words in (["version"], ["examples", "list"], ["schema"], copy, keep):
            run([os.path.join(venv, "bin", "trunkline"), *words], cwd=folder, log=log)
        run([python, "-c", "import trunkline._core"], cwd=folder, log=log)
        with open(os.path.join(folder, "results", "report.html"), encoding="utf-8") as page:
            if 'id="library"' not in page.read():
                raise Failed("the package's report has no charts library")
        newcomer.try_page(os.path.join(venv, "bin", "trunkline"), tempfile.mkdtemp(dir=folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say(f"the package installs and answers; {clock}")
    return 0


def docs(arguments: list[str]) -> int:
    """Make the documentation site; a page in no menu, or a link to nowhere, is an error."""
    if arguments:
        raise Failed("docs takes no arguments", 2)
    steps.prepare("docs")
    return attempt([steps.VENV_PYTHON, "tools/website.py"])


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "test": test,
    "check": check,
    "bench": bench,
    "package": package,
    "docs": docs,
}

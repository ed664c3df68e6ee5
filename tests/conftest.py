"""Shared by all tests."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from prefork import PYTHON_VARIABLE_PREFIXES, PreforkServer

if TYPE_CHECKING:
    from trunkline.study import Reproduction

pytest_plugins = ["browser"]

ROOT = Path(__file__).resolve().parent.parent

# Programs that are started in the background of a shell ignore Ctrl-C, and so would all that the
# tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# There is a process of tests for each core: more threads of linear algebra would wait for each
# other, and the library waits by counting. It reads this when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The same examples in every run here; a wider search is a matter of HYPOTHESIS_PROFILE=wide.
settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("wide", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--slow``, ``--linux``: tests that are left out without; ``--pin``: rewrite the pins."""
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")
    parser.addoption(
        "--linux", action="store_true", help="run the tests marked guests, and slow, as well"
    )
    parser.addoption(
        "--pin", action="store_true", help="rewrite tests/pinned-*.csv where results differ"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check ``--pin``, and let every second worker begin at the other end.

    Several processes would overwrite each other's lines of the pinned results. And where no test
    was compiled before, workers that read the same files in the same order all compile all of them;
    from both ends, each finds what the other has compiled. Their tests are sorted alike below.
    """
    if config.getoption("--pin") and config.getoption("numprocesses", None):
        msg = "--pin rewrites one file: leave out -n"
        raise pytest.UsageError(msg)
    worker = getattr(config, "workerinput", {}).get("workerid", "gw0")
    if int(worker.removeprefix("gw")) % 2 and config.args == config.getini("testpaths"):
        below = (each for root in config.args for each in (ROOT / root).glob("**/test_*.py"))
        config.args = [str(path) for path in sorted(below, reverse=True)]


# Files that take longest, the longest first: a worker that began one of them last would work on it
# alone while the others have nothing left to do.
LONGEST_FILES = (
    "report/test_studies.py",
    "evidence/test_altered.py",
    "faults/test_cluster.py",
    "unit/study/test_fit.py",
    "faults/test_interruption.py",
    "linux/test_faults.py",
    "cli/test_commands.py",
    "linux/test_runners.py",
    "cli/test_kernel_commands.py",
    "report/test_page.py",
    "unit/study/test_scenario_fit.py",
    "report/test_browser.py",
    "linux/test_debts.py",
    "unit/test_features_together.py",
    "unit/scenario/test_fuzz.py",
    "pcap/test_tshark.py",
    "unit/test_pinned_results.py",
    "evidence/te/test_optimal_routing.py",
    "unit/study/test_develder2003.py",
    "linux/test_queues.py",
    "report/test_live.py",
    "unit/study/test_seddigh1999.py",
    "linux/test_export.py",
    "unit/engine/test_signalling.py",
    "unit/stats/test_coverage.py",
    "linux/test_ecn.py",
    "cli/test_compare.py",
    "evidence/te/test_capacity_expansion.py",
    "faults/test_survive_faults.py",
    "faults/test_refusal.py",
    "linux/test_verify.py",
)


def _get_sort_key(item: pytest.Item) -> tuple[int, str]:
    file = item.path.relative_to(ROOT / "tests").as_posix()
    return LONGEST_FILES.index(file) if file in LONGEST_FILES else len(LONGEST_FILES), file


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long files first; skip slow tests and those of guests, with the reason, unless asked for."""
    items.sort(key=_get_sort_key)
    if config.getoption("--linux"):
        return
    skipped = {"guests": "guests of the Linux engine: ./dev test --linux"}
    if not config.getoption("--slow"):
        skipped["slow"] = "slow: ./dev test --slow"
    for item in items:
        for marker, reason in skipped.items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """Leave what collection made out of later searches for cycles, which took 6 % of all time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


MD1_SCENARIO = """
trunkline: 1
parameters: {load: 0.5, size: 1250 B}
nodes: [S, R]
links: {S-R: {rate: 10 Mbit/s, port: endless}}
ports: {endless: {queue: {limit: none}}}
flows:
  poisson:
    {agent: udp, from: S, to: R, arrivals: poisson, rate: "${load * 10 Mbit/s}", size: $size}
run: {duration: 2 s}
"""
"""A queue whose mean wait is load / (2 * (1 - load)) * 1 ms: half of one at a load of 0.5."""

RunCommand = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PreforkServer | None]:
    """The command line with its imports done; none where it cannot be had."""
    if not hasattr(os, "pidfd_open"):
        yield None
        return
    with PreforkServer(str(tmp_path_factory.mktemp("prefork"))) as started:
        yield started


STUDY_RUNS = {"bhani1999": 3}
"""Replications of the study that tests look at, if not 2: the least that decides its claims."""
SHORTER_STUDIES = {
    "andreozzi2001": {"duration": "120 s"},
    "avallone2003": {"run.duration": "16 s"},
}
"""What tests change in studies of which they look at no value: their runs take long."""


@pytest.fixture(scope="session")
def reproduce_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Reproduction]:
    """Reproduces a study of the package whole.

    It runs for the first test that asks; all processes of the same call of pytest share the runs.
    """
    from trunkline.study import Reproduction, find_study
    from trunkline.study.run.runner import build_plan, read_study_values
    from trunkline.study.run.session import perform_plan

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    def call(name: str) -> Reproduction:
        study, seeds = find_study(name), range(1, STUDY_RUNS.get(name, 2) + 1)
        shorter = SHORTER_STUDIES.get(name, {})
        cases = {
            key: case.model_copy(update={"set": shorter | case.set})
            for key, case in study.cases.items()
        }
        study = study.model_copy(update={"cases": cases})
        with open(folder / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with perform_plan(build_plan(study, seeds), out=folder / name, resume=True) as runs:
                return Reproduction(study, seeds, read_study_values(study, runs), runs)

    return call


@pytest.fixture(scope="session")
def prefork(server: PreforkServer | None) -> list[str]:
    """A program that is the command line, with its imports done."""
    return [server.program] if server else [sys.executable, "-m", "trunkline"]


@pytest.fixture
def trunkline(tmp_path: Path, server: PreforkServer | None) -> RunCommand:
    """Runs the command line in a process of its own, in an empty folder.

    With variables that Python reads when it starts the process is a new one.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TRUNKLINE_")}
    environment |= {"COLUMNS": "100", "NO_COLOR": "1"}

    def call(
        *words: str,
        cwd: Path = tmp_path,
        env: Mapping[str, str | None] | None = None,
        input: str = "",
    ) -> subprocess.CompletedProcess[str]:
        given_environment = env or {}
        process_environment = {
            k: v for k, v in {**environment, **given_environment}.items() if v is not None
        }
        if server is not None and not any(
            name.startswith(PYTHON_VARIABLE_PREFIXES) for name in given_environment
        ):
            return server.run(
                words,
                folder=str(cwd),
                environment=process_environment,
                standard_input=input,
                longest_s=120,
            )
        return subprocess.run(
            [sys.executable, "-m", "trunkline", *words],
            cwd=cwd,
            env=process_environment,
            input=input,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call

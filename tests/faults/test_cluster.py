"""Runs on Dask clusters: workers that die, are of another build, or lose who they work for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trunkline import _core
from trunkline.study.errors import StudyError, SystemLimitError
from trunkline.study.outcome.reproduction import StudySubject
from trunkline.study.run import cluster
from trunkline.study.run.checked_files import JOURNAL_FILE
from trunkline.study.run.execution import RunOptions
from trunkline.study.run.run_plan import RunTask
from trunkline.study.run.session import perform_plan
from trunkline.study.run.store import StudyStore

from .conftest import SCENARIO, Start, files, perform, until_done, write_study

psutil = pytest.importorskip("psutil")
pytest.importorskip("distributed")


@pytest.mark.slow
def test_f10_a_worker_that_is_killed_costs_nothing(
    start: Start, slow: Path, tmp_path: Path
) -> None:
    process = start(
        *("study", "run", str(slow), "--cluster", "local:2", "--out", "out", "--progress", "json"),
    )
    until_done(process, 1)
    os.kill(workers(process.pid)[0], signal.SIGKILL)
    _, lines = process.communicate(timeout=240)
    assert process.returncode == 0, lines
    with perform_plan(StudySubject(str(slow)).plan, out=tmp_path / "clean"):
        assert files(tmp_path / "out") == files(tmp_path / "clean")


@pytest.mark.slow
def test_f10_a_run_that_kills_its_worker_twice_fails_and_takes_no_other_with_it(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean: dict[str, bytes]
) -> None:
    plan, out, deaths = StudySubject(str(study)).plan, tmp_path / "out", tmp_path / "deaths"
    with monkeypatch.context() as patched:
        patched.setattr(cluster, "run_on_worker", killing(7, deaths, list(plan.iterate_tasks())))
        failed = perform(plan, out, RunOptions(cluster="local:2"))
    assert [(each.task.number, each.kind) for each in failed] == [(7, "worker")]
    assert deaths.read_text().splitlines() == ["died"] * 2  # Tried, and tried again once.
    kept = json.loads((out / "failed" / "7" / "failure.json").read_text())
    assert (kept["seed"], "KilledWorker" in kept["text"]) == (4, True)
    assert (out / "failed" / "7" / "scenario.yaml").is_file()
    again = StudyStore(out, plan, resume=True)
    assert [task.number for task in again.list_missing()] == [7]
    again.close()
    assert perform(plan, out, RunOptions()) == []
    assert files(out) == clean


@pytest.mark.slow
def test_f22_when_the_coordinator_dies_the_workers_end_and_finished_runs_are_kept(
    start: Start, slow: Path, tmp_path: Path
) -> None:
    process = start(
        *("study", "run", str(slow), "--cluster", "local:2", "--out", "out", "--progress", "json"),
    )
    until_done(process, 1)
    wait(lambda: (tmp_path / "out" / JOURNAL_FILE).stat().st_size > 0)
    mine = workers(process.pid)
    assert len(mine) == 2
    process.kill()
    process.wait()
    wait(lambda: not any(alive(pid) for pid in mine))
    store = StudyStore(tmp_path / "out", StudySubject(str(slow)).plan, resume=True)
    assert 0 < len(store.list_missing()) < 20
    store.close()


def workers(parent: int) -> list[int]:
    """Processes of the workers below a process."""
    below = psutil.Process(parent).children(recursive=True)
    return [each.pid for each in below if "spawn_main" in " ".join(each.cmdline())]


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Cluster:
    """A scheduler and workers as one starts them on machines of one's own, here on this one.

    folder: Where its files go.
    environment: Variables of all its processes.
    """

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._started: list[subprocess.Popen[bytes]] = []
        self._environment = os.environ | environment
        self._folder = folder
        self._file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")

    @property
    def address(self) -> str:
        """Where the scheduler is; empty until its file says so."""
        try:
            return str(json.loads(self._file.read_text())["address"])
        except (FileNotFoundError, ValueError):
            return ""

    def _start(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        begin = [sys.executable, "-m", f"distributed.cli.dask_{what}"]
        begin += ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        process = subprocess.Popen(
            [*begin, "--scheduler-file", str(self._file), *words],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._started.append(process)
        return process

    def work(self, count: int, *words: str) -> list[subprocess.Popen[bytes]]:
        """Start workers of a thread each, and wait until they are there."""
        from distributed import Client

        began = [self._start("worker", "--nthreads", "1", *words) for _ in range(count)]
        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=120)
        return began

    def end(self) -> None:
        """Kill what was started, and what that has started."""
        for process in self._started:
            below = (
                psutil.Process(process.pid).children(recursive=True) if alive(process.pid) else []
            )
            for each in [process, *below]:
                each.kill()
            process.wait()


def wait(until: Callable[[], bool], longest_s: float = 60) -> None:
    """Wait for something."""
    end = time.monotonic() + longest_s
    while not until():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def cluster_of(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Makes clusters with some variables set."""
    made: list[Cluster] = []

    def make(**environment: str) -> Cluster:
        made.append(Cluster(tmp_path, environment))
        wait(lambda: made[-1].address != "")
        return made[-1]

    yield make
    for each in made:
        each.end()


def killing(number: int, deaths: Path, missing: list[RunTask]) -> Callable[..., object]:
    """The work of a cluster, with a run that kills whoever takes it."""
    lethal = next(task for task in missing if task.number == number)
    value = (lethal.point.network_json, lethal.seed)

    def working(network_json: str, seed: int, *more: object) -> object:
        if (network_json, seed) == value:
            with deaths.open("a") as file:
                file.write("died\n")
            os.kill(os.getpid(), signal.SIGKILL)
        from trunkline.study.run.cluster import (
            run_on_worker,  # The worker's, which nobody has replaced.
        )

        return run_on_worker(network_json, seed, *more)  # type: ignore[arg-type]

    return working


@pytest.mark.slow
def test_f10_a_killed_worker_of_a_cluster_of_ones_own_costs_nothing(
    cluster_of: Callable[..., Cluster], start: Start, tmp_path: Path
) -> None:
    theirs = cluster_of()
    first, _ = theirs.work(2)
    file = str(write_study(tmp_path, scenario=SCENARIO.replace("20 s", "1000 s")))
    words = ("--cluster", theirs.address, "--out", "out", "--progress", "json")
    process = start("study", "run", file, *words)
    until_done(process, 1)
    os.kill(workers(first.pid)[0], signal.SIGKILL)
    _, lines = process.communicate(timeout=240)
    assert process.returncode == 0, lines
    with perform_plan(StudySubject(file).plan, out=tmp_path / "clean"):
        assert files(tmp_path / "out") == files(tmp_path / "clean")


@pytest.mark.slow
def test_f10_a_run_that_kills_every_worker_of_ones_own_cluster_fails_alone(
    cluster_of: Callable[..., Cluster],
    study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    clean: dict[str, bytes],
) -> None:
    # This scheduler gives a run to one worker more when the first died with it, and then gives up.
    theirs = cluster_of(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1")
    monkeypatch.setattr(
        cluster, "NO_WORKERS_TIMEOUT_S", 600
    )  # A busy machine takes long to start one.
    theirs.work(2)
    plan, out, deaths = StudySubject(str(study)).plan, tmp_path / "out", tmp_path / "deaths"
    with monkeypatch.context() as patched:
        patched.setattr(cluster, "run_on_worker", killing(7, deaths, list(plan.iterate_tasks())))
        failed = perform(plan, out, RunOptions(cluster=theirs.address))
    assert [(each.task.number, each.kind) for each in failed] == [(7, "worker")]
    assert deaths.read_text().splitlines() == ["died"] * 4  # Two workers, and alone two more.
    about = json.loads((out / "failed" / "7" / "failure.json").read_text())
    assert (about["labels"], about["seed"]) == ({"load": "0.3"}, 4)
    assert perform(plan, out, RunOptions(cluster=theirs.address)) == []
    assert files(out) == clean


@pytest.mark.slow
def test_f10_a_cluster_without_workers_is_given_up_and_what_had_ended_is_kept(
    cluster_of: Callable[..., Cluster],
    study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    clean: dict[str, bytes],
) -> None:
    theirs = cluster_of()
    theirs.work(1, "--no-nanny")  # Nobody starts it again.
    plan, out = StudySubject(str(study)).plan, tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(
            cluster, "run_on_worker", killing(7, tmp_path / "deaths", list(plan.iterate_tasks()))
        )
        patched.setattr(cluster, "NO_WORKERS_TIMEOUT_S", 1)
        with pytest.raises(
            SystemLimitError, match=r"no worker for 1 s; under way were runs (\d+, )*7\b"
        ):
            perform(plan, out, RunOptions(cluster=theirs.address))
    assert perform(plan, out, RunOptions()) == []
    assert files(out) == clean


@pytest.mark.slow
def test_f22_a_scheduler_that_dies_is_said_and_what_had_ended_is_kept(
    cluster_of: Callable[..., Cluster], start: Start, slow: Path, tmp_path: Path
) -> None:
    theirs = cluster_of()
    theirs.work(2, "--no-nanny")
    words = ("--cluster", theirs.address, "--out", "out", "--progress", "json")
    process = start("study", "run", str(slow), *words)
    until_done(process, 1)
    theirs.scheduler.kill()
    _, lines = process.communicate(timeout=60)
    assert process.returncode == 4
    assert lines.splitlines()[-1] == "Error: the cluster was lost; resume with --resume --out out"
    assert "Traceback" not in lines
    store = StudyStore(tmp_path / "out", StudySubject(str(slow)).plan, resume=True)
    assert 0 < len(store.list_missing()) < 20
    store.close()


@pytest.fixture
def foreign_cluster(tmp_path: Path, cluster_of: Callable[..., Cluster]) -> str:
    """A cluster whose worker has another build of the package."""
    import shutil

    package = Path(_core.__file__).parent
    shutil.copytree(package, tmp_path / "other" / "trunkline")
    changed = tmp_path / "other" / "trunkline" / "api.py"
    changed.write_text(changed.read_text() + "\n# Changed by hand.\n")
    theirs = cluster_of(PYTHONPATH=str(tmp_path / "other"))
    theirs.work(1, "--no-nanny")
    return theirs.address


def test_f21_a_worker_of_another_build_is_refused_with_both(
    foreign_cluster: str, study: Path, tmp_path: Path
) -> None:
    with pytest.raises(StudyError, match=r"worker tcp://.* has Trunkline .* \(.*\), this is .* \("):
        perform(
            StudySubject(str(study)).plan, tmp_path / "out", RunOptions(cluster=foreign_cluster)
        )


def test_a_cluster_that_is_not_there_is_said(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_TIMEOUT_S", 1)
    with pytest.raises(StudyError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        perform(
            StudySubject(str(study)).plan, tmp_path / "out", RunOptions(cluster="tcp://127.0.0.1:9")
        )


def test_a_cluster_of_two_workers_gives_the_same_bytes(
    start: Start, study: Path, clean: dict[str, bytes], tmp_path: Path
) -> None:
    process = start("study", "run", str(study), "--cluster", "local:2", "--out", "out")
    _, lines = process.communicate(timeout=240)
    assert process.returncode == 0, lines
    assert files(tmp_path / "out") == clean


@pytest.mark.slow
def test_f02_ctrl_c_ends_a_cluster_of_this_machine_without_a_word_from_its_workers(
    start: Start, slow: Path
) -> None:
    process = start(
        *("study", "run", str(slow), "--cluster", "local:2", "--out", "out", "--progress", "json"),
        start_new_session=True,
    )
    until_done(process, 1)
    os.killpg(process.pid, signal.SIGINT)  # As a terminal does: to all processes of the group.
    began = time.monotonic()
    _, lines = process.communicate(timeout=120)
    assert time.monotonic() - began < 10.0  # Half a second, on a machine that does not stall.
    assert process.returncode == 130
    assert "Traceback" not in lines
    assert "done; resume with --resume --out out" in lines.splitlines()[-1]

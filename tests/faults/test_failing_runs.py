"""Runs that break, hang or take too much: the others go on, and each can be run again."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from trunkline import _core
from trunkline.study.errors import OutOfMemory, Refused
from trunkline.study.execute import Failed, How, execute
from trunkline.study.perform import Incomplete, performed
from trunkline.study.plan import Plan
from trunkline.study.progress import Progress
from trunkline.study.reproduction import Subject
from trunkline.study.store import Store

from .conftest import SCENARIO, STUDY, Start, files, write_study

ENDLESS = STUDY.replace("seeds: 4", "seeds: 1").replace(
    "{load: {from: 0.1, to: 0.9, step: 0.2}}", "{length: [1 s, 40000000 s, 2 s]}"
)


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """File of a study of three runs, the second of which takes days."""
    scenario = SCENARIO.replace("{load: 0.5}", "{load: 0.5, length: 1 s}")
    return write_study(tmp_path, scenario=scenario.replace("20 s", "$length"), said=ENDLESS)


def perform(plan: Plan, out: Path, how: How) -> list[Failed]:
    """Run or resume; what failed."""
    store = Store(out, plan, resume=True)
    try:
        return execute(store, how, Progress("small"))
    finally:
        store.close()


def test_f11_a_run_over_its_time_fails_and_the_others_end(
    start: Start, endless: Path, tmp_path: Path
) -> None:
    words = ("study", "run", str(endless), "--out", "out")
    process = start(*words, "--limit-time", "0.5", "--json")
    out, said = process.communicate(timeout=240)
    assert process.returncode == 5, said
    assert json.loads(out)["runs"] == 2
    assert "run 1, seed 1: time: stopped at" in said
    kept = tmp_path / "out" / "failed" / "1"
    assert json.loads((kept / "failure.json").read_text())["labels"] == {"length": "40000000 s"}
    # What is kept is enough to run it again.
    process = start("run", str(kept / "scenario.yaml"), "--set", "run.duration=1 s", "--json")
    out, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    process = start("study", "status", "out", "--json")
    status = json.loads(process.communicate(timeout=240)[0])
    assert (status["done"], status["of"], len(status["failed"])) == (2, 3, 1)


def test_f12_the_memory_limit_tells_what_took_the_memory_and_keeps_what_ended(
    endless: Path, tmp_path: Path
) -> None:
    held = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    # 10 Gbit/s for a link of 1 Mbit/s and a queue without end: 2.5 million packets a second stay.
    queue = endless.with_name("queue.yaml")
    text = queue.read_text().replace('rate: "${load * 1 Mbit/s}"', "rate: 10 Gbit/s")
    queue.write_text(text.replace("1000 packets", "1000000000 packets"))
    how = How(threads=1, limit_memory=held + 300_000_000)
    with pytest.raises(OutOfMemory, match=r"more than \d+ MB: stopped at .* \d+ events, \d+ pack"):
        perform(Subject(str(endless)).plan, tmp_path / "out", how)


def test_f13_a_panic_fails_its_run_only_and_the_resumed_study_is_whole(
    study: Path,
    clean: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    plan, out = Subject(str(study)).plan, tmp_path / "out"
    with monkeypatch.context() as patched:
        broken = functools.partial(_core.run_stream, broken=7)
        patched.setattr(_core, "run_stream", broken)
        failed = perform(plan, out, How(threads=2))
        told = r"1 of 20 runs failed.*run 7, seed 4: run 7 is to"
        with pytest.raises(Incomplete, match=told), performed(plan, how=How(threads=2)):
            pass
    assert [(each.task.number, each.kind) for each in failed] == [(7, "panic")]
    assert "run 7 is to break" in capfd.readouterr().err
    again = Store(out, plan, resume=True)
    assert [task.number for task in again.missing()] == [7]
    again.close()
    assert perform(plan, out, How()) == []
    assert files(out) == clean


# A scheduler and workers in processes of their own.


def test_f10_a_worker_that_is_killed_costs_nothing(
    start: Start, slow: Path, tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    process = start(
        *("study", "run", str(slow), "--cluster", "local:2", "--out", "out", "--progress", "json"),
    )
    assert process.stderr is not None
    process.stderr.readline()
    while json.loads(process.stderr.readline())["done"] < 1:
        pass
    os.kill(workers(process.pid)[0], signal.SIGKILL)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    with performed(Subject(str(slow)).plan, out=tmp_path / "clean"):
        assert files(tmp_path / "out") == files(tmp_path / "clean")


def test_f10_a_run_that_kills_its_worker_twice_fails_and_takes_no_other_with_it(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean: dict[str, bytes]
) -> None:
    pytest.importorskip("distributed")
    from trunkline.study import cluster

    plan, out = Subject(str(study)).plan, tmp_path / "out"
    lethal = next(task for task in plan.tasks() if task.number == 7)
    its, deaths = (lethal.point.network_json, lethal.seed), tmp_path / "deaths"

    def working(network_json: str, seed: int, *more: object) -> object:
        if (network_json, seed) == its:
            with deaths.open("a") as file:
                file.write("died\n")
            os.kill(os.getpid(), signal.SIGKILL)
        from trunkline.study.cluster import work  # The worker's, which nobody has replaced.

        return work(network_json, seed, *more)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(cluster, "work", working)
        failed = perform(plan, out, How(cluster="local:2"))
    assert [(each.task.number, each.kind) for each in failed] == [(7, "worker")]
    assert deaths.read_text().splitlines() == ["died"] * 2  # Tried, and tried again once.
    kept = json.loads((out / "failed" / "7" / "failure.json").read_text())
    assert (kept["seed"], "KilledWorker" in kept["text"]) == (lethal.seed, True)
    assert (out / "failed" / "7" / "scenario.yaml").is_file()
    again = Store(out, plan, resume=True)
    assert [task.number for task in again.missing()] == [7]
    again.close()
    assert perform(plan, out, How()) == []
    assert files(out) == clean


def test_f22_when_the_coordinator_dies_the_workers_end_and_finished_runs_are_kept(
    start: Start, slow: Path, tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    process = start(
        *("study", "run", str(slow), "--cluster", "local:2", "--out", "out", "--progress", "json"),
    )
    assert process.stderr is not None
    while json.loads(process.stderr.readline())["done"] < 1:
        pass
    time.sleep(0.7)  # Longer than it takes until a run that has ended is on the disk.
    mine = workers(process.pid)
    assert len(mine) == 2
    process.kill()
    process.wait()
    until = time.monotonic() + 10
    while any(alive(pid) for pid in mine) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(alive(pid) for pid in mine)
    store = Store(tmp_path / "out", Subject(str(slow)).plan, resume=True)
    assert 0 < len(store.missing()) < 20
    store.close()


def workers(parent: int) -> list[int]:
    """Processes of the workers below a process."""
    import psutil

    below = psutil.Process(parent).children(recursive=True)
    return [each.pid for each in below if "spawn_main" in " ".join(each.cmdline())]


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def foreign_cluster(tmp_path: Path) -> Iterator[str]:
    """A cluster whose worker has another build of the package."""
    pytest.importorskip("distributed")
    import shutil

    package = Path(_core.__file__).parent
    shutil.copytree(package, tmp_path / "other" / "trunkline")
    changed = tmp_path / "other" / "trunkline" / "api.py"
    changed.write_text(changed.read_text() + "\n# Changed by hand.\n")
    address = tmp_path / "scheduler.json"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "other")}
    begin = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*begin, *words, str(address)], **quiet)
    begin = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--no-dashboard"]
    worker = subprocess.Popen(
        [*begin, "--scheduler-file", str(address)], env=environment, cwd=tmp_path, **quiet
    )
    try:
        until = time.monotonic() + 30
        while not address.exists() and time.monotonic() < until:
            time.sleep(0.1)
        yield json.loads(address.read_text())["address"]
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


def test_f21_a_worker_of_another_build_is_refused_with_both(
    foreign_cluster: str, study: Path, tmp_path: Path
) -> None:
    from distributed import Client

    with Client(foreign_cluster, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=120)
    with pytest.raises(Refused, match=r"worker tcp://.* has Trunkline .* \(.*\), this is .* \("):
        perform(Subject(str(study)).plan, tmp_path / "out", How(cluster=foreign_cluster))


def test_a_cluster_that_is_not_there_is_said(study: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(Refused, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        perform(Subject(str(study)).plan, tmp_path / "out", How(cluster="tcp://127.0.0.1:9"))


def test_a_cluster_of_two_workers_gives_the_same_bytes(
    start: Start, study: Path, clean: dict[str, bytes], tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    process = start("study", "run", str(study), "--cluster", "local:2", "--out", "out")
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    assert files(tmp_path / "out") == clean


def test_f02_ctrl_c_ends_a_cluster_of_this_machine_without_a_word_from_its_workers(
    start: Start, slow: Path
) -> None:
    pytest.importorskip("distributed")
    process = start(
        *("study", "run", str(slow), "--cluster", "local:2", "--out", "out", "--progress", "json"),
        start_new_session=True,
    )
    assert process.stderr is not None
    while json.loads(process.stderr.readline())["done"] < 1:
        pass
    os.killpg(process.pid, signal.SIGINT)  # As a terminal does: to all processes of the group.
    began = time.monotonic()
    _, said = process.communicate(timeout=120)
    assert time.monotonic() - began < 5.0
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "done; resume with --resume --out out" in said.splitlines()[-1]


def test_f11_f12_b23_a_single_run_has_limits_too(start: Start, endless: Path) -> None:
    queue = str(endless.with_name("queue.yaml"))
    late = start("run", queue, "--set", "length=40000000 s", "--limit-time", "0.3")
    _, said = late.communicate(timeout=240)
    assert late.returncode == 4
    assert said.startswith("error[time]: the time limit is reached: stopped at ")
    flood = ("--set", "flows.f.rate=10 Gbit/s", "--set", "ports.big.queue.limit=1000000000 packets")
    hungry = start("run", queue, "--set", "length=100 s", *flood, "--limit-memory", "400 MB")
    _, said = hungry.communicate(timeout=240)
    assert hungry.returncode == 4
    assert said.startswith("error[memory]: the limit is reached: stopped at ")
    assert "packets in the network" in said
    many = start("run", queue, "--set", "flows.f.replicate=100000", "--limit-memory", "400 MB")
    _, said = many.communicate(timeout=240)
    assert many.returncode == 2
    assert "need about 1 GB; the limit is 0.4 GB (--limit-memory)" in said

"""Studies that are killed, interrupted, or left without space, and then resumed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trunkline.study.errors import StudyError
from trunkline.study.outcome.reproduction import StudySubject
from trunkline.study.run import checked_files as disk
from trunkline.study.run.execution import RunOptions, execute_study
from trunkline.study.run.progress import Progress
from trunkline.study.run.run_plan import RunPlan
from trunkline.study.run.session import perform_plan
from trunkline.study.run.store import StudyStore

from .conftest import Start, files, until_done

MOMENTS = 50

# Forks a process for each moment, so that fifty of them do not import the package fifty times.
KILLER = """
import os, random, signal, sys, time
from pathlib import Path
import polars  # imported, not used: it has no threads yet
from trunkline.study.run.execution import RunOptions, execute_study
from trunkline.study.run.progress import Progress
from trunkline.study.outcome.reproduction import StudySubject
from trunkline.study.run.store import StudyStore

def work(out):
    child = os.fork()
    if child == 0:
        store = StudyStore(out, plan, resume=True)
        execute_study(store, RunOptions(threads=2), Progress("small"))
        store.close()
        os._exit(0)
    return child

plan = StudySubject(sys.argv[1]).plan
target, moments = Path(sys.argv[2]), int(sys.argv[3])
began = time.monotonic()
assert os.waitpid(work(target / "whole"), 0)[1] == 0
whole = time.monotonic() - began
chance = random.Random(7)
for moment in range(moments):
    out = target / str(moment)
    child, until = work(out), chance.uniform(0, whole)
    time.sleep(until)
    os.kill(child, signal.SIGKILL)
    killed = os.waitpid(child, 0)[1] != 0
    if not killed:
        whole = until  # The machine has become faster: it had ended before.
    print(int(killed), flush=True)
    assert os.waitpid(work(out), 0)[1] == 0
"""


@pytest.mark.slow
def test_f03_killed_at_50_moments_and_resumed_the_files_are_byte_equal(
    study: Path, clean: dict[str, bytes], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(study), str(tmp_path), str(MOMENTS)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    killed = [int(line) for line in done.stdout.splitlines()]
    assert len(killed) == MOMENTS
    assert sum(killed) >= MOMENTS // 2
    for name in ("whole", *map(str, range(MOMENTS))):
        assert files(tmp_path / name) == clean, name


def test_f03_only_what_is_missing_runs_again(study: Path, tmp_path: Path) -> None:
    plan, out = StudySubject(str(study)).plan, tmp_path / "out"
    stopped = Counter(stop_after=7)
    store = StudyStore(out, plan)
    with pytest.raises(KeyboardInterrupt):
        execute_study(store, RunOptions(threads=1), stopped)
    store.close()
    again = Counter()
    store = StudyStore(out, plan, resume=True)
    execute_study(store, RunOptions(threads=1), again)
    store.close()
    assert stopped.done == 7
    assert (again.done_before, again.done) == (7, 13)


class Counter(Progress):
    """Counts, and interrupts after so many runs."""

    def __init__(self, stop_after: int = 1000) -> None:
        super().__init__("small")
        self.stop_after = stop_after

    def count_ended(self, events: int) -> None:
        super().count_ended(events)
        if self.done == self.stop_after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "ftruncate"])
def test_f04_f05_every_nth_call_that_fails_leaves_a_study_that_resumes(
    study: Path, clean: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """No space at the n-th write, flush or renaming, n = 1, 2, ..., until a run has none left."""
    plan = StudySubject(str(study)).plan
    monkeypatch.setattr("trunkline.study.run.execution.FLUSH_INTERVAL_S", 0.0)
    failed = 0
    for nth in range(1, 200):
        out = tmp_path / str(nth)
        with monkeypatch.context() as patched:
            calls = fail_nth(patched, call, nth)
            with contextlib.suppress(OSError):
                run(plan, out)
        if calls[0] < nth:
            break
        failed += 1
        whole_or_absent(out)
        run(plan, out)
        assert files(out) == clean
        shutil.rmtree(out)
    assert failed >= LEAST[call]


LEAST = {"write": 3, "fsync": 8, "replace": 3, "ftruncate": 1}
"""Manifest, journal, data set, manifest again; each but the journal is two flushes, one rename."""


def run(plan: RunPlan, out: Path) -> None:
    """Run or resume a study on one thread."""
    with perform_plan(plan, out=out, options=RunOptions(threads=1), resume=True):
        pass


def fail_nth(patched: pytest.MonkeyPatch, call: str, nth: int) -> list[int]:
    """Let the n-th call of a function of ``os`` meet a full disk; counts the calls."""
    real, calls = getattr(os, call), [0]

    def fails(*arguments: object, **named: object) -> object:
        calls[0] += 1
        if calls[0] == nth:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments, **named)

    patched.setattr(os, call, fails)
    return calls


def whole_or_absent(out: Path) -> None:
    """No file under its own name is half written."""
    if (out / disk.MANIFEST_FILE).exists():
        lines = disk.read_manifest(out)
        for name, digest in lines.get("files", {}).items():
            assert disk.compute_file_digest(out / name) == digest


def test_f04_a_file_is_flushed_before_it_gets_its_name_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    fsync, replace = os.fsync, os.replace

    def flushed(handle: int) -> None:
        lines.append("flush " + ("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file"))
        fsync(handle)

    def renamed(*names: Path) -> None:
        lines.append("rename")
        replace(*names)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", renamed)
    disk.write_bytes(tmp_path / "data" / "x", b"1")
    assert lines == ["flush file", "rename", "flush folder"]


def interrupted(
    start: Start, study: Path, *, done: int, out: str = "out"
) -> tuple[float, int, str]:
    """Interrupt a study in which so many runs have ended.

    Returns its processor time from then to its end [s], its status, its last words.
    """
    words = ("--threads", "1", "--out", out, "--progress", "json")
    before = processor_time(resource.getrusage(resource.RUSAGE_CHILDREN))
    process = start("study", "run", str(study), *words)
    until_done(process, done)
    time.sleep(0.3)
    ticks = Path(f"/proc/{process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    process.send_signal(signal.SIGINT)
    _, lines = process.communicate(timeout=120)
    # What has ended counts with its own children (times(2)); so do fields 14 to 17 (proc(5)).
    total = processor_time(resource.getrusage(resource.RUSAGE_CHILDREN)) - before
    until = sum(map(int, ticks[11:15])) / os.sysconf("SC_CLK_TCK")
    return total - until, process.returncode, lines.splitlines()[-1]


def processor_time(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def test_f01_f02_ctrl_c_within_a_second_also_inside_the_engine(start: Start, endless: Path) -> None:
    # A second of its own: what others do on the machine does not count.
    used, status, lines = interrupted(start, endless, done=0)
    assert status == 130
    assert lines == "0 of 20 done; resume with --resume --out out"
    assert used < 1.0


@pytest.mark.slow
def test_f02_what_had_ended_is_kept_and_the_rest_runs_on_resume(
    start: Start, quick: Start, slow: Path, tmp_path: Path
) -> None:
    _, status, lines = interrupted(start, slow, done=1)
    done = int(lines.split()[0])
    assert status == 130
    assert 0 < done < 20
    process = quick("study", "run", str(slow), "--out", "out", "--resume", "--progress", "json")
    _, talk = process.communicate(timeout=240)
    assert process.returncode == 0, talk
    said_first = next(each for each in map(json.loads, talk.splitlines()) if "done" in each)
    assert said_first["done"] == done
    with perform_plan(StudySubject(str(slow)).plan, out=tmp_path / "clean"):
        assert files(tmp_path / "out") == files(tmp_path / "clean")


def test_f05_a_full_disk_says_so_and_resume_works_after_space_is_made(
    quick: Start, study: Path, clean: dict[str, bytes], tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "small", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        filler = disk / "filler"
        filler.write_bytes(bytes(48 * 1024))
        process = quick("study", "run", str(study), "--out", str(disk / "out"))
        _, lines = process.communicate(timeout=240)
        assert process.returncode == 4, lines
        assert "No space left on device" in lines
        filler.unlink()
        process = quick("study", "run", str(study), "--out", str(disk / "out"), "--resume")
        _, lines = process.communicate(timeout=240)
        assert process.returncode == 0, lines
        assert files(disk / "out") == clean
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_f05_a_file_that_must_not_grow_is_a_full_disk_too(
    start: Start, quick: Start, study: Path, clean: dict[str, bytes], tmp_path: Path
) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4200, resource.RLIM_INFINITY))

    process = start("study", "run", str(study), "--out", "out", preexec_fn=limit)
    _, lines = process.communicate(timeout=240)
    assert process.returncode == 4, lines
    assert "File too large" in lines
    process = quick("study", "run", str(study), "--out", "out", "--resume")
    _, lines = process.communicate(timeout=240)
    assert process.returncode == 0, lines
    assert files(tmp_path / "out") == clean


def test_f07_an_existing_study_is_neither_replaced_nor_mixed_unasked(
    study: Path, clean: dict[str, bytes], tmp_path: Path
) -> None:
    plan = StudySubject(str(study)).plan
    with perform_plan(plan, out=tmp_path / "out"):
        pass
    with pytest.raises(StudyError, match="--resume"):
        StudyStore(tmp_path / "out", plan)
    with perform_plan(plan, out=tmp_path / "out", overwrite=True):
        assert files(tmp_path / "out") == clean
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear")
    for asked in ({}, {"resume": True}, {"overwrite": True}):
        with pytest.raises(StudyError, match="something else"):
            StudyStore(tmp_path / "other", plan, **asked)

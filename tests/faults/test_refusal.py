"""What is refused before anything runs, what is said to others, and what must not matter."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import pytest

from trunkline.study.errors import DamagedStudyFile, StudyError
from trunkline.study.outcome.reproduction import StudySubject
from trunkline.study.run import (
    checked_files,
    data_set,
    folder_lock,
    journal,
    run_plan as plans,
)
from trunkline.study.run.execution import RunOptions, execute_study, parse_shard
from trunkline.study.run.merge import merge_shards
from trunkline.study.run.progress import Progress
from trunkline.study.run.run_plan import RunPlan
from trunkline.study.run.session import perform_plan
from trunkline.study.run.store import StudyStore

from .conftest import STUDY, Start, files, write_study


@pytest.fixture
def plan(study: Path) -> RunPlan:
    return StudySubject(str(study)).plan


def test_f06_a_folder_that_cannot_be_is_found_before_the_first_run(
    quick: Start, study: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for out in ("file", "file/out", "/proc/out"):
        process = quick("study", "run", str(study), "--out", out)
        _, message = process.communicate(timeout=240)
        assert process.returncode == 2, message
        assert "done" not in message
        assert "Traceback" not in message


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("title: Wait", "title: Delay", ""),
        ("from: 0.1", "from: 0.3", "points: 5 then, 4 now"),
        ("runs: 4", "runs: 3", "point 0.1: seeds"),
        ("wait_mean_s", "utilisation", "what is measured"),
        ("queue.yaml", "other.yaml", "point 0.1: scenario"),
    ],
)
def test_f08_resuming_something_else_is_refused_with_the_difference(
    plan: RunPlan, tmp_path: Path, old: str, new: str, expected: str
) -> None:
    out = tmp_path / "out"
    StudyStore(out, plan).close()
    changed = write_study(tmp_path, study=STUDY.replace(old, new))
    queue = (tmp_path / "queue.yaml").read_text()
    (tmp_path / "other.yaml").write_text(queue.replace("1 Mbit/s, delay", "2 Mbit/s, delay"))
    again = StudySubject(str(changed)).plan
    if not expected:
        StudyStore(out, again, resume=True).close()
        return
    with pytest.raises(StudyError, match=f"begun with something else:(\n.*)*{expected}"):
        StudyStore(out, again, resume=True)


def test_f08_another_version_is_refused(
    plan: RunPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as then:
        then.setattr("trunkline.study.run.run_plan.get_engine_version", lambda: "0.0.9")
        StudyStore(tmp_path / "out", plan).close()
    with pytest.raises(StudyError, match=r"version: 0\.0\.9 then, \d"):
        StudyStore(tmp_path / "out", plan, resume=True)


def test_f08_another_build_of_the_engine_with_the_same_version_is_refused(
    plan: RunPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "engine"
    other.write_bytes(b"another build")
    plans._compute_engine_digest.cache_clear()
    with monkeypatch.context() as then:
        then.setattr(plans, "get_engine_file", lambda: other)
        StudyStore(tmp_path / "out", plan).close()
    plans._compute_engine_digest.cache_clear()
    # printf 'another build' | sha256sum
    with pytest.raises(StudyError, match=r"engine: db45811d226b then, [0-9a-f]{12} now"):
        StudyStore(tmp_path / "out", plan, resume=True)


def test_f09_a_second_process_is_told_who_holds_the_folder(
    start: Start, quick: Start, endless: Path, tmp_path: Path
) -> None:
    first = start("study", "run", str(endless), "--out", "out", "--progress", "json")
    assert first.stderr is not None
    first.stderr.readline()
    second = quick("study", "run", str(endless), "--out", "out", "--resume")
    _, message = second.communicate(timeout=240)
    assert second.returncode == 2
    assert f"out is in use by process {first.pid} on {os.uname().nodename} since 20" in message
    assert str(first.pid) in folder_lock.find_lock_holder(tmp_path / "out")
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert folder_lock.find_lock_holder(tmp_path / "out") == ""
    stale = StudyStore(tmp_path / "out", StudySubject(str(endless)).plan, resume=True)
    assert stale.warnings[0].startswith(f"process {first.pid} on ")
    stale.close()


def test_f14_a_flipped_bit_of_the_data_set_is_found_and_made_good(
    plan: RunPlan, clean: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with perform_plan(plan, out=out):
        pass
    data = out / "data" / "00000.parquet"
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 4
    data.write_bytes(content)
    with pytest.raises(DamagedStudyFile, match=r"00000\.parquet is damaged"):
        data_set.read(out)
    store = StudyStore(out, plan, resume=True)
    assert "00000.parquet is damaged" in store.warnings[0]
    assert len(store.list_missing()) == 20
    execute_study(store, RunOptions(), Progress("small"))
    store.close()
    assert files(out) == clean


def test_f14_a_damaged_line_of_the_journal_costs_one_run(
    plan: RunPlan, clean: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    store = StudyStore(out, plan)
    with perform_plan(plan, out=tmp_path / "whole") as runs:
        ended = list(data_set.read_records(runs.folder / "data" / "00000.parquet"))
    store.append_records(ended[:9])
    store.close()
    path = out / checked_files.JOURNAL_FILE
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b"e", b"f", 1)
    path.write_bytes(b"".join(lines) + b'12345678 [9, "cut off')
    assert journal.read_journal(path)[1] == [5]
    with pytest.raises(DamagedStudyFile, match=r"journal\.jsonl is damaged in line 5"):
        data_set.read(out)
    store = StudyStore(out, plan, resume=True)
    assert [task.number for task in store.list_missing()] == [4, *range(9, 20)]
    execute_study(store, RunOptions(), Progress("small"))
    store.close()
    assert files(out) == clean


def test_f14_a_damaged_manifest_is_named(plan: RunPlan, tmp_path: Path) -> None:
    StudyStore(tmp_path, plan).close()
    path = tmp_path / checked_files.MANIFEST_FILE
    path.write_text(path.read_text().replace("0.3", "0.4", 1))
    with pytest.raises(DamagedStudyFile, match=r"manifest\.json is damaged"):
        checked_files.read_manifest(tmp_path)


@pytest.mark.parametrize(
    "env",
    [
        {"TZ": "Pacific/Kiritimati", "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
        {"TZ": "America/St_Johns", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_f15_time_zone_and_locale_do_not_matter(
    start: Start, study: Path, clean: dict[str, bytes], tmp_path: Path, env: dict[str, str]
) -> None:
    process = start("study", "run", str(study), "--out", "out", env=env)
    _, message = process.communicate(timeout=240)
    assert process.returncode == 0, message
    assert files(tmp_path / "out") == clean


def test_f23_a_reader_that_has_enough_is_no_fault(start: Start, study: Path) -> None:
    process = start("study", "run", str(study), "--out", "out", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    with process, process.stderr:
        process.stdout.close()
        message = process.stderr.read()
        assert process.wait(timeout=240) == 0, message
    assert "Traceback" not in message


def test_f24_few_open_files_are_enough_and_too_few_are_said(start: Start, study: Path) -> None:
    def limit(files: int) -> int:
        process = start(
            *("study", "run", str(study), "--out", f"out{files}", "--threads", "64"),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        )
        _, message = process.communicate(timeout=240)
        assert "internal error" not in message
        return process.returncode

    assert limit(32) == 0
    assert limit(5) == 4


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_any_number_of_threads_gives_the_same_bytes(
    plan: RunPlan, clean: dict[str, bytes], tmp_path: Path, threads: int
) -> None:
    with perform_plan(plan, out=tmp_path / "out", options=RunOptions(threads=threads)):
        assert files(tmp_path / "out") == clean


def test_four_shards_merged_give_the_same_bytes(
    plan: RunPlan, clean: dict[str, bytes], tmp_path: Path
) -> None:
    for number in (1, 2, 3, 4):
        with pytest.raises(StudyError, match="runs have not ended"):
            merge_shards(
                tmp_path / "out", sorted(tmp_path.glob("shard*")) or [_begun(plan, tmp_path)]
            )
        store = StudyStore(tmp_path / f"shard{number}", plan, shard=(number, 4), resume=True)
        execute_study(store, RunOptions(), Progress("small"))
        store.close()
    merge_shards(tmp_path / "out", sorted(tmp_path.glob("shard*")))
    assert files(tmp_path / "out") == clean


def _begun(plan: RunPlan, folder: Path) -> Path:
    StudyStore(folder / "shard1", plan, shard=(1, 4)).close()
    return folder / "shard1"


def test_shards_of_different_studies_are_not_merged(
    plan: RunPlan, study: Path, tmp_path: Path
) -> None:
    StudyStore(tmp_path / "1", plan, shard=(1, 2)).close()
    StudyStore(tmp_path / "2", StudySubject(str(study), runs=2).plan, shard=(2, 2)).close()
    with pytest.raises(StudyError, match="another study"):
        merge_shards(tmp_path / "out", [tmp_path / "1", tmp_path / "2"])


def test_a_shard_knows_its_place_in_array_jobs() -> None:
    # Slurm: sbatch --array=0-15 gives IDs from 0, --array=1-16 from 1, --array=10-40:10 by tens.
    slurm = {"SLURM_ARRAY_TASK_COUNT": "16", "SLURM_ARRAY_TASK_MIN": "0"}
    assert parse_shard("auto", slurm | {"SLURM_ARRAY_TASK_ID": "15"}) == (16, 16)
    slurm["SLURM_ARRAY_TASK_MIN"] = "1"
    assert parse_shard("auto", slurm | {"SLURM_ARRAY_TASK_ID": "1"}) == (1, 16)
    tens = {"SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_STEP": "10"}
    tens |= {"SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_ID": "30"}
    assert parse_shard("auto", tens) == (3, 4)
    # Kubernetes counts completions from 0 and does not tell how many there are.
    assert parse_shard("auto/8", {"JOB_COMPLETION_INDEX": "7"}) == (8, 8)
    assert parse_shard("auto", {"JOB_COMPLETION_INDEX": "0", "JOB_COMPLETIONS": "5"}) == (1, 5)
    assert parse_shard("3/16", {}) == (3, 16)
    for wrong in ("0/4", "5/4", "1", "x/2", "auto"):
        with pytest.raises(StudyError):
            parse_shard(wrong, {})


def test_progress_json_counts_and_foresees(capsys: pytest.CaptureFixture[str]) -> None:
    from trunkline.study.run.progress import JsonProgress

    clock = iter([0.0, 0.0, 0.0, 2.0, 2.0, 2.0])
    watch = JsonProgress("small", out=sys.stderr, clock=lambda: next(clock))
    watch.begin(10, 2)
    for _ in range(4):
        watch.count_ended(1000)
    watch.report_if_due()
    last = json.loads(capsys.readouterr().err.splitlines()[-1])
    # 4 of the 8 missing took 2 s.
    assert last["done"] == 6
    assert last["events_per_s"] == 2000
    assert last["left_s"] == 2.0


def test_a_bar_says_what_is_foreseen_before_it_is_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from trunkline.study.run.progress import TerminalProgressBar

    watch = TerminalProgressBar("large", 2, out=sys.stderr)
    watch.print_message("forecast: ten minutes")
    assert capsys.readouterr().err == "forecast: ten minutes\n"


def test_f09_a_look_at_who_holds_a_folder_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = os.open(tmp_path / folder_lock.LOCK_FILE, os.O_RDWR | os.O_CREAT)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr(time, "sleep", lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
    mine = folder_lock.FolderLock(tmp_path)
    mine.release()
    # A lock that says nothing of its holder is a lock.
    os.close(looking)
    (tmp_path / folder_lock.LOCK_FILE).write_bytes(b"\xff{")
    looking = os.open(tmp_path / folder_lock.LOCK_FILE, os.O_RDWR)
    fcntl.flock(looking, fcntl.LOCK_EX)
    assert folder_lock.find_lock_holder(tmp_path) == "another process"
    os.close(looking)
    assert folder_lock.find_lock_holder(tmp_path) == ""

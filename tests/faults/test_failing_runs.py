"""Runs that break, hang or take too much: the others go on, and each can be run again."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trunkline import _core
from trunkline.cli import known_errors, main
from trunkline.study.errors import MemoryLimitExceeded
from trunkline.study.outcome.reproduction import StudySubject
from trunkline.study.run.execution import RunOptions
from trunkline.study.run.session import IncompleteStudy, perform_plan
from trunkline.study.run.store import StudyStore

from .conftest import SCENARIO, STUDY, Start, files, perform, write_study

ENDLESS = STUDY.replace("runs: 4", "runs: 1").replace(
    "{load: {from: 0.1, to: 0.9, step: 0.2}}", "{length: [1 s, 40000000 s, 2 s]}"
)


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """File of a study of three runs, the second of which takes days."""
    scenario = SCENARIO.replace("{load: 0.5}", "{load: 0.5, length: 1 s}")
    return write_study(tmp_path, scenario=scenario.replace("20 s", "$length"), study=ENDLESS)


def test_f11_a_run_over_its_time_fails_and_the_others_end(
    quick: Start, endless: Path, tmp_path: Path
) -> None:
    words = ("study", "run", str(endless), "--out", "out")
    process = quick(*words, "--limit-time", "2", "--json")
    out, found = process.communicate(timeout=240)
    assert process.returncode == 5, found
    assert json.loads(out)["runs"] == 2
    assert "failed: run 1, seed 1, length 40000000 s: time: stopped at" in found
    kept = tmp_path / "out" / "failed" / "1"
    assert json.loads((kept / "failure.json").read_text())["labels"] == {"length": "40000000 s"}
    # What is kept is enough to run it again.
    process = quick("run", str(kept / "scenario.yaml"), "--set", "run.duration=1 s", "--json")
    out, found = process.communicate(timeout=240)
    assert process.returncode == 0, found
    process = quick("study", "status", "out", "--json")
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
    how = RunOptions(threads=1, limit_memory=held + 300_000_000)
    with pytest.raises(
        MemoryLimitExceeded, match=r"more than \d+ MB: stopped at .* \d+ events, \d+ pack"
    ):
        perform(StudySubject(str(endless)).plan, tmp_path / "out", how)


RUN_STREAM = _core.run_stream


def broken(jobs: Any, threads: int, ended: Callable[..., object], *rest: Any, **more: Any) -> None:
    """Runs, of which number 7 ends as one in which the engine panics."""

    def shown_text(number: int, failure: str | None, outcome: Any) -> object:
        if number == 7:
            return ended(number, "panic", "run 7 is to break")
        return ended(number, failure, outcome)

    RUN_STREAM(jobs, threads, shown_text, *rest, **more)


def test_f13_a_panic_fails_its_run_only_and_the_resumed_study_is_whole(
    study: Path,
    clean: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan, out = StudySubject(str(study)).plan, tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(_core, "run_stream", broken)
        failed = perform(plan, out, RunOptions(threads=2))
        shown_text = r"1 of 20 runs failed.*run 7, seed 4, load 0.3: panic: run 7 is to"
        with (
            pytest.raises(IncompleteStudy, match=shown_text),
            perform_plan(plan, options=RunOptions(threads=2)),
        ):
            pass
    assert [(each.task.number, each.kind) for each in failed] == [(7, "panic")]
    again = StudyStore(out, plan, resume=True)
    assert [task.number for task in again.list_missing()] == [7]
    again.close()
    assert perform(plan, out, RunOptions()) == []
    assert files(out) == clean


def test_f11_f12_b23_a_single_run_has_limits_too(start: Start, quick: Start, endless: Path) -> None:
    queue = str(endless.with_name("queue.yaml"))
    late = quick("run", queue, "--set", "length=40000000 s", "--limit-time", "0.3")
    _, found = late.communicate(timeout=240)
    assert late.returncode == 4
    assert found.startswith("error[time]: the time limit is reached: stopped at ")
    flood = ("--set", "flows.f.rate=10 Gbit/s", "--set", "ports.big.queue.limit=1000000000 packets")
    hungry = start("run", queue, "--set", "length=100 s", *flood, "--limit-memory", "400 MB")
    _, found = hungry.communicate(timeout=240)
    assert hungry.returncode == 4
    assert found.startswith("error[memory]: the limit is reached: stopped at ")
    assert "packets in the network" in found
    many = quick("run", queue, "--set", "flows.f.replicate=100000", "--limit-memory", "400 MB")
    _, found = many.communicate(timeout=240)
    assert many.returncode == 2
    assert "need about 1 GB; the limit is 0.4 GB (--limit-memory)" in found


def test_a_fault_of_the_engine_is_one_plain_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback: when in the run, which rule, in which line, and whose fault it is."""
    says = (
        "the engine stopped at 1.5 s of the run: a rule (queue.rs:7); this is a fault of trunkline"
    )

    def panics(jobs: Any, threads: int, ended: Callable[..., object], *_: Any, **__: Any) -> None:
        ended(0, "panic", says)

    (tmp_path / "queue.yaml").write_text(SCENARIO)
    monkeypatch.setattr(_core, "run_stream", panics)
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "queue.yaml"), "--out", str(tmp_path / "out")])
    assert ended.value.code == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"error[engine]: {says}"
    assert not (tmp_path / "out").exists()


def test_each_error_that_the_command_line_knows_by_name_exists() -> None:
    """They are named by strings, so that no command imports what it does not use."""
    for module, name, _, _ in known_errors._KNOWN_ERROR_CLASSES:
        error_class = getattr(importlib.import_module(f"trunkline.{module}"), name)
        assert issubclass(error_class, Exception)

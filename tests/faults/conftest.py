"""A small study, and a clean run of it to compare with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from trunkline.study.run.execution import RunFailure, RunOptions
    from trunkline.study.run.run_plan import RunPlan

SCENARIO = """
trunkline: 1
parameters: {load: 0.5}
nodes: [a, b]
links: {a-b: {rate: 1 Mbit/s, delay: 1 ms}}
ports: {big: {queue: {limit: 1000 packets}}}
defaults: {link: {port: big}}
flows:
  f: {agent: udp, from: a, to: b, rate: "${load * 1 Mbit/s}", size: 500 B, arrivals: poisson}
run: {duration: 20 s}
"""
STUDY = """
study: 1
name: small
title: Wait against load
scenario: queue.yaml
runs: 4
grid: {load: {from: 0.1, to: 0.9, step: 0.2}}
columns:
  wait: {table: ports, where: {link: a->b}, measure: wait_mean_s, unit: ms}
  delivered: {where: {flow: f}, measure: packets_delivered, unit: packets}
"""
SLOW = "6000 s"
Start = Callable[..., "subprocess.Popen[str]"]


def until_done(process: subprocess.Popen[str], runs: int) -> None:
    """Read the progress of a study (``--progress json``) until so many runs have ended."""
    assert process.stderr is not None
    while json.loads(process.stderr.readline()).get("done", -1) < runs:
        pass


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File of a study of 20 runs of some milliseconds."""
    return write_study(tmp_path_factory.mktemp("study"))


def write_study(folder: Path, *, scenario: str = SCENARIO, study: str = STUDY) -> Path:
    """Write a study into a folder; its file."""
    (folder / "queue.yaml").write_text(scenario)
    (folder / "small.yaml").write_text(study)
    return folder / "small.yaml"


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """File of the study with runs of a quarter of a second or so."""
    folder = tmp_path / "slow"
    folder.mkdir()
    return write_study(folder, scenario=SCENARIO.replace("20 s", SLOW))


@pytest.fixture
def endless(slow: Path) -> Path:
    """File of the study with runs of an hour or so."""
    scenario = slow.with_name("queue.yaml")
    scenario.write_text(scenario.read_text().replace(SLOW, "40000000 s"))
    return slow


@pytest.fixture(scope="session")
def clean(study: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Files of the study, run without a fault."""
    from trunkline.study.outcome.reproduction import StudySubject
    from trunkline.study.run.session import perform_plan

    out = tmp_path_factory.mktemp("clean") / "out"
    with perform_plan(StudySubject(str(study)).plan, out=out):
        return files(out)


def perform(plan: RunPlan, out: Path, how: RunOptions) -> list[RunFailure]:
    """Run or resume; what failed."""
    from trunkline.study.run.execution import execute_study
    from trunkline.study.run.progress import Progress
    from trunkline.study.run.store import StudyStore

    store = StudyStore(out, plan, resume=True)
    try:
        return execute_study(store, how, Progress("small"))
    finally:
        store.close()


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a study that must not depend on how it was run."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.name not in ("history.jsonl", "lock")
        and "shard-" not in str(path)
    }


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the command line in an empty folder and does not wait."""
    with starting([sys.executable, "-m", "trunkline"], tmp_path) as call:
        yield call


@pytest.fixture
def quick(tmp_path: Path, prefork: list[str]) -> Iterator[Start]:
    """The same with its imports done: for who sends it no signal and asks no more than it says."""
    with starting(prefork, tmp_path) as call:
        yield call


@contextmanager
def starting(program: list[str], folder: Path) -> Iterator[Start]:
    """What starts a program in a folder; all that it started is killed at the end."""
    started: list[subprocess.Popen[str]] = []
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TRUNKLINE_")}
    environment |= {"COLUMNS": "200", "NO_COLOR": "1"}

    def call(*words: str, **options: object) -> subprocess.Popen[str]:
        extra = options.pop("env", {})
        process = subprocess.Popen(
            [*program, *words],
            cwd=folder,
            env={**environment, **extra},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()

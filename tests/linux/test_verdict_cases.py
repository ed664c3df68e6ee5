"""The pairs of `tests/evidence/test_verdict_cases.py` against guests, not recorded runs of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from recorded_kernel import compile_scenario

from trunkline.linux import engine
from trunkline.linux.judge.engine_run import read_kernel_run, trace_simulator
from trunkline.linux.judge.seed_pair import make_seed_pair
from trunkline.linux.judge.verification import EngineVerdict, judge_pairs, replace_probes

if TYPE_CHECKING:
    from trunkline.linux.judge.seed_pair import ReferenceMachine
    from trunkline.network.types import NetworkData

FOLDER = Path(__file__).parents[1] / "evidence" / "linux" / "verdict"


def judge_in_guest(ours: str, theirs: str, runner: str, folder: Path) -> EngineVerdict:
    """The verdict on a scenario in the simulator and another one in a guest."""
    network, other = (
        replace_probes(cast("NetworkData", compile_scenario(FOLDER / f"{name}.yaml")))
        for name in (ours, theirs)
    )
    written = json.dumps(other, sort_keys=True, separators=(",", ":"))
    done = engine.run_in_guest(written, 1, folder, runner=runner)
    machine: ReferenceMachine = "virtual" if runner == engine.VIRTUAL_TIME_RUNNER else "emulated"
    simulator = trace_simulator(network, 1)
    pair = make_seed_pair(network, simulator, read_kernel_run(done, folder), machine)
    return judge_pairs([pair], (), (1,), done.results.provenance.version)


@pytest.mark.parametrize("name", ["probe", "call", "sizes"])
def test_k1_k2_k3_what_used_to_agree_differs(name: str, kernel: str, tmp_path: Path) -> None:
    assert judge_in_guest(f"{name}-a", f"{name}-b", kernel, tmp_path).outcome == "differs"


@pytest.mark.parametrize(
    "name", ["probe-a", "call-a", "sizes-a", "meter-a", "marks-a", "file", "backoff"]
)
def test_none_of_them_differs_from_itself(name: str, kernel: str, tmp_path: Path) -> None:
    found = judge_in_guest(name, name, kernel, tmp_path)
    assert [(row.subject, row.measure) for row in found.rows if row.outcome == "differs"] == []


def test_k4_a_meter_2_percent_faster_never_agrees(kernel: str, tmp_path: Path) -> None:
    assert judge_in_guest("meter-a", "meter-b", kernel, tmp_path).outcome != "agrees"


def test_k5_a_missing_conditioner_of_tcp_differs(kernel: str, tmp_path: Path) -> None:
    found = judge_in_guest("marks-a", "marks-b", kernel, tmp_path)
    assert ("tcp", "DSCP of segments: AF12") in [
        (row.subject, row.measure) for row in found.rows if row.outcome == "differs"
    ]

"""The gate of the verdict against the kernel: altered it never agrees, unaltered it never differs.

`tests/evidence/test_altered.py` has the whole table, simulator against altered simulator.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from alteration_verdicts import compile_scenario
from altered_scenarios import ALTERED_SCENARIOS

from trunkline.linux import engine
from trunkline.linux.judge.engine_run import read_kernel_run, trace_simulator
from trunkline.linux.judge.seed_pair import SeedPair, make_seed_pair
from trunkline.linux.judge.verification import EngineVerdict, replace_probes, run_until_decided

if TYPE_CHECKING:
    from trunkline.linux.judge.verification import ProgressCallback

HANDFUL = [
    ("drop-tail line", "queue one packet shorter"),
    ("drop-tail line", "bottleneck 1 % slower"),
    ("policed", "meter 5 % slower"),
    ("policed", "remarked to AF12 for AF13"),
    ("labels", "EF mapped to the TC of the rest"),
    ("labels", "label popped a hop earlier"),
    ("protection", "backup path 1 ms longer"),
    ("tcp", "window that binds"),
    ("tcp, window", "path 1 ms longer"),
    ("marks of tcp", "remarked to AF13 for AF12"),
    ("marks of tcp", "pipe for uniform in TTL"),
    ("two rates", "yellow to AF13 for AF12"),
]


def against_kernel(name: str, alteration: str | None, runner: str, folder: Path) -> EngineVerdict:
    """The scenario in the simulator, and as it is altered in the kernel."""
    subject = ALTERED_SCENARIOS[name]
    there, instead = subject.alterations[alteration] if alteration else ("", "")
    text = subject.text.replace(there, instead) if alteration else subject.text
    assert (text != subject.text) == (alteration is not None)
    ours, theirs = (
        replace_probes(compile_scenario(subject.text)),
        replace_probes(compile_scenario(text)),
    )

    def one(
        _written: str, seed: int, show: ProgressCallback | None
    ) -> tuple[SeedPair, str, tuple[str, ...]]:
        written = json.dumps(theirs, sort_keys=True, separators=(",", ":"))
        done = engine.run_in_guest(written, seed, folder, runner=runner, on_progress=show)
        machine = "virtual" if runner == engine.VIRTUAL_TIME_RUNNER else "emulated"
        found = make_seed_pair(
            ours, trace_simulator(ours, seed), read_kernel_run(done, folder), machine
        )
        return found, done.results.provenance.version, ()

    return run_until_decided([(json.dumps(ours), 1)], one)


@pytest.mark.parametrize(("name", "alteration"), HANDFUL)
def test_no_altered_kernel_agrees(name: str, alteration: str, uml: str, tmp_path: Path) -> None:
    assert against_kernel(name, alteration, uml, tmp_path).outcome != "agrees"


@pytest.mark.parametrize("name", sorted({name for name, _ in HANDFUL}))
def test_no_unaltered_kernel_differs(name: str, uml: str, tmp_path: Path) -> None:
    found = against_kernel(name, None, uml, tmp_path)
    assert [(row.subject, row.measure) for row in found.rows if row.outcome == "differs"] == []

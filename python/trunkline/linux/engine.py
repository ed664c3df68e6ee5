"""The Linux engine: compiled networks in, results out, as the packet engine has it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trunkline.linux.outcome import run_results
from trunkline.linux.outcome.kernel_counters import get_tcp_counters
from trunkline.linux.plan.command_target import GUEST_TARGET, CommandTarget
from trunkline.linux.plan.compiled_plan import CompiledPlan, compile_plan
from trunkline.results import Provenance, Results

if TYPE_CHECKING:
    from trunkline.linux.guest.runner import GuestRunRecord


@dataclass(frozen=True)
class KernelRun:
    """One run in the kernel."""

    results: Results
    # The plan, its sources, and notes on differences of the kernel.
    compiled: CompiledPlan
    folder: Path  # Files of the guest.
    runner: str  # ``uml``, ``qemu`` or ``native``.


def run_in_guest(
    network_json: str,
    seed: int,
    folder: Path,
    *,
    runner: str | None = None,
    control: str | None = None,
    scenario: str = "",
    on_progress: Callable[[float], None] | None = None,
) -> KernelRun:
    """Run a network once in a guest.

    seed: Seed of the traffic and of the guest [0 to 2**64 - 1].
    runner: ``uml``, ``qemu`` or ``native``; the first that is ready if left out.
    control: "frr"; daemons that find the routes; without they are the simulator's.
    on_progress: Gets the part of the run that is done, 0 to 1.
    Raises UnsupportedError: The kernel lacks features of the network.
    """
    compiled = compile_plan(network_json, seed=seed, target=make_target(runner, control))
    return run_compiled_plan(
        compiled, network_json, folder, runner=runner, scenario=scenario, on_progress=on_progress
    )


def run_compiled_plan(
    compiled: CompiledPlan,
    network_json: str,
    folder: Path,
    *,
    runner: str | None = None,
    scenario: str = "",
    on_progress: Callable[[float], None] | None = None,
) -> KernelRun:
    """Run a plan once in a guest.

    network_json: The network that it is of.
    runner, on_progress: As of `run_in_guest`.
    """
    from trunkline import _core
    from trunkline.linux.guest.runner import execute_plan

    record = execute_plan(
        compiled.plan, compiled.schedules, folder, runner, on_progress=on_progress
    )
    doubt_notes = (*_list_doubts(record), *_list_shortages(folder))
    compiled = replace(compiled, notes=(*compiled.notes, *doubt_notes))
    provenance = Provenance.for_network(
        scenario=scenario,
        network_json=network_json,
        version=f"{_core.version()} linux {record.kernel} {record.runner}",
        seed=compiled.plan.seed,
    )
    return KernelRun(
        run_results.read_results(compiled, folder, provenance), compiled, folder, record.runner
    )


def make_target(runner: str | None, control: str | None = None) -> CommandTarget:
    """Make the target of plans for a runner."""
    from trunkline.linux.guest.readiness import RunnerNotReady, choose_runner, list_missing_modules

    try:
        chosen = choose_runner(runner)
        keeps_hash = chosen != VIRTUAL_TIME_RUNNER
        return replace(
            GUEST_TARGET,
            keeps_hash=keeps_hash,
            missing_modules=list_missing_modules(chosen),
            control=control,
        )
    except RunnerNotReady:
        return replace(GUEST_TARGET, control=control)


def _list_doubts(record: GuestRunRecord) -> Iterator[str]:
    """List doubts about a run in real time."""
    if not record.comparable:
        yield f"{record.runner} runs in real time: its delays are not to be compared"
    if not record.trustworthy:
        late = f"late by {record.late_ns / 1e6:.1f} ms"
        yield f"not trustworthy: {late} with a packet or a sample, as the host was too busy"


def _list_shortages(folder: Path) -> Iterator[str]:
    """List shortages of a run with very many TCP flows."""
    last = json.loads((folder / "stats.json").read_text())[-1]
    if any(get_tcp_counters(last, node).get("TCPMemoryPressures") for node in last["nodes"]):
        yield "the guest ran short of memory for TCP: its windows opened less than they would"


def simulate(
    network_json: str,
    *,
    seeds: Sequence[int],
    runner: str | None = None,
    control: str | None = None,
    scenario: str = "",
    on_note: Callable[[str], object] | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> list[Results]:
    """Run a network in a guest once for each seed.

    seeds: Seeds, each 0 to 2**64 - 1.
    on_note: Called for each difference of the kernel, once, with a sentence.
    on_progress: Gets the part of all runs that is done, 0 to 1.
    Returns: In the order of the seeds.
    """
    from trunkline.linux.guest.scratch_folders import make_scratch_folder

    results: list[Results] = []
    noted_before: set[str] = set()
    for seed in seeds:
        with make_scratch_folder() as folder:
            kernel_run = run_in_guest(
                network_json,
                seed,
                Path(folder),
                runner=runner,
                control=control,
                scenario=scenario,
                on_progress=scale_progress(on_progress, len(results), len(seeds)),
            )
        for note in kernel_run.compiled.notes:
            if on_note is not None and note not in noted_before:
                on_note(note)
            noted_before.add(note)
        results.append(kernel_run.results)
    return results


def scale_progress(
    on_progress: Callable[[float], None] | None, runs_done: int, total: int
) -> Callable[[float], None] | None:
    """Scale the progress of one of several runs as that of all.

    on_progress: Gets the part of all runs that is done, 0 to 1.
    """
    if on_progress is None:
        return None
    return lambda part: on_progress((runs_done + part) / total)


VIRTUAL_TIME_RUNNER: Final = "uml"  # The runner whose processor takes no time.
REAL_TIME_RUNNER: Final = "native"  # The runner in real time.

"""The Linux engine: compiled networks in, results out, as the packet engine has it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trunkline.linux.outcome import decode
from trunkline.linux.outcome.statistics import netstat
from trunkline.linux.plan.compile import Compiled, compile
from trunkline.linux.plan.ground import GUEST, Ground
from trunkline.results import Provenance, Results

if TYPE_CHECKING:
    from trunkline.linux.guest.runner import RunRecord


@dataclass(frozen=True)
class Run:
    """One run in the kernel.

    Parameters
    ----------
    compiled : Compiled
        The plan, what is behind it, and notes on what the kernel does differently.
    folder : Path
        What the guest left.
    runner : str
        ``uml``, ``qemu`` or ``native``.
    """

    results: Results
    compiled: Compiled
    folder: Path
    runner: str


def run(
    network_json: str,
    seed: int,
    folder: Path,
    *,
    runner: str | None = None,
    control: str | None = None,
    scenario: str = "",
    on_progress: Callable[[float], None] | None = None,
) -> Run:
    """Run a network once in a guest.

    Parameters
    ----------
    seed : int
        Seed of the traffic and of the guest [0 to 2**64 - 1].
    runner : str, optional
        ``uml``, ``qemu`` or ``native``; the first that is ready if left out.
    control : {"frr"}, optional
        Daemons that find the routes; without they are the simulator's.
    on_progress : callable, optional
        Gets the part of the run that is done, 0 to 1.

    Raises
    ------
    UnsupportedError
        The network has what the kernel lacks.
    """
    from trunkline import _core
    from trunkline.linux.guest.runner import execute

    compiled = compile(network_json, seed=seed, ground=ground_of(runner, control))
    record = execute(compiled.plan, compiled.schedules, folder, runner, on_progress=on_progress)
    doubts = (*_doubts(record), *_shortage(folder))
    compiled = replace(compiled, notes=(*compiled.notes, *doubts))
    provenance = Provenance.of(
        scenario=scenario,
        network_json=network_json,
        version=f"{_core.version()} linux {record.kernel} {record.runner}",
        seed=seed,
    )
    return Run(decode.read(compiled, folder, provenance), compiled, folder, record.runner)


def ground_of(runner: str | None, control: str | None = None) -> Ground:
    """Where plans for a runner are to run."""
    from trunkline.linux.guest.readiness import Unready, choose, lacks

    try:
        chosen = choose(runner)
        keeps = chosen != UNHURRIED
        return replace(GUEST, keeps_hash=keeps, lacks=lacks(chosen), control=control)
    except Unready:
        return replace(GUEST, control=control)


def _doubts(record: RunRecord) -> Iterator[str]:
    """What speaks against a run in real time."""
    if not record.comparable:
        yield f"{record.runner} runs in real time: its delays are not to be compared"
    if not record.trustworthy:
        late = f"late by {record.late_ns / 1e6:.1f} ms"
        yield f"not trustworthy: {late} with a packet or a sample, as the host was too busy"


def _shortage(folder: Path) -> Iterator[str]:
    """What speaks against a run with very many TCP flows."""
    last = json.loads((folder / "stats.json").read_text())[-1]
    if any(netstat(last, node).get("TCPMemoryPressures") for node in last["nodes"]):
        yield "the guest ran short of memory for TCP: its windows opened less than they would"


def simulate(
    network_json: str,
    *,
    seeds: Sequence[int],
    runner: str | None = None,
    control: str | None = None,
    scenario: str = "",
    noted: Callable[[str], object] | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> list[Results]:
    """Run a network in a guest once for each seed.

    Parameters
    ----------
    seeds : sequence of int
        Seeds, each 0 to 2**64 - 1.
    noted : callable, optional
        Told once what the kernel does differently, a sentence at a time.
    on_progress : callable, optional
        Gets the part of all runs that is done, 0 to 1.

    Returns
    -------
    list of Results
        In the order of the seeds.
    """
    from trunkline.linux.guest.scratch import scratch

    made: list[Results] = []
    told: set[str] = set()
    for seed in seeds:
        with scratch() as folder:
            done = run(
                network_json,
                seed,
                Path(folder),
                runner=runner,
                control=control,
                scenario=scenario,
                on_progress=part_of(on_progress, len(made), len(seeds)),
            )
        for note in done.compiled.notes:
            if noted is not None and note not in told:
                noted(note)
            told.add(note)
        made.append(done.results)
    return made


def part_of(
    on_progress: Callable[[float], None] | None, before: int, total: int
) -> Callable[[float], None] | None:
    """Progress of one of several runs as that of all.

    Parameters
    ----------
    on_progress : callable or None
        Gets the part of all runs that is done, 0 to 1.
    """
    if on_progress is None:
        return None
    return lambda part: on_progress((before + part) / total)


UNHURRIED: Final = "uml"
"""The runner whose processor takes no time."""
REAL: Final = "native"
"""The runner in real time."""

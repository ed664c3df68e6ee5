"""One plan, several runners: the same orders go to each, the same folder comes back."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trunkline.linux.guest import frr, native, qemu, uml
from trunkline.linux.guest.archive import BadArchive, read_archive, statistics
from trunkline.linux.guest.process import PATIENCE_S, GuestFailed, Job
from trunkline.linux.guest.readiness import choose
from trunkline.linux.guest.scratch import remove_leftovers, scratch
from trunkline.linux.plan.frr import NAME as FRR
from trunkline.linux.plan.orders import write_orders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trunkline.linux.plan.plan import Plan

MEMORY_MB: Final = 256
"""Memory of a guest. The amount changes which random numbers are drawn."""

LATE_NS: Final = 1_000_000
"""A run in real time that was later than this with a packet or a sample is not to be trusted."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What ran a plan, where, and what it cost.

    Parameters
    ----------
    runner : str
        ``uml``, ``qemu`` or ``native``.
    kernel : str
        Release of the kernel.
    kernel_sha256, image_sha256 : str
        Digests of the kernel and of the first file system; empty for ``native``.
    plan_sha256 : str
        Digest of the plan.
    comparable : bool
        In virtual time; a run in real time is not to be compared.
    late_ns : int
        By how much a packet or sample was late at most.
    trustworthy : bool
        In virtual time, or never later than `LATE_NS`.
    cpu_s, wall_s : float
        What it took of the host; these stand in ``cost.json``, the others in ``run.json``, which
        is the same each time.
    """

    runner: str
    kernel: str
    kernel_sha256: str
    image_sha256: str
    plan_sha256: str
    seed: int
    memory_mb: int
    comparable: bool
    late_ns: int
    trustworthy: bool
    cpu_s: float
    wall_s: float


def execute(
    plan: Plan,
    schedules: Mapping[str, bytes],
    folder: Path,
    runner: str | None = None,
    *,
    memory_mb: int | None = None,
    on_progress: Callable[[float], None] | None = None,
    patience_s: float = PATIENCE_S,
) -> RunRecord:
    """Run a plan and write what it leaves.

    Parameters
    ----------
    folder : Path
        Where results are written; it is made.
    runner : str, optional
        ``uml``, ``qemu`` or ``native``; the first of the first two that is ready when left out.
    memory_mb : int, optional
        Memory of the guest [MB]; `MEMORY_MB`, or more for long schedules, when left out.
    on_progress : callable, optional
        Gets the part of the run that is done, 0 to 1.
    patience_s : float
        A guest that says nothing for so long has failed.

    Raises
    ------
    Unready
        The runner, or all of them, lack something.
    GuestFailed
        The kernel refused an order, or the guest died or hung.
    """
    name = choose(runner, FRR if plan.daemons else None)
    run = {"uml": uml.run, "qemu": qemu.run, "native": native.run}[name]
    control = frr.control_image() if plan.daemons else b""
    memory_mb = memory_mb or memory_for(schedules) + (
        frr.NODE_MB * len(plan.nodes) if plan.daemons else 0
    )
    given = {"orders": write_orders(plan), **schedules}
    remove_leftovers()
    with scratch() as private:
        try:
            stream, console, cost, digests = run(
                Job(given, Path(private), plan.seed, memory_mb, on_progress, patience_s, control)
            )
        except OSError as error:
            if error.filename is None:
                # A full disk does not say which.
                error.filename = private
            raise
    try:
        files = read_archive(stream)
    except BadArchive as error:
        raise GuestFailed(str(error), console.decode("utf-8", "replace")) from error
    late = int(files.pop("late_ns"))
    virtual = name != "native"
    record = RunRecord(
        runner=name,
        kernel=files.pop("kernel").decode("ascii", "replace"),
        kernel_sha256=digests.get("kernel", ""),
        image_sha256=digests.get("image", ""),
        plan_sha256=plan.digest(),
        seed=plan.seed,
        memory_mb=memory_mb,
        comparable=virtual,
        late_ns=late,
        trustworthy=virtual or late <= LATE_NS,
        cpu_s=round(cost.cpu_s, 2),
        wall_s=round(cost.wall_s, 2),
    )
    _write(plan, files, console, folder, record)
    return record


def memory_for(schedules: Mapping[str, bytes]) -> int:
    """Memory that a guest needs [MB].

    Returns
    -------
    int
        A packet is 12 bytes of a schedule, which the guest holds three times, 16 bytes in the
        agent and, when it has arrived, 24 bytes of a log that grows by doubling.
    """
    scheduled = sum(map(len, schedules.values())) / 1e6
    return max(MEMORY_MB, 128 + math.ceil(scheduled * 10 / 64) * 64)


def _write(
    plan: Plan, files: dict[str, bytes], console: bytes, folder: Path, record: RunRecord
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        if "/" not in name:
            (folder / name).write_bytes(data)
    (folder / "stats.json").write_text(_json(statistics(plan, files)))
    (folder / "console.txt").write_bytes(console)
    about = asdict(record)
    cost = {key: about.pop(key) for key in ("cpu_s", "wall_s")}
    (folder / "run.json").write_text(_json(about))
    (folder / "cost.json").write_text(_json(cost))


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True) + "\n"

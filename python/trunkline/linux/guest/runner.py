"""One plan, several runners: the same orders go to each, the same folder comes back."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trunkline.linux.guest import frr_daemons, native, qemu, uml
from trunkline.linux.guest.archive import DamagedArchive, collect_statistics, read_archive
from trunkline.linux.guest.process import MAX_SILENCE_S, GuestFailed, GuestJob
from trunkline.linux.guest.readiness import choose_runner
from trunkline.linux.guest.scratch_folders import make_scratch_folder, remove_leftovers
from trunkline.linux.plan.agent_orders import write_orders
from trunkline.linux.plan.frr_config import NAME as FRR

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trunkline.linux.plan.guest_plan import GuestPlan

DEFAULT_MEMORY_MB: Final = 256
"""Memory of a guest. The amount changes which random numbers are drawn."""

MAX_LATE_NS: Final = 1_000_000
"""A run in real time that was later than this with a packet or a sample is not to be trusted."""


@dataclass(frozen=True, slots=True)
class GuestRunRecord:
    """The runner of a plan, its machine and its cost."""

    runner: str  # ``uml``, ``qemu`` or ``native``.
    kernel: str  # Release of the kernel.
    # kernel_sha256, image_sha256: Digests of the kernel and of the first file system; empty for
    # ``native``.
    kernel_sha256: str
    image_sha256: str
    plan_sha256: str  # Digest of the plan.
    seed: int
    memory_mb: int
    comparable: bool  # In virtual time; a run in real time is not to be compared.
    late_ns: int  # By how much a packet or sample was late at most.
    trustworthy: bool  # In virtual time, or never later than `MAX_LATE_NS`.
    # cpu_s, wall_s: Time on the host; these are in ``cost.json``, the others in
    # ``run.json``, which is the same each time.
    cpu_s: float
    wall_s: float


def execute_plan(
    plan: GuestPlan,
    schedules: Mapping[str, bytes],
    folder: Path,
    runner: str | None = None,
    *,
    memory_mb: int | None = None,
    on_progress: Callable[[float], None] | None = None,
    max_silence_s: float = MAX_SILENCE_S,
) -> GuestRunRecord:
    """Run a plan and write its files.

    folder: Where results are written; it is made.
    runner: ``uml``, ``qemu`` or ``native``; the first of the first two that is ready when left out.
    memory_mb: Memory of the guest [MB]; `DEFAULT_MEMORY_MB`, or more for long schedules, when left
        out.
    on_progress: Gets the part of the run that is done, 0 to 1.
    max_silence_s: A guest that is silent for this time has failed [s].
    Raises RunnerNotReady: The runner, or all of them, lack something.
    Raises GuestFailed: The kernel refused an order, or the guest died or hung.
    """
    name = choose_runner(runner, FRR if plan.daemons else None)
    run_job = {"uml": uml.run_job, "qemu": qemu.run_job, "native": native.run_job}[name]
    programs = [each.command[0] for each in plan.daemons]
    control_image = frr_daemons.build_control_image(programs) if programs else b""
    memory_mb = memory_mb or compute_memory_mb(schedules) + (
        frr_daemons.NODE_MEMORY_MB * len(plan.nodes) if plan.daemons else 0
    )
    guest_files = {"orders": write_orders(plan), **schedules}
    remove_leftovers()
    with make_scratch_folder() as scratch_folder:
        try:
            stream, console, cost, digests = run_job(
                GuestJob(
                    guest_files,
                    Path(scratch_folder),
                    plan.seed,
                    memory_mb,
                    on_progress,
                    max_silence_s,
                    control_image,
                )
            )
        except OSError as error:
            if error.filename is None:
                # A full disk does not say which.
                error.filename = scratch_folder
            raise
    try:
        files = read_archive(stream)
    except DamagedArchive as error:
        raise GuestFailed(str(error), console.decode("utf-8", "replace")) from error
    late_ns = int(files.pop("late_ns"))
    is_virtual = name != "native"
    record = GuestRunRecord(
        runner=name,
        kernel=files.pop("kernel").decode("ascii", "replace"),
        kernel_sha256=digests.get("kernel", ""),
        image_sha256=digests.get("image", ""),
        plan_sha256=plan.compute_digest(),
        seed=plan.seed,
        memory_mb=memory_mb,
        comparable=is_virtual,
        late_ns=late_ns,
        trustworthy=is_virtual or late_ns <= MAX_LATE_NS,
        cpu_s=round(cost.cpu_s, 2),
        wall_s=round(cost.wall_s, 2),
    )
    _write_results(plan, files, console, folder, record)
    return record


def compute_memory_mb(schedules: Mapping[str, bytes]) -> int:
    """Memory that a guest needs [MB].

    Returns: A packet is 12 bytes of a schedule, which the guest holds three times, 16 bytes in the
        agent and, when it has arrived, 24 bytes of a log that grows by doubling.
    """
    scheduled = sum(map(len, schedules.values())) / 1e6
    return max(DEFAULT_MEMORY_MB, 128 + math.ceil(scheduled * 10 / 64) * 64)


def _write_results(
    plan: GuestPlan, files: dict[str, bytes], console: bytes, folder: Path, record: GuestRunRecord
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        if "/" not in name:
            (folder / name).write_bytes(data)
    (folder / "stats.json").write_text(_format_json(collect_statistics(plan, files)))
    (folder / "console.txt").write_bytes(console)
    record_fields = asdict(record)
    cost = {key: record_fields.pop(key) for key in ("cpu_s", "wall_s")}
    (folder / "run.json").write_text(_format_json(record_fields))
    (folder / "cost.json").write_text(_format_json(cost))


def _format_json(value: object) -> str:
    return json.dumps(value, sort_keys=True) + "\n"

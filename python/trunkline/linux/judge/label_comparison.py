"""Labels by ldpd, compared with the simulator's: each router's last operation, and its time."""

from collections.abc import Mapping, Sequence

from trunkline.linux.judge.comparisons import ComparisonRow, compare_final_entries, compare_moment
from trunkline.linux.outcome.label_use import (
    LabelUse,
    LabelUseChange,
    NodeFec,
    read_simulator_labels,
)
from trunkline.linux.plan.dry_run import DryRun
from trunkline.network.types import NetworkData


def compare_labels(
    network: NetworkData,
    dry_run: DryRun,
    label_uses: Mapping[NodeFec, LabelUse],
    kernel_changes: Mapping[int, Sequence[LabelUseChange]],
    margin_s: float,
) -> list[ComparisonRow]:
    """Compare the rows of labels, two a router.

    kernel_changes: Labels that each router of the kernel took into use, with times.
    margin_s: By how much these times may differ.
    Returns: How many other nodes a router has labels or next hops for, and how many of them are
        others than the simulator's; when it had those it kept after the first failure, until a
        repair.
    """
    ours = read_simulator_labels(dry_run.label_changes, network["run"]["duration_ns"])
    rows = []
    for node, node_config in enumerate(network["nodes"]):
        simulator_uses, kernel_uses = (
            {fec: use for (at, fec), use in side.items() if at == node}
            for side in (ours, label_uses)
        )
        rows.append(
            compare_final_entries(
                str(node_config["name"]), "labels at the end", simulator_uses, kernel_uses
            )
        )
    failed = min(
        (each.time_ns for each in dry_run.timeline_events if each.event == "failed"), default=-1
    )
    if failed < 0:
        return rows
    repairs = (each.time_ns for each in dry_run.timeline_events if each.event == "repaired")
    end = min([network["run"]["duration_ns"], *repairs])
    for node, node_config in enumerate(network["nodes"]):
        simulator_changes = [
            LabelUseChange(each.time_ns, each.fec, (each.link, each.out_label))
            for each in dry_run.label_changes
            if each.node == node
        ]
        first, second = (
            None if time is None else (time - failed) / 1e9
            for time in (
                _find_last_change(side, failed, end)
                for side in (simulator_changes, kernel_changes[node])
            )
        )
        if first is not None or second is not None:
            measures = ("new labels after the failure", "changes of labels")
            rows.append(
                compare_moment(str(node_config["name"]), measures, (first, second), margin_s)
            )
    return rows


def _find_last_change(side: Sequence[LabelUseChange], failed_ns: int, end_ns: int) -> int | None:
    """Find when the last label that a failure changed for good came into use.

    A route that zebra writes anew is without its label for a while, and then has it again.
    """
    old_actions = {each.fec: each.action for each in side if each.time_ns <= failed_ns}
    new_changes = {each.fec: each for each in side if failed_ns < each.time_ns < end_ns}
    times = [
        each.time_ns for fec, each in new_changes.items() if each.action != old_actions.get(fec)
    ]
    return max(times, default=None)

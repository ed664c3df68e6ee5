"""Labels by ldpd beside the simulator's LDP: what each router does at the end, and since when."""

from collections.abc import Mapping, Sequence

from trunkline.linux.judge.compare import Row, at_end, moment
from trunkline.linux.outcome.labels import Change, Key, Use, of_simulator
from trunkline.linux.plan.rehearsal import Rehearsal
from trunkline.network.types import Network


def compared(
    data: Network,
    rehearsal: Rehearsal,
    uses: Mapping[Key, Use],
    changed: Mapping[int, Sequence[Change]],
    margin_s: float,
) -> list[Row]:
    """Rows of labels, two a router.

    Parameters
    ----------
    changed : mapping
        What each router of the kernel took into use when.
    margin_s : float
        By how much these times may differ.

    Returns
    -------
    list of Row
        How many other nodes a router has labels or next hops for, and how many of them are others
        than the simulator's; when it had those it kept after the first failure, until a repair.
    """
    ours = of_simulator(rehearsal.labels, data["run"]["duration_ns"])
    rows = []
    for node, its in enumerate(data["nodes"]):
        ours_here, theirs_here = (
            {fec: use for (at, fec), use in side.items() if at == node} for side in (ours, uses)
        )
        rows.append(at_end(str(its["name"]), "labels at the end", ours_here, theirs_here))
    failed = min((each.time_ns for each in rehearsal.moments if each.event == "failed"), default=-1)
    if failed < 0:
        return rows
    repairs = (each.time_ns for each in rehearsal.moments if each.event == "repaired")
    end = min([data["run"]["duration_ns"], *repairs])
    for node, its in enumerate(data["nodes"]):
        mine = [
            Change(each.time_ns, each.fec, (each.link, each.out_label))
            for each in rehearsal.labels
            if each.node == node
        ]
        first, second = (
            None if time is None else (time - failed) / 1e9
            for time in (_last(side, failed, end) for side in (mine, changed[node]))
        )
        if first is not None or second is not None:
            said = ("new labels after the failure", "changes of labels")
            rows.append(moment(str(its["name"]), said, (first, second), margin_s))
    return rows


def _last(side: Sequence[Change], failed_ns: int, end_ns: int) -> int | None:
    """When the last of what differs in the end from what was before a failure came into use.

    A route that zebra writes anew is without its label for a while, and then as it was.
    """
    before = {each.fec: each.how for each in side if each.time_ns <= failed_ns}
    after = {each.fec: each for each in side if failed_ns < each.time_ns < end_ns}
    times = [each.time_ns for fec, each in after.items() if each.how != before.get(fec)]
    return max(times, default=None)

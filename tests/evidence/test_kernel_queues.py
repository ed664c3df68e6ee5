"""Queues and disciplines of the simulator against recorded runs of a Linux 6.1 kernel.

Sources: RFC 8289 (CoDel), 8290 (FQ-CoDel), 8033 (PIE); Linux 6.1 `net/sched`. On IP and labelled.
"""

from pathlib import Path
from statistics import fmean

import kernel_queues
import pytest
from kernel_queues import MEASURES, PORTS, read_recorded_rows, run_simulator

UNDER = ("ip", "label")


@pytest.mark.parametrize(("runner", "kind", "under"), kernel_queues.list_recorded())
def test_means_over_seeds_are_the_kernels(runner: str, kind: str, under: str) -> None:
    """Goodput within 1 %, drops within 10 %, the mean delay of voice within 3 %."""
    value = read_recorded_rows(runner, kind, under)
    for name, margin in zip(MEASURES, (0.01, 0.1, 0.03), strict=True):
        theirs = fmean(float(row[name]) for row in value)
        ours = fmean(MEASURES[name](run) for run in run_simulator(kind, under, len(value)))
        assert ours == pytest.approx(theirs, rel=margin), name


def test_every_discipline_of_the_documentation_is_recorded() -> None:
    """On IP and under a label."""
    found = set(kernel_queues.list_recorded())
    both = {"codel", "fq-codel", "pie", "fq-pie", "tbf", "sfq", "hfsc", "cake"}
    assert {("uml", kind, under) for kind in both for under in ("ip", "label")} <= found


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "linux-verify.md"


def test_the_documentation_has_each_recorded_verdict() -> None:
    """What `trunkline verify` said of a queue, row by row."""
    page = PAGE.read_text()
    for row in kernel_queues.read_verdicts():
        assert kernel_queues.format_verdict_row(row) in page


def test_datagrams_through_every_discipline_agree_with_the_kernel() -> None:
    """`verify` of `overload.yaml`, on IP and under a label."""
    found = {
        (row["runner"], row["queue"], row["under"]): row["outcome"]
        for row in kernel_queues.read_verdicts()
        if row["scenario"] == "overload"
    }
    kinds = {"uml": set(PORTS) - {"fq"}, "qemu": {"codel", "sfq", "tbf"}}
    # In time that is not exact one drop sooner sends CoDel another way: 24 seeds do not decide it.
    unsure = ("qemu", "codel", "ip")
    assert found.pop(unsure) == "undecided"
    assert found == {
        (runner, kind, under): "agrees"
        for runner, value in kinds.items()
        for kind in value
        for under in UNDER
        if (runner, kind, under) != unsure
    }

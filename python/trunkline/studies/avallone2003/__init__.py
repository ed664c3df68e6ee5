"""Avallone et al. (2003): DiffServ, MPLS and both together on a testbed of Linux routers.

Four scenarios on one topology with one realisation of the traffic for each seed: best effort,
DiffServ, MPLS with one path for all, and DiffServ over MPLS with an E-LSP and an L-LSP.
"""

from __future__ import annotations

from trunkline.studies.avallone2003 import testbed
from trunkline.studies.avallone2003.outcome import Outcome
from trunkline.study.frames import Runs
from trunkline.study.plan import Plan

__all__ = ["SEEDS", "outcome", "plan"]

SEEDS = 20
"""Replications of each scenario."""

FITTED, NO_LABEL = "as fitted", "labels paid by the link header"
TODAY = "routers of today: HTB"
"""Names of the readings that are no variants."""


def plan(*, seeds: int | None = None) -> Plan:
    """The four scenarios, labels against headers, CBQ against HTB, and the variants.

    Parameters
    ----------
    seeds : int, optional
        Replications of each scenario [2 or more]; 20 if left out. Variants take a fifth.
    """
    most = max(2, seeds or SEEDS)
    points = testbed.points(FITTED, {}, most)
    points += testbed.points(NO_LABEL, testbed.LABEL_PAID, most, scenarios=("mpls",))
    points += testbed.points(TODAY, {}, most, today=True)
    for name, overrides in testbed.VARIANTS.items():
        points += testbed.points(name, overrides, max(2, most // 5))
    return Plan(testbed.NAME, testbed.TITLE, points)


def outcome(runs: Runs) -> Outcome:
    """Cells, claims and pictures.

    Parameters
    ----------
    runs : Runs
        What the plan gave.
    """
    variants = [testbed.gather(name, runs) for name in testbed.VARIANTS]
    stated, no_label, today = (testbed.gather(name, runs) for name in (FITTED, NO_LABEL, TODAY))
    return Outcome(stated, no_label, variants, today)

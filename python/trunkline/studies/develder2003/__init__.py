"""Develder et al. (2003): how the time of a protection switch acts on TCP.

Two experiments on one network of two label-switched paths. In the first, all flows have one
round-trip time, and bandwidth, queues and goodput are watched; in the second, each flow has its
own, drawn anew for each of 240 seeds, and the total goodput of the first 1.5 s after the failure
is compared with that of a switch without delay and the same draws.
"""

from __future__ import annotations

from trunkline.studies.develder2003 import experiments
from trunkline.studies.develder2003.outcome import Outcome
from trunkline.study.frames import Runs
from trunkline.study.plan import Plan

__all__ = ["SEEDS", "outcome", "plan"]

SEEDS = 240
"""Replications of experiment b, as published."""

STATED = "as stated"
"""Name of the reading that follows the document."""


def plan(*, seeds: int | None = None) -> Plan:
    """Both experiments and what they are sensitive to.

    Parameters
    ----------
    seeds : int, optional
        Replications of experiment b [2 or more]; 240 if left out. Experiment a and the variants
        take a quarter of them each, the sweeps an eighth.
    """
    most = max(2, seeds or SEEDS)
    fewer, few = (range(1, max(2, most // share) + 1) for share in (4, 8))
    points = experiments.points_of_a(fewer)
    points += experiments.points_of_b(STATED, {}, range(1, most + 1))
    for name, overrides in experiments.VARIANTS.items():
        points += experiments.points_of_b(name, overrides, fewer)
    for name, overrides in experiments.TCPS.items():
        points += experiments.points_of_sweep(name, overrides, few)
    return Plan(experiments.NAME, experiments.TITLE, points)


def outcome(runs: Runs) -> Outcome:
    """Cells, claims and pictures.

    Parameters
    ----------
    runs : Runs
        What the plan gave.
    """
    return Outcome(
        experiments.experiment_a(runs),
        experiments.experiment_b(STATED, runs),
        [experiments.experiment_b(name, runs) for name in experiments.VARIANTS],
        [experiments.sweep(name, runs) for name in experiments.TCPS],
    )

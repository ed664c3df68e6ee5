"""Develder et al. (2003): how the time of a protection switch acts on TCP.

Two experiments on one network of two label-switched paths. In the first, all flows have one
round-trip time, and bandwidth, queues and goodput are watched; in the second, each flow has its
own, drawn anew for each of 240 seeds, and the total goodput of the first 1.5 s after the failure
is compared with that of a switch without delay and the same draws.
"""

from __future__ import annotations

from trunkline.studies.develder2003 import experiments
from trunkline.studies.develder2003.outcome import Outcome

__all__ = ["SEEDS", "reproduce"]

SEEDS = 240
"""Replications of experiment b, as published."""


def reproduce(
    *,
    seeds: int | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Outcome:
    """Run both experiments and what they are sensitive to.

    Parameters
    ----------
    seeds : int, optional
        Replications of experiment b [2 or more]; 240 if left out. Experiment a and the variants
        take a quarter of them each, the sweeps an eighth.
    threads : int, optional
        Runs at once; all cores if left out.
    progress : bool, default False
        Draw a progress bar for each part on standard error, if that is a terminal.

    Returns
    -------
    Outcome
        Cells, claims and pictures.
    """
    most = max(2, seeds or SEEDS)
    fewer = max(2, most // 4)
    a = experiments.same_round_trip(range(1, fewer + 1), threads=threads, progress=progress)
    b = experiments.mixed_round_trips(
        "as stated", {}, range(1, most + 1), threads=threads, progress=progress
    )
    variants = [
        experiments.mixed_round_trips(
            name, overrides, range(1, fewer + 1), threads=threads, progress=progress
        )
        for name, overrides in experiments.VARIANTS.items()
    ]
    few = range(1, max(2, most // 8) + 1)
    sweeps = [
        experiments.sweep(name, overrides, few, threads=threads, progress=progress)
        for name, overrides in experiments.TCPS.items()
    ]
    return Outcome(a, b, variants, sweeps)

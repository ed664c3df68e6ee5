"""Avallone et al. (2003): DiffServ, MPLS and both together on a testbed of Linux routers.

Four scenarios on one topology with one realisation of the traffic for each seed: best effort,
DiffServ, MPLS with one path for all, and DiffServ over MPLS with an E-LSP and an L-LSP.
"""

from __future__ import annotations

from trunkline.studies.avallone2003 import testbed
from trunkline.studies.avallone2003.outcome import Outcome

__all__ = ["SEEDS", "reproduce"]

SEEDS = 20
"""Replications of each scenario."""


def reproduce(
    *,
    seeds: int | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Outcome:
    """Run the four scenarios, the comparison of labels with headers, and the variants.

    Parameters
    ----------
    seeds : int, optional
        Replications of each scenario [2 or more]; 20 if left out. Variants take a fifth.
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
    stated = testbed.run("as fitted", {}, most, threads=threads, progress=progress)
    no_label = testbed.run(
        "labels paid by the link header",
        testbed.LABEL_PAID,
        most,
        scenarios=("mpls",),
        threads=threads,
        progress=progress,
    )
    few = max(2, most // 5)
    variants = [
        testbed.run(name, overrides, few, threads=threads, progress=progress)
        for name, overrides in testbed.VARIANTS.items()
    ]
    return Outcome(stated, no_label, variants)

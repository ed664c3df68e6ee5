"""Paths and backups placed so that the worst of many states is least: failures, and traffics.

`robust_program` has the method and its sources; `robust_bypasses` has that of local repair.
"""

from collections.abc import Sequence

from trunkline.te.robust_bypasses import BypassProgram
from trunkline.te.robust_program import ProtectionScheme, RobustProgram, RobustRouting
from trunkline.te.topology import Bools, Floats, Topology


def minimise_worst_utilisation(
    topology: Topology,
    ends: Sequence[tuple[int, int]],
    rates: Floats,
    failures: Bools,
    protection: ProtectionScheme,
) -> RobustRouting:
    """Place one protected path for each demand so that the worst state is loaded least.

    ends: Nodes of each of D demands.
    rates: shape (M, D): Rate of each demand in each traffic.
    failures: shape (F, E): Arcs that each failure takes down; the first takes none, and with
        protection ``"none"`` it is the only one.
    protection: Protection of a demand whose path fails: nothing; a backup that is empty before; a
        backup that carries a copy at all times; a bypass round each arc that fails, one for all
        demands over it. A demand whose ends a failure separates is lost in it.
    Raises ValueError: A demand without a path, or without a second one that no failure of the first
        takes down; failures without protection, which only lose load.
    """
    if failures[0].any():
        raise ValueError("the first state has no failure")
    if protection == "none" and len(failures) > 1:
        raise ValueError("without protection a failure loses what it breaks: leave failures out")
    if protection == "facility-bypass":
        return BypassProgram(topology, ends, rates, failures, protection).solve()
    return RobustProgram(topology, ends, rates, failures, protection).solve()

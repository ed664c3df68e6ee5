"""The least maximum link utilisation over all ways to split traffic, exact or bounded.

There are three forms of the same linear program: by arcs (`arc_formulation`), by paths
(`column_generation`), and the Frank-Wolfe method on a smooth maximum (`frank_wolfe`), which is not
exact but proves its gap. The size decides which one is fastest; `minimise_utilisation` chooses.
"""

import numpy as np

from trunkline.te import arc_formulation, column_generation, frank_wolfe
from trunkline.te.split_routing import Formulation, OptimalRouting, validate_traffic
from trunkline.te.topology import Floats, Topology

MAX_ARC_COLUMNS = 40_000
"""Sources times arcs up to which the form by arcs is the soonest: about 70 nodes, a few seconds."""
MAX_PATH_DEMANDS = 10_000  # Demands up to which column generation ends soon.
MAX_SOURCE_NODE_PAIRS = 4_000_000
"""Sources times nodes up to which Frank-Wolfe is tried: 2,000 nodes with a full mesh."""


def minimise_utilisation(
    topology: Topology, traffic: Floats, form: Formulation | None = None, target_gap: float = 0.02
) -> OptimalRouting:
    """Route traffic, split where that helps, so that the busiest link is loaded least.

    traffic: shape (N, N): The diagonal does not count.
    form: one of "arcs", "paths", "frank-wolfe"; by default by size: arcs up to 40,000 columns,
        paths up to 10,000 demands, else Frank-Wolfe.
    target_gap: Gap at which Frank-Wolfe ends.
    Returns: Utilisation and bound; equal, to rounding, but for ``frank-wolfe``.
    Raises ValueError: Traffic between nodes that no path joins, negative traffic, or more than can
        be solved.
    """
    validated = validate_traffic(topology, traffic)
    count = int(np.count_nonzero(validated))
    if not count:
        return OptimalRouting(form or "arcs", 0.0, 0.0, np.zeros(len(topology.arcs)), {})
    chosen = form or choose_formulation(topology, validated)
    if chosen == "arcs":
        return arc_formulation.minimise_utilisation(topology, validated)
    if chosen == "paths":
        return column_generation.minimise_utilisation(topology, validated)
    return frank_wolfe.minimise_utilisation(topology, validated, target_gap)


def choose_formulation(topology: Topology, traffic: Floats) -> Formulation:
    """Choose the form that answers soonest. Raises ValueError: More than can be solved."""
    sources = int(np.count_nonzero(traffic.any(axis=1)))
    if sources * len(topology.arcs) <= MAX_ARC_COLUMNS:
        return "arcs"
    if np.count_nonzero(traffic) <= MAX_PATH_DEMANDS:
        return "paths"
    cells = sources * len(topology.nodes)
    if cells > MAX_SOURCE_NODE_PAIRS:
        raise ValueError(
            f"{sources} sources in {len(topology.nodes)} nodes are too many to bound: each step "
            f"would take about {cells * 40 / 1e9:.0f} GB; {MAX_SOURCE_NODE_PAIRS} "
            f"pairs are the limit"
        )
    return "frank-wolfe"

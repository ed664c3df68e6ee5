"""Traffic engineering on graphs and arrays: paths, admission, preemption, placement.

Nothing here knows a scenario. `topology` makes the graph, N nodes and E arcs; every other module
takes it with arrays over its arcs, and gives paths as tuples of arcs. Bandwidths are bit/s,
integers where they are reserved; delays are nanoseconds. `trunkline.planning` applies them to
scenarios.

Modules are imported when first used: ``from trunkline import te``, then ``te.cspf.cspf(...)``.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trunkline.te import (
        admission as admission,
        arc_formulation as arc_formulation,
        backup_paths as backup_paths,
        bounded_paths as bounded_paths,
        column_generation as column_generation,
        cspf as cspf,
        disjoint_paths as disjoint_paths,
        dste as dste,
        fortz_thorup as fortz_thorup,
        frank_wolfe as frank_wolfe,
        igp_weights as igp_weights,
        k_shortest_paths as k_shortest_paths,
        linear_program as linear_program,
        optimal_routing as optimal_routing,
        path_constraints as path_constraints,
        placement as placement,
        post_failure_routing as post_failure_routing,
        preemption as preemption,
        refusal as refusal,
        reoptimisation as reoptimisation,
        shared_backups as shared_backups,
        spf as spf,
        ti_lfa as ti_lfa,
        topology as topology,
        traffic_matrices as traffic_matrices,
        unsplittable as unsplittable,
    )
else:
    _MODULES = frozenset(file.stem for file in Path(__file__).parent.glob("[a-z]*.py"))

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module 'trunkline.te' has no attribute {name!r}")
        return importlib.import_module(f"trunkline.te.{name}")

    def __dir__() -> list[str]:
        return sorted(_MODULES)

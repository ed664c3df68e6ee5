"""Traffic engineering on graphs and arrays: paths, admission, preemption, placement.

Nothing here knows a scenario; `trunkline.planning` applies these modules to scenarios. Modules are
imported when first used: ``from trunkline import te``, then ``te.cspf.find_constrained_path(...)``.

These names mean the same in every module:

- ``topology``: the graph from `topology.build_topology`, with N nodes, E arcs (a direction of a
  link each) and L links, all numbered from 0.
- ``source``, ``target``: numbers of two different nodes.
- ``path``: numbers of its arcs from source to target, as a tuple.
- ``metric``: array, shape (E,); the cost of each arc, 1 or more.
- ``usable``: array of bool, shape (E,); arcs that are up, by default all. ``dead``: arcs that fail.
- ``free``: array of int64, shape (E,); unreserved bandwidth in bit/s for the class type and the
  setup priority of the request. ``ratio``: unreserved over reservable bandwidth, for ties.
- ``traffic``: array of float64, shape (N, N); from the node of the row to the node of the column.
- ``loads``: array of float64, shape (E,); in the unit of the traffic. ``mlu``: the maximum link
  utilisation, where 1 is a full link.
- ``class_type``: 0 to 7. ``setup``, ``hold``: priorities from 0 (strongest) to 7.
- ``protect``, ``kind``: what two paths do not share, ``"link"``, ``"node"`` or ``"risk"``.

Bandwidths are bit/s, integers where they are reserved. Delays are nanoseconds.
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
        capacity_expansion as capacity_expansion,
        column_generation as column_generation,
        cspf as cspf,
        disjoint_paths as disjoint_paths,
        dste as dste,
        fortz_thorup as fortz_thorup,
        frank_wolfe as frank_wolfe,
        igp_weights as igp_weights,
        k_shortest_paths as k_shortest_paths,
        linear_program as linear_program,
        migration_order as migration_order,
        optimal_routing as optimal_routing,
        path_constraints as path_constraints,
        placement as placement,
        post_failure_routing as post_failure_routing,
        preemption as preemption,
        refusal as refusal,
        reoptimisation as reoptimisation,
        shared_backups as shared_backups,
        spf as spf,
        split_routing as split_routing,
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

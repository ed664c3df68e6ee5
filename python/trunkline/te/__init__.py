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
        arc_form as arc_form,
        bounded as bounded,
        column_generation as column_generation,
        constraints as constraints,
        cspf as cspf,
        disjoint as disjoint,
        dste as dste,
        fortz_thorup as fortz_thorup,
        frank_wolfe as frank_wolfe,
        highs as highs,
        matrix as matrix,
        optimum as optimum,
        place as place,
        preempt as preempt,
        refusal as refusal,
        reoptimise as reoptimise,
        repair as repair,
        shared as shared,
        spf as spf,
        survive as survive,
        ti_lfa as ti_lfa,
        topology as topology,
        unsplit as unsplit,
        weights as weights,
        yen as yen,
    )
else:
    _MODULES = frozenset(file.stem for file in Path(__file__).parent.glob("[a-z]*.py"))

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module 'trunkline.te' has no attribute {name!r}")
        return importlib.import_module(f"trunkline.te.{name}")

    def __dir__() -> list[str]:
        return sorted(_MODULES)

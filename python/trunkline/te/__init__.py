"""Traffic engineering on graphs and arrays: paths, admission, preemption, placement.

Nothing here knows a scenario. `topology` makes the graph; every other module takes it with arrays
over its arcs, and gives paths as tuples of arcs. Bandwidths are bit/s, integers where they are
reserved; delays are nanoseconds. `trunkline.planning` applies them to scenarios.

Modules are imported when first used: ``from trunkline import te``, then ``te.cspf.cspf(...)``.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

_MODULES = frozenset(file.stem for file in Path(__file__).parent.glob("[a-z]*.py"))


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'trunkline.te' has no attribute {name!r}")
    return importlib.import_module(f"trunkline.te.{name}")


def __dir__() -> list[str]:
    return sorted(_MODULES)

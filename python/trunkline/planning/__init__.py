"""Traffic engineering of scenarios: what goes where, how good that is, and what protects it."""

from trunkline.planning.explicit import explicit
from trunkline.planning.methods import Method
from trunkline.planning.place import LinkLoad, PlacedPath, Plan, place
from trunkline.planning.protect import Protected, protect, with_backups
from trunkline.planning.solve import Solution, solve, solved

__all__ = [
    "LinkLoad",
    "Method",
    "PlacedPath",
    "Plan",
    "Protected",
    "Solution",
    "explicit",
    "place",
    "protect",
    "solve",
    "solved",
    "with_backups",
]

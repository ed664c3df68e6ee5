"""Traffic engineering of scenarios: what goes where, how good that is, and what protects it."""

from trunkline.planning.explicit import explicit
from trunkline.planning.methods import Method
from trunkline.planning.place import LinkLoad, PlacedPath, Plan, place, plan_json
from trunkline.planning.protect import Protected, protect, with_backups
from trunkline.planning.solve import Solution, solve, solved
from trunkline.planning.survive import Survival, survive

__all__ = [
    "LinkLoad",
    "Method",
    "PlacedPath",
    "Plan",
    "Protected",
    "Solution",
    "Survival",
    "explicit",
    "place",
    "plan_json",
    "protect",
    "solve",
    "solved",
    "survive",
    "with_backups",
]

"""Traffic engineering of scenarios: what goes where, how good that is, and what protects it."""

from trunkline.planning.explicit import explicit
from trunkline.planning.place import LinkLoad, Method, PlacedPath, Plan, place
from trunkline.planning.protect import Protected, protect, with_backups

__all__ = [
    "LinkLoad",
    "Method",
    "PlacedPath",
    "Plan",
    "Protected",
    "explicit",
    "place",
    "protect",
    "with_backups",
]

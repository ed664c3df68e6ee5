"""Traffic engineering of scenarios: what goes where, how good that is, and what protects it."""

from trunkline.planning.explicit import explicit
from trunkline.planning.place import LinkLoad, Method, PlacedPath, Plan, place

__all__ = ["LinkLoad", "Method", "PlacedPath", "Plan", "explicit", "place"]

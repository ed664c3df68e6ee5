"""Pictures: PNG, SVG or PDF by the ending of the file."""

from trunkline.plot.against import Line, against_published
from trunkline.plot.figure import save

__all__ = ["Line", "against_published", "save"]

"""Pictures: PNG, SVG or PDF by the ending of the file."""

from trunkline.plot.figure import save_figure
from trunkline.plot.published_lines import PublishedLine, draw_published_lines

__all__ = ["PublishedLine", "draw_published_lines", "save_figure"]

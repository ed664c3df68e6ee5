"""The named plots. Each module is imported when its plot is drawn: drawing libraries are heavy."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from trunkline.plot.plot_sources import PlotChoice, PlotSource

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OVER_TIME_KINDS = (
    "cwnd",
    "queue",
    "queue-bytes",
    "throughput",
    "goodput",
    "delay",
    "srtt",
    "rtt",
    "rto",
    "pacing-rate",
    "inflight",
    "marks",
    "utilisation",
)
"""Kinds that show the series of a probe."""

_MODULES = {
    "time-sequence": "sequence",
    **dict.fromkeys(OVER_TIME_KINDS, "over_time"),
    "cdf": "distribution",
    "histogram": "distribution",
    "completions": "completions",
    "scores": "scores",
    "bars": "bars",
    "convergence": "convergence",
    "red-curves": "red_curves",
    "published": "published",
}
"""Modules of the named plots; each has a function of the plot's name."""

PLOT_KINDS = tuple(_MODULES)  # Every named plot.


def draw(kind: str, sources: Sequence[PlotSource], choice: PlotChoice) -> Figure:
    """Draw a named plot.

    kind: One of ``KINDS``.
    Raises MissingData: The results lack data for the plot.
    """
    module: Any = importlib.import_module(f"trunkline.plot.{_MODULES[kind]}")
    if kind in OVER_TIME_KINDS:
        return cast("Figure", module.over_time(kind, sources, choice))
    return cast("Figure", getattr(module, kind.replace("-", "_"))(sources, choice))

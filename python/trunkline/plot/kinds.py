"""The named plots. Each module is imported when its plot is drawn: drawing libraries are heavy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.plot.sources import Choice, Source

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OVER_TIME = (
    "cwnd",
    "queue",
    "queue-bytes",
    "throughput",
    "goodput",
    "delay",
    "srtt",
    "rtt",
    "rto",
    "utilisation",
)
"""Kinds that show the series of a probe."""

KINDS = (
    "time-sequence",
    *OVER_TIME,
    "cdf",
    "histogram",
    "completions",
    "scores",
    "bars",
    "convergence",
    "red-curves",
    "published",
)
"""Every named plot."""


def draw(kind: str, sources: Sequence[Source], choice: Choice) -> Figure:
    """Draw a named plot.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.

    Raises
    ------
    Lacking
        The results do not hold what the plot needs.
    """
    if kind in OVER_TIME:
        from trunkline.plot.over_time import over_time

        return over_time(kind, sources, choice)
    if kind == "time-sequence":
        from trunkline.plot.sequence import time_sequence

        return time_sequence(sources, choice)
    if kind == "completions":
        from trunkline.plot.completions import completions

        return completions(sources, choice)
    if kind == "scores":
        from trunkline.plot.scores import scores

        return scores(sources, choice)
    if kind == "bars":
        from trunkline.plot.bars import bars

        return bars(sources, choice)
    if kind == "convergence":
        from trunkline.plot.convergence import convergence

        return convergence(sources, choice)
    if kind == "red-curves":
        from trunkline.plot.red_curves import red_curves

        return red_curves(sources, choice)
    if kind == "published":
        from trunkline.plot.published import published

        return published(sources, choice)
    from trunkline.plot import distribution

    return (distribution.cdf if kind == "cdf" else distribution.histogram)(sources, choice)

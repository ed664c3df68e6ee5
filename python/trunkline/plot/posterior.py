"""A posterior: each parameter's density with its profile, and each pair's picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trunkline.plot.canvas import escape_plot_text
from trunkline.plot.figure import COLOURS, apply_house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 20  # Parts of the axis of a range; readings have one each.
MAX_PAIRS_DRAWN = 8  # Parameters of a pairwise picture; more are too small to be read.

PROFILE_DEPTH = 5.0  # A profile is drawn down to that far below its top, in log likelihood.


@dataclass(frozen=True)
class PosteriorAxis:
    """A parameter of a posterior."""

    name: str  # Its name.
    masses: NDArray[np.float64]  # shape (bins,): Probability of each part of the axis.
    ticks: tuple[tuple[float, str], ...]  # Places on the axis with the values that are there.
    is_range: bool  # Whether neighbours on the axis are alike.
    now: float | None  # Where the value is that the study has now.
    # shape (bins,): Highest log likelihood in each part of the axis less the highest of all, or
    # not-a-number.
    profile: NDArray[np.float64]
    # shape (n,): Samples, as shares of its prior's probability; empty where they were not kept.
    shares: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @property
    def bins(self) -> int:
        """Parts that the axis is drawn in."""
        return len(self.masses)


def draw_marginals(axes: Sequence[PosteriorAxis]) -> Figure:
    """Draw each parameter: its posterior over the prior, which is level, and its profile.

    axes: One panel each.
    """
    from matplotlib.figure import Figure

    columns = min(len(axes), 4)
    rows = -(-len(axes) // columns)
    with apply_house_style():
        figure = Figure(figsize=(2.6 * columns + 0.6, 2.2 * rows + 0.5), layout="constrained")
        panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
        for panel, axis in zip(panels, axes, strict=False):
            _draw_marginal(panel, axis)
        for panel in panels[len(axes) :]:
            panel.set_visible(False)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9)
    return figure


def _draw_marginal(panel: Any, axis: PosteriorAxis) -> None:
    edges = np.linspace(0, 1, axis.bins + 1)
    panel.stairs(axis.masses * axis.bins, edges, fill=True, color=COLOURS[5], label="posterior")
    panel.axhline(1.0, color="#777777", linestyle="--", linewidth=1, label="prior")
    middles = (np.arange(len(axis.profile)) + 0.5) / len(axis.profile)
    likelihood = np.exp(np.maximum(axis.profile, -PROFILE_DEPTH))
    top = max(float(axis.masses.max()) * axis.bins, 1.0)
    # Readings have no order, so that nothing lies between two of them.
    style = "-" if axis.is_range else "o"
    panel.plot(
        middles,
        likelihood * top,
        style,
        color=COLOURS[1],
        linewidth=1.2,
        markersize=4,
        label="profile",
    )
    if axis.now is not None:
        panel.axvline(axis.now, color=COLOURS[6], linewidth=1, linestyle=":", label="study's value")
    panel.set_xlim(0, 1)
    panel.set_ylim(0, top * 1.08)
    panel.set_yticks([])
    panel.grid(visible=False)
    panel.set_title(escape_plot_text(axis.name), fontsize=9)
    _set_ticks(panel, axis, is_horizontal=True)


def _set_ticks(panel: Any, axis: PosteriorAxis, *, is_horizontal: bool) -> None:
    places = [place for place, _ in axis.ticks]
    texts = [escape_plot_text(text) for _, text in axis.ticks]
    if is_horizontal:
        is_long = sum(map(len, texts)) > 24
        style: Any = {"rotation": 40, "ha": "right"} if is_long else {}
        panel.set_xticks(places, texts, fontsize=7, **style)
    else:
        panel.set_yticks(places, texts, fontsize=7)


def draw_pairs(axes: Sequence[PosteriorAxis], weights: NDArray[np.float64]) -> Figure:
    """Draw the posterior of each pair of parameters, its own on the diagonal.

    axes: The first eight are drawn.
    weights: shape (n,): Of the samples.
    """
    from matplotlib.figure import Figure

    axes = axes[:MAX_PAIRS_DRAWN]
    count = len(axes)
    with apply_house_style():
        size = 1.5 * count + 1.2
        figure = Figure(figsize=(size, size), layout="constrained")
        panels: Any = figure.subplots(count, count, squeeze=False)
        for row, lower in enumerate(axes):
            for column, left in enumerate(axes):
                panel = panels[row][column]
                if column > row:
                    panel.set_visible(False)
                    continue
                panel.grid(visible=False)
                panel.set_xlim(0, 1)
                if row == column:
                    edges = np.linspace(0, 1, lower.bins + 1)
                    panel.stairs(lower.masses, edges, fill=True, color=COLOURS[5])
                    panel.set_yticks([])
                    panel.set_title(escape_plot_text(lower.name), fontsize=9)
                else:
                    _draw_pair(panel, left, lower, weights)
                    _set_ticks(panel, lower, is_horizontal=False)
                _set_ticks(panel, left, is_horizontal=True)
                if row < count - 1:
                    panel.set_xticklabels([])
                if column > 0:
                    panel.set_yticklabels([])
    return figure


def _draw_pair(
    panel: Any, left: PosteriorAxis, lower: PosteriorAxis, weights: NDArray[np.float64]
) -> None:
    density, x_edges, y_edges = np.histogram2d(
        left.shares,
        lower.shares,
        bins=(left.bins, lower.bins),
        range=((0, 1), (0, 1)),
        weights=weights,
    )
    panel.pcolormesh(x_edges, y_edges, density.T, cmap="Blues", rasterized=True)
    if left.now is not None and lower.now is not None:
        panel.plot(left.now, lower.now, "+", color=COLOURS[1], markersize=7)
    panel.set_ylim(0, 1)

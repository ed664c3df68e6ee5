"""Delay against time, as in the document's figures 2 to 5, from the first seed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from trunkline.plot.figure import COLOURS, style
from trunkline.studies.avallone2003.testbed import FLOWS, SCENARIOS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trunkline.studies.avallone2003.outcome import Outcome


def all_of(outcome: Outcome) -> dict[str, Figure]:
    """Every picture by the name of its file."""
    with style():
        return {f"delay-{each}": delay(outcome, each) for each in SCENARIOS}


def delay(outcome: Outcome, scenario: str) -> Figure:
    """Draw the one-way delay of each flow in steps of 0.1 s, and the published mean.

    Parameters
    ----------
    outcome : Outcome
        The study that was run.
    scenario : str
        One of the four.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True).flat
    series = outcome.stated.first[scenario].series
    for panel, flow, colour in zip(panels, FLOWS, COLOURS, strict=False):
        points = {
            measure: np.array(
                [
                    (row["time_s"], row["value"])
                    for row in series.rows()
                    if row["target"] == flow
                    and row["measure"] == measure
                    and row["value"] is not None
                    and not math.isnan(float(row["value"]))
                ],
                dtype=float,
            ).reshape(-1, 2)
            for measure in ("delay", "delay-max")
        }
        mean, greatest = points["delay"], points["delay-max"]
        panel.plot(greatest[:, 0], greatest[:, 1], color=colour, alpha=0.35, linewidth=0.8)
        panel.plot(mean[:, 0], mean[:, 1], color=colour, linewidth=1.2)
        said = outcome.published[scenario, "mean", flow]
        panel.axhline(said, color="#555555", linewidth=0.9, linestyle="--")
        panel.set_title(flow)
    figure.axes[0].set_ylim(bottom=0)  # shared by all
    for panel in figure.axes[2:]:
        panel.set_xlabel("time [s]")
    for panel in figure.axes[::2]:
        panel.set_ylabel("one-way delay [s]")
    figure.suptitle(
        f"{scenario}: mean and greatest delay in steps of 0.1 s; dashed: published mean",
        fontsize=11,
    )
    return figure

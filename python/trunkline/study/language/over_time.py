"""Samples over time, as a study file asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from trunkline.plot.figure import COLOURS
from trunkline.scenario.fields import PlainInteger, PositiveTime, Time
from trunkline.study.language.panels import add_legend, create_panels
from trunkline.study.language.part import StudyPart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trunkline.study.outcome.reproduction import Reproduction

FloatArray = NDArray[np.float64]
SampledCurve = tuple[FloatArray, FloatArray]  # Times [s] and values.


class OverTimePicture(StudyPart):
    """Samples over time: of the first run that a table keeps, or of columns that keep theirs.

    Parameters
    ----------
    kind : {"over-time"}
        Kind of picture.
    table : str
        A table whose case has ``keep``, or columns with ``time: all``.
    title : str
        Heading.
    measures : dict of str to str
        Measures of probes with the title of their axis; the first is drawn in full.
    factors : dict of str to float
        What the values of a measure are multiplied by.
    targets : dict of str to str
        Flows or links with their labels.
    columns : dict of str to str
        In place of measures and targets: columns with their labels; means over the seeds.
    y_label : str
        Name of the vertical axis, where it is not that of a measure.
    every : int
        Time between the samples of columns [ns].
    bins : int
        So many samples of columns make one point.
    panels : {"points", "targets"}
        What is side by side; the other is drawn as lines.
    shade : list of int
        A time to mark, e.g. of a failure [ns].
    published : str, optional
        Row whose published value is drawn as a line, in panels of targets.
    """

    kind: Literal["over-time"]
    table: str
    title: str = ""
    measures: dict[str, str] = {}
    factors: dict[str, float] = {}
    targets: dict[str, str] = {}
    columns: dict[str, str] = {}
    y_label: str = ""
    every: PositiveTime = 1_000_000_000
    bins: Annotated[int, PlainInteger("the number of samples of a point", 1, 2**31 - 1)] = 1
    panels: Literal["points", "targets"] = "points"
    shade: Annotated[list[Time], Field(min_length=2, max_length=2)] | None = None
    published: str | None = None

    def draw(self, reproduction: Reproduction) -> Figure:
        """Draw it."""
        table = reproduction.tables[self.table]
        points = {
            point: f"{reproduction.study.row_title} {point}".strip() for point in table.points
        }
        names = self.columns or self.targets
        measures = {"": self.y_label} if self.columns else self.measures
        curves = (
            self._build_column_curves(reproduction)
            if self.columns
            else self._build_probe_curves(reproduction)
        )
        by_point = self.panels == "points"
        across, lines = (points, names) if by_point else (names, points)
        stacked = by_point and len(measures) > 1
        figure, axes = create_panels(len(measures) if stacked else 1, len(across))
        for column, panel_key in enumerate(across):
            for row, (measure, label) in enumerate(measures.items()):
                for number, (line_key, line) in enumerate(lines.items()):
                    pair = (panel_key, line_key) if by_point else (line_key, panel_key)
                    faint = row > 0 and not stacked
                    axes[row if stacked else 0][column].plot(
                        *curves[*pair, measure],
                        color=COLOURS[(number if len(lines) > 1 else column) % len(COLOURS)],
                        linewidth=0.8 if faint else 1.1,
                        alpha=0.35 if faint else 1.0,
                        label=line if len(lines) > 1 else label,
                    )
            axes[0][column].set_title(across[panel_key])
            place = (self.table, self.published or "", panel_key)
            published = reproduction.published_values.get(place)
            if published is not None:
                axes[0][column].axhline(
                    published.value, color="#555555", linewidth=0.9, linestyle="--"
                )
        self._label_axes(axes, list(measures.values()))
        add_legend(figure, axes[0][0])
        figure.suptitle(self.title, fontsize=11)
        return figure

    def _label_axes(self, axes: Any, labels: list[str]) -> None:
        for panel in axes.flat:
            if self.shade is not None:
                panel.axvspan(self.shade[0] / 1e9, self.shade[1] / 1e9, color="#f2f2f2", zorder=0)
        for panel in axes[-1]:
            panel.set_xlabel("time [s]")
        for panel, label in zip(axes[:, 0], labels, strict=False):
            panel.set_ylabel(label)
            panel.set_ylim(bottom=0)  # shared by the row

    def _build_column_curves(
        self, reproduction: Reproduction
    ) -> dict[tuple[str, str, str], SampledCurve]:
        curves: dict[tuple[str, str, str], SampledCurve] = {}
        points = list(reproduction.tables[self.table].points)
        for column in self.columns:
            values = reproduction.measured.samples[self.table, column].mean(axis=1)
            width = values.shape[1] // self.bins * self.bins
            means = values[:, :width].reshape(len(points), -1, self.bins).mean(axis=2)
            times = self.every / 1e9 * self.bins * (np.arange(means.shape[1]) + 0.5)
            curves |= {(point, column, ""): (times, means[row]) for row, point in enumerate(points)}
        return curves

    def _build_probe_curves(
        self, reproduction: Reproduction
    ) -> dict[tuple[str, str, str], SampledCurve]:
        curves: dict[tuple[str, str, str], SampledCurve] = {}
        kept_runs = zip(
            reproduction.tables[self.table].points,
            reproduction.get_kept_runs(self.table),
            strict=True,
        )
        for point, results in kept_runs:
            found: dict[tuple[str, str], list[tuple[float, float]]] = {}
            for row in results.series.rows():
                value = row["value"]
                if value is not None:
                    key = str(row["target"]), str(row["measure"])
                    found.setdefault(key, []).append((float(row["time_s"] or 0), float(value)))
            for target in self.targets:
                for measure in self.measures:
                    samples = np.array(found.get((target, measure), [])).reshape(-1, 2)
                    factor = self.factors.get(measure, 1.0)
                    curves[point, target, measure] = samples[:, 0], factor * samples[:, 1]
        return curves

"""Pictures that a study file asks for, by kind, from tables, kept samples and kept runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from trunkline.plot.figure import COLOURS, MARKERS, apply_house_style, choose_colour
from trunkline.scenario.fields import Switch, Time
from trunkline.study.language.claims import get_difference_unit
from trunkline.study.language.over_time import OverTimePicture
from trunkline.study.language.panels import add_legend, create_panels
from trunkline.study.language.part import StudyPart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from trunkline.study.outcome.reproduction import Reproduction


class TimeSequencePicture(StudyPart):
    """Segments, losses and acknowledgements of TCP flows over time, a column for each point.

    Parameters
    ----------
    kind : {"time-sequence"}
        Kind of picture.
    table : str
        A table whose case keeps traced runs.
    flows : list of str
        A row of panels for each.
    after : int
        From here on [ns].
    mark : int, optional
        A time that is marked [ns].
    """

    kind: Literal["time-sequence"]
    table: str
    flows: Annotated[list[str], Field(min_length=1)]
    after: Time = 0
    mark: Time | None = None

    def draw(self, reproduction: Reproduction) -> Figure:
        """Draw it."""
        from trunkline.plot.sequence import draw_flow_sequence

        points = list(reproduction.tables[self.table].points)
        figure, axes = create_panels(len(self.flows), len(points), height=2.2)
        kept_runs = zip(points, reproduction.get_kept_runs(self.table), strict=True)
        for column, (point, results) in enumerate(kept_runs):
            for row, flow in enumerate(self.flows):
                panel = axes[row][column]
                draw_flow_sequence(panel, results, flow, since=self.after / 1e9)
                if self.mark is not None:
                    panel.axvline(self.mark / 1e9, color="#999999", linewidth=0.8)
                panel.set_title(f"{flow}, {reproduction.study.row_title} {point}")
        for panel in axes[:, 0]:
            panel.set_ylabel("sent [MB]")
        for panel in axes[-1]:
            panel.set_xlabel("time [s]")
        add_legend(figure, *axes.flat)
        return figure


class DistributionPicture(StudyPart):
    """Distribution of a column over the seeds, with a normal curve fitted to each row.

    Parameters
    ----------
    kind : {"distribution"}
        Kind of picture.
    tables : dict of str to str
        Tables with the titles of their panels, one below the other on one axis.
    column : str
        Which.
    rows : list of str
        Rows; all if left out.
    bin : float
        Width of the bins, in the unit of the column.
    """

    kind: Literal["distribution"]
    tables: Annotated[dict[str, str], Field(min_length=1)]
    column: str
    rows: list[str] = []
    bin: Annotated[float, Field(gt=0)]

    def draw(self, reproduction: Reproduction) -> Figure:
        """Draw it."""
        study = reproduction.study
        all_rows = [list(reproduction.tables[name].rows) for name in self.tables]
        rows = self.rows or all_rows[0]
        unit = study.get_unit(reproduction.tables[next(iter(self.tables))], rows[0], self.column)
        values = [
            reproduction.measured.columns[name, self.column][[names.index(row) for row in rows]]
            for name, names in zip(self.tables, all_rows, strict=True)
        ]
        # Each table may have its own number of runs.
        all_values = np.concatenate([each.ravel() for each in values])
        start = np.floor(all_values.min() / self.bin) * self.bin
        edges = np.arange(start, all_values.max() + self.bin, self.bin)
        figure, axes = create_panels(len(self.tables), 1, sharey="all")
        for panel, title, table_values in zip(
            axes[:, 0], self.tables.values(), values, strict=True
        ):
            for number, (row, row_values) in enumerate(zip(rows, table_values, strict=True)):
                label = f"{row}: mean {row_values.mean():.4g} {unit}"
                self._draw_row(panel, number, label, row_values, edges)
            if len(self.tables) > 1:
                panel.set_title(title)
            panel.set_ylabel(
                f"share of the seeds [%],\nbins of {self.bin:g} {get_difference_unit(unit)}"
            )
            panel.set_ylim(bottom=0)
            panel.legend(title=f"{study.row_title} (curve: normal fit)".strip(), fontsize=8)
        axes[-1][0].set_xlabel(f"{self.column} [{unit}]")
        return figure

    def _draw_row(
        self,
        panel: Axes,
        number: int,
        label: str,
        values: NDArray[np.float64],
        edges: NDArray[np.float64],
    ) -> None:
        share = 100 * np.histogram(values, edges)[0] / len(values)
        line_style: Mapping[str, Any] = {"color": COLOURS[number % len(COLOURS)]}
        middles = (edges[:-1] + edges[1:]) / 2
        panel.plot(middles, share, MARKERS[number % len(MARKERS)], markersize=3.5, **line_style)
        mean, spread = values.mean(), values.std(ddof=1) if len(values) > 1 else 0.0
        if spread > 0:
            fine = np.linspace(edges[0], edges[-1], 400)
            curve = np.exp(-(((fine - mean) / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))
            panel.plot(fine, 100 * self.bin * curve, linewidth=1.3, label=label, **line_style)


class LinesPicture(StudyPart):
    """A column of several tables against their rows, with intervals; a panel for each column.

    Parameters
    ----------
    kind : {"lines"}
        Kind of picture.
    columns : list of str
        Panels.
    tables : dict of str to str
        Tables with the labels of their lines.
    rows : list of str
        Rows, as marks side by side; if left out all, as lines over the rows' numbers.
    bars : bool
        Whether rows are drawn as bars, in place of marks.
    published : bool
        Whether the published values of the first table are drawn.
    mark : float, optional
        A place on the horizontal axis that is marked.
    y_label : str
        Name of the vertical axis, where it is not that of the column.
    """

    kind: Literal["lines"]
    columns: Annotated[list[str], Field(min_length=1)]
    tables: Annotated[dict[str, str], Field(min_length=1)]
    rows: list[str] = []
    bars: Switch = False
    published: Switch = False
    mark: float | None = None
    y_label: str = ""

    def draw(self, reproduction: Reproduction) -> Figure:
        """Draw it."""
        study = reproduction.study
        first = reproduction.tables[next(iter(self.tables))]
        rows = self.rows or list(first.rows)
        numbers, unit = study.get_row_parameters(first)
        figure, axes = create_panels(1, len(self.columns), sharey="all")
        cells = {(c.table, c.row, c.column): c for c in reproduction.cells}
        for panel, column in zip(axes[0], self.columns, strict=True):
            published = [cells[first.name, row, column].published for row in rows]
            if self.published:
                places = [n for n, value in enumerate(published) if value is not None]
                panel.hlines(
                    [published[n] for n in places],
                    [n - 0.4 for n in places],
                    [n + 0.4 for n in places],
                    color="#999999",
                    linewidth=2,
                    label="published",
                )
            for number, (table, label) in enumerate(self.tables.items()):
                intervals = [cells[table, row, column].ours for row in rows]
                means = np.array([each.mean for each in intervals])
                half_widths = np.array([each.half_width or 0.0 for each in intervals])
                line_style: Mapping[str, Any] = {"color": choose_colour(number)}
                # Where signs begin again, they are others than those of the first colours.
                mark = MARKERS[(number + number // len(MARKERS)) % len(MARKERS)]
                if self.rows and self.bars:
                    width = 0.8 / len(self.tables)
                    positions = np.arange(len(rows)) + width * (number - (len(self.tables) - 1) / 2)
                    ends: Mapping[str, Any] = {"yerr": half_widths, "capsize": 3}
                    panel.bar(
                        positions, means, 0.9 * width, alpha=0.65, label=label, **ends, **line_style
                    )
                elif self.rows:
                    step = min(0.1, 0.8 / len(self.tables))
                    positions = np.arange(len(rows)) + step * (number - (len(self.tables) - 1) / 2)
                    panel.errorbar(
                        positions,
                        means,
                        half_widths,
                        fmt=mark,
                        capsize=2,
                        label=label,
                        **line_style,
                    )
                else:
                    panel.plot(numbers, means, f"{mark}-", markersize=3, **line_style)
                    low, high = means - half_widths, means + half_widths
                    panel.fill_between(numbers, low, high, alpha=0.2, label=label, **line_style)
            panel.axhline(0, color="#555555", linewidth=0.8)
            if self.mark is not None:
                panel.axvline(self.mark, color="#999999", linewidth=0.8, linestyle=":")
            if self.rows:
                panel.set_xticks(range(len(rows)), rows)
            if len(self.columns) > 1:
                panel.set_title(column)
            panel.set_xlabel(study.row_title + (f" [{unit}]" if unit and not self.rows else ""))
        unit_of_rows = study.get_unit(first, rows[0], self.columns[0])
        axes[0][0].set_ylabel(f"{self.y_label or self.columns[0]} [{unit_of_rows}]")
        add_legend(figure, axes[0][0])
        return figure


class RedCurvesPicture(StudyPart):
    """Drop curves of the scenarios of tables: probability against the average queue.

    Parameters
    ----------
    kind : {"red-curves"}
        Kind of picture.
    tables : dict of str to str
        Tables with the titles of their panels; their first rows are drawn.
    """

    kind: Literal["red-curves"]
    tables: Annotated[dict[str, str], Field(min_length=1)]

    def draw(self, reproduction: Reproduction) -> Figure:
        """Draw it."""
        from trunkline import network as networks
        from trunkline.plot.red_curves import draw_curves, iterate_drop_curves
        from trunkline.study.language.point_scenarios import load_point_scenario

        figure, axes = create_panels(1, len(self.tables))
        end = 0.0
        for axes_panel, (name, title) in zip(axes[0], self.tables.items(), strict=True):
            table = reproduction.tables[name]
            scenario = load_point_scenario(
                reproduction.study, table, next(iter(table.points.values()))
            )
            found = iterate_drop_curves(json.loads(networks.compile(scenario).to_json()))
            draw_curves(axes_panel, [(curve.name, curve) for curve in found])
            axes_panel.set_title(title)
            end = max(end, axes_panel.get_xlim()[1])
        # Panels share their axis, and each one drawn sets it to its own end.
        axes[0][0].set_xlim(0, end)
        add_legend(figure, axes[0][0])
        return figure


class TablePicture(StudyPart):
    """A table, drawn where a study asks for no pictures: our values and the published ones.

    Parameters
    ----------
    kind : {"table"}
        Kind of picture.
    table : str
        Which.
    """

    kind: Literal["table"]
    table: str

    def draw(self, reproduction: Reproduction) -> Figure:
        """Draw it."""
        from trunkline.study.outcome.reproduction_files import draw_table

        return draw_table(reproduction, self.table)


Picture = Annotated[
    OverTimePicture
    | TimeSequencePicture
    | DistributionPicture
    | LinesPicture
    | RedCurvesPicture
    | TablePicture,
    Field(discriminator="kind"),
]


def draw_pictures(reproduction: Reproduction) -> dict[str, Figure]:
    """Draw every picture that the study asks for, by name."""
    with apply_house_style():
        return {
            name: each.draw(reproduction)
            for name, each in (reproduction.study.pictures or {}).items()
        }

"""A value of a study against one of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trunkline.plot.figure import COLOURS, MARKERS, apply_house_style
from trunkline.scenario.expression import parse_scalar
from trunkline.study.errors import StudyError
from trunkline.study.outcome.study_tables import iterate_point_results
from trunkline.study.run.data_set import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MAX_UNTURNED_LETTERS = 60
"""Letters of the names under the axis together; with more letters the names are turned."""


def draw_parameter_plot(
    runs: Runs, *, value: str | None = None, x_parameter: str | None = None
) -> Figure:
    """Draw a value against a parameter, a line for each combination of the others.

    value: Value to draw; the first if left out.
    x_parameter: Parameter on the axis; the last that varies if left out.
    Returns: Means with 95 % intervals.
    Raises StudyError: There is no such value or parameter.
    """
    from matplotlib.figure import Figure

    varying = [label for label in runs.labels if runs.table[label].n_unique() > 1]
    axis = x_parameter or (varying or runs.labels or [""])[-1]
    if axis and axis not in runs.labels:
        raise StudyError(f"there is no parameter {axis!r}; parameters: {', '.join(runs.labels)}")
    point_results = list(iterate_point_results(runs, [value] if value else ()))
    name = value or next((key for _, _, intervals in point_results for key in intervals), None)
    if name is None:
        raise StudyError("the study has no value to draw")
    lines: dict[str, list[tuple[str, Any]]] = {}
    for labels, _, intervals in point_results:
        if intervals.get(name) is not None:
            others = [
                f"{k} {v}" for k, v in labels.items() if k != axis and k in (*varying, "part")
            ]
            lines.setdefault(", ".join(others), []).append((labels.get(axis, ""), intervals[name]))
    names = list(dict.fromkeys(axis_text for line in lines.values() for axis_text, _ in line))
    numbers = {axis_text: _parse_number(axis_text) for axis_text in names}
    numeric = all(number is not None for number in numbers.values())
    with apply_house_style():
        figure = Figure(figsize=(7.5, 4.4), layout="constrained")
        panel = figure.subplots()
        for index, (label, line) in enumerate(lines.items()):
            x_values = [
                float(numbers[axis_text] or 0.0 if numeric else names.index(axis_text))
                for axis_text, _ in line
            ]
            means = [each.mean for _, each in line]
            below = [0.0 if each.low is None else each.mean - each.low for _, each in line]
            above = [0.0 if each.high is None else each.high - each.mean for _, each in line]
            colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
            # Names have no order: no line leads from one to the next.
            line_join: Any = {} if numeric else {"linestyle": "none"}
            error_bars = [below, above]
            line_style: Any = {
                "color": colour,
                "marker": marker,
                "capsize": 2,
                "label": label,
                **line_join,
            }
            panel.errorbar(x_values, means, yerr=error_bars, **line_style)
        if not numeric:
            is_slanted = len(names) > 6 or sum(map(len, names)) > MAX_UNTURNED_LETTERS
            label_style: Any = {"rotation": 45, "ha": "right"} if is_slanted else {}
            panel.set_xticks(range(len(names)), names, **label_style)
        panel.set_xlabel(f"{axis} [base unit]" if numeric and axis else axis)
        unit = runs.units.get(name, "1")
        panel.set_ylabel(name if unit == "1" else f"{name} [{unit}]")
        panel.set_title(str(runs.manifest["title"]))
        if len(lines) > 1:
            figure.legend(loc="outside right upper", fontsize=8)
    return figure


def _parse_number(text: str) -> float | None:
    found = parse_scalar(text)
    return None if found is None else float(found.value)

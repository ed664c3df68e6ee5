"""A value of a study against one of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trunkline.plot.figure import COLOURS, MARKERS, style
from trunkline.scenario.expression import quantity
from trunkline.study.errors import Refused
from trunkline.study.outcome.show import points
from trunkline.study.run.frames import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_LETTERS = 60
"""Of the names beside each other under the axis; with more they are turned."""


def picture(runs: Runs, *, value: str | None = None, against: str | None = None) -> Figure:
    """Draw a value against a parameter, a line for each combination of the others.

    Parameters
    ----------
    value : str, optional
        What to draw; the first value if left out.
    against : str, optional
        Parameter on the axis; the last that varies if left out.

    Returns
    -------
    matplotlib.figure.Figure
        Means with 95 % intervals.

    Raises
    ------
    Refused
        There is no such value or parameter.
    """
    from matplotlib.figure import Figure

    varying = [label for label in runs.labels if runs.table[label].n_unique() > 1]
    axis = against or (varying or runs.labels or [""])[-1]
    if axis and axis not in runs.labels:
        raise Refused(f"there is no parameter {axis!r}; parameters: {', '.join(runs.labels)}")
    found = list(points(runs, [value] if value else ()))
    name = value or next((key for _, _, its in found for key in its), None)
    if name is None:
        raise Refused("the study has no value to draw")
    lines: dict[str, list[tuple[str, Any]]] = {}
    for labels, _, its in found:
        if its.get(name) is not None:
            others = [
                f"{k} {v}" for k, v in labels.items() if k != axis and k in (*varying, "part")
            ]
            lines.setdefault(", ".join(others), []).append((labels.get(axis, ""), its[name]))
    names = list(dict.fromkeys(at for line in lines.values() for at, _ in line))
    numbers = {at: _number(at) for at in names}
    numeric = all(number is not None for number in numbers.values())
    with style():
        figure = Figure(figsize=(7.5, 4.4), layout="constrained")
        panel = figure.subplots()
        for index, (label, line) in enumerate(lines.items()):
            xs = [float(numbers[at] or 0.0 if numeric else names.index(at)) for at, _ in line]
            means = [each.mean for _, each in line]
            below = [0.0 if each.low is None else each.mean - each.low for _, each in line]
            above = [0.0 if each.high is None else each.high - each.mean for _, each in line]
            colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
            # Names have no order: no line leads from one to the next.
            join: Any = {} if numeric else {"linestyle": "none"}
            ends = [below, above]
            how: Any = {"color": colour, "marker": marker, "capsize": 2, "label": label, **join}
            panel.errorbar(xs, means, yerr=ends, **how)
        if not numeric:
            slant = len(names) > 6 or sum(map(len, names)) > MOST_LETTERS
            turned: Any = {"rotation": 45, "ha": "right"} if slant else {}
            panel.set_xticks(range(len(names)), names, **turned)
        panel.set_xlabel(f"{axis} [base unit]" if numeric and axis else axis)
        unit = runs.units.get(name, "1")
        panel.set_ylabel(name if unit == "1" else f"{name} [{unit}]")
        panel.set_title(str(runs.manifest["title"]))
        if len(lines) > 1:
            figure.legend(loc="outside right upper", fontsize=8)
    return figure


def _number(text: str) -> float | None:
    found = quantity(text)
    return None if found is None else float(found.value)

"""Drop curves of the RED family: probability of an early signal against the average queue.

Source: Floyd and Jacobson 1993, section 4, p_b of their figure 2; "gentle" as Floyd 2000; tc's age
``plog`` as iproute2 rounds the probability, (max - min) / 2^Plog.
Differs: drawn is the probability before the signals are spread, which ``spacing`` does.
Absent: what ``adaptive`` makes of max_p; the curve is that of the start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.plot.canvas import (
    LINE_STYLES,
    add_legend,
    choose_line_style,
    create_canvas,
    escape_plot_text,
)
from trunkline.plot.figure import apply_house_style
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource, name_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AqmParameters = Mapping[str, Any]  # An AQM as the engine reads it.


@dataclass(frozen=True, slots=True)
class DropCurve:
    """One drop curve."""

    name: str  # Port, class and drop precedence, as far as there are several.
    port: str
    unit: str  # ``packets`` or ``kB``: the unit of the average.
    # Average and probability where the curve bends or jumps, in order.
    corners: Sequence[tuple[float, float]]


def red_curves(sources: Sequence[PlotSource], choice: PlotChoice) -> Figure:
    """Draw the drop curves of every port that has a RED.

    sources: Results or scenarios; curves that are alike are drawn for each.
    choice: ``only`` names ports; a heading.
    Raises MissingData: No port has a RED, or ports count in different units.
    """
    found = [(source, curve) for source in sources for curve in iterate_drop_curves(source.network)]
    if not found:
        msg = "no port has an aqm of the RED family: red, wred, rio-c, rio-d, red-linux or gred"
        raise MissingData(msg)
    choice.check_names(list(dict.fromkeys(curve.port for _, curve in found)))
    drawn = [(source, curve) for source, curve in found if choice.is_chosen(curve.port)]
    units = list(dict.fromkeys(curve.unit for _, curve in drawn))
    if len(units) > 1:
        raise MissingData("some ports count packets, others bytes; choose with --only PORT")
    with apply_house_style():
        figure, axes = create_canvas(choice.title or "Drop curves", "", "")
        draw_curves(
            axes, [(name_line(source, curve.name, sources), curve) for source, curve in drawn]
        )
        add_legend(axes)
    return figure


def draw_curves(axes: Any, named_curves: Sequence[tuple[str, DropCurve]]) -> None:
    """Draw curves into axes. named_curves: Curves of one unit, with their names."""
    end = 1.1 * max(curve.corners[-1][0] for _, curve in named_curves)
    for number, (name, curve) in enumerate(named_curves):
        points = [(0.0, 0.0), *curve.corners, (end, 1.0)]
        # Curves may lie on each other: dashes show those below.
        drawing = choose_line_style(number) | {"linestyle": LINE_STYLES[number % len(LINE_STYLES)]}
        axes.plot(
            *zip(*points, strict=True), label=escape_plot_text(name), linewidth=1.6, **drawing
        )
    # From below 1 % to 1 in one picture: linear to 1 %, then by decades.
    axes.set_yscale("symlog", linthresh=0.01)
    axes.set_yticks([0, 0.01, 0.1, 1], labels=["0", "1 %", "10 %", "100 %"])
    axes.set_ylim(0, 1.1)
    axes.set_xlim(0, end)
    axes.set_xlabel(f"average queue [{named_curves[0][1].unit}]")
    axes.set_ylabel("probability of a drop or mark")


def iterate_drop_curves(network: Mapping[str, Any]) -> Iterator[DropCurve]:
    """Drop curves of a compiled network.

    network: The network as the engine reads it; empty if it was not kept.
    Yields: In the order of ports, classes and precedences.
    """
    for port in network.get("ports", ()):
        for port_class in port["classes"]:
            aqm = port_class["queue"]["aqm"]
            name = (
                port["name"]
                if len(port["classes"]) == 1
                else f"{port['name']} {port_class['name']}"
            )
            found = list(_iterate_aqm_curves(aqm))
            for precedence, (unit, corners) in found:
                tail = f" precedence {precedence}" if len(found) > 1 else ""
                yield DropCurve(name + tail, port["name"], unit, corners)


def _iterate_aqm_curves(
    aqm: AqmParameters,
) -> Iterator[tuple[int, tuple[str, list[tuple[float, float]]]]]:
    """Precedence, unit and corners of an AQM's curves; none if it has no curve."""
    match aqm["kind"]:
        case "red":
            scale = 1e-3 if aqm["unit"] == "bytes" else 1.0
            yield (
                0,
                (
                    "kB" if scale < 1 else "packets",
                    _compute_red_corners(aqm, scale, gentle=aqm["gentle"]),
                ),
            )
        case "wred" | "rio-c" | "rio-d":
            for precedence, parameters in enumerate(aqm["precedences"]):
                yield (
                    precedence,
                    ("packets", _compute_red_corners(parameters, 1.0, gentle=aqm["gentle"])),
                )
        case "red-linux":
            yield 0, ("kB", _compute_linux_corners(aqm["parameters"], aqm["age"]))
        case "gred":
            for parameters in aqm["dps"]:
                yield (
                    parameters["dp"],
                    ("kB", _compute_linux_corners(parameters["parameters"], aqm["age"])),
                )


def _compute_red_corners(
    parameters: AqmParameters, scale: float, *, gentle: bool
) -> list[tuple[float, float]]:
    low, high = scale * parameters["min_th"], scale * parameters["max_th"]
    return [(low, 0.0), (high, parameters["max_p"]), (2 * high if gentle else high, 1.0)]


def _compute_linux_corners(parameters: AqmParameters, age: str) -> list[tuple[float, float]]:
    low = parameters["min_bytes"]
    high = parameters["max_bytes"]
    probability = parameters["probability"]
    if age == "plog":
        # The smallest Plog with probability / (max - min) * 2^Plog > 1.
        scaled, log = probability / (high - low), 0
        while scaled <= 1:
            scaled, log = 2 * scaled, log + 1
        probability = (high - low) / 2**log
    return [(low / 1e3, 0.0), (high / 1e3, probability), (high / 1e3, 1.0)]

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

from trunkline.plot.canvas import DASHES, canvas, legend, look, plain
from trunkline.plot.figure import style
from trunkline.plot.sources import Choice, Lacking, Source, named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Aqm = Mapping[str, Any]
"""An AQM as the engine reads it."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One drop curve.

    Parameters
    ----------
    name : str
        Port, class and drop precedence, as far as there are several.
    unit : str
        ``packets`` or ``kB``: what the average is counted in.
    corners : sequence of (float, float)
        Average and probability where the curve bends or jumps, in order.
    """

    name: str
    port: str
    unit: str
    corners: Sequence[tuple[float, float]]


def red_curves(sources: Sequence[Source], choice: Choice) -> Figure:
    """Draw the drop curves of every port that has a RED.

    Parameters
    ----------
    sources : sequence of Source
        Results or scenarios; curves that are alike are drawn for each.
    choice : Choice
        ``only`` names ports; a heading.

    Raises
    ------
    Lacking
        No port has a RED, or ports count in different units.
    """
    found = [(source, curve) for source in sources for curve in curves(source.network)]
    if not found:
        msg = "no port has an aqm of the RED family: red, wred, rio-c, rio-d, red-linux or gred"
        raise Lacking(msg)
    choice.checked(list(dict.fromkeys(curve.port for _, curve in found)))
    drawn = [(source, curve) for source, curve in found if choice.wants(curve.port)]
    units = list(dict.fromkeys(curve.unit for _, curve in drawn))
    if len(units) > 1:
        msg = "some ports count packets, others bytes; choose with --only PORT"
        raise Lacking(msg)
    with style():
        figure, axes = canvas(choice.title or "Drop curves", "", "")
        panel(axes, [(named(source, curve.name, sources), curve) for source, curve in drawn])
        legend(axes)
    return figure


def panel(axes: Any, drawn: Sequence[tuple[str, Curve]]) -> None:
    """Draw curves into axes.

    Parameters
    ----------
    drawn : sequence of (str, Curve)
        Curves of one unit, with what they are called.
    """
    end = 1.1 * max(curve.corners[-1][0] for _, curve in drawn)
    for number, (name, curve) in enumerate(drawn):
        points = [(0.0, 0.0), *curve.corners, (end, 1.0)]
        # Curves may lie on each other: dashes show what is below.
        drawing = look(number) | {"linestyle": DASHES[number % len(DASHES)]}
        axes.plot(*zip(*points, strict=True), label=plain(name), linewidth=1.6, **drawing)
    # From below 1 % to 1 in one picture: linear to 1 %, then by decades.
    axes.set_yscale("symlog", linthresh=0.01)
    axes.set_yticks([0, 0.01, 0.1, 1], labels=["0", "1 %", "10 %", "100 %"])
    axes.set_ylim(0, 1.1)
    axes.set_xlim(0, end)
    axes.set_xlabel(f"average queue [{drawn[0][1].unit}]")
    axes.set_ylabel("probability of a drop or mark")


def curves(network: Mapping[str, Any]) -> Iterator[Curve]:
    """Drop curves of a compiled network.

    Parameters
    ----------
    network : mapping
        The network as the engine reads it; empty if it was not kept.

    Yields
    ------
    Curve
        In the order of ports, classes and precedences.
    """
    for port in network.get("ports", ()):
        for its in port["classes"]:
            aqm = its["queue"]["aqm"]
            name = port["name"] if len(port["classes"]) == 1 else f"{port['name']} {its['name']}"
            found = list(_of(aqm))
            for precedence, (unit, corners) in found:
                tail = f" precedence {precedence}" if len(found) > 1 else ""
                yield Curve(name + tail, port["name"], unit, corners)


def _of(aqm: Aqm) -> Iterator[tuple[int, tuple[str, list[tuple[float, float]]]]]:
    """Precedence, unit and corners of an AQM's curves; none if it has no curve."""
    match aqm["kind"]:
        case "red":
            scale = 1e-3 if aqm["unit"] == "bytes" else 1.0
            yield 0, ("kB" if scale < 1 else "packets", _corners(aqm, scale, gentle=aqm["gentle"]))
        case "wred" | "rio-c" | "rio-d":
            for precedence, its in enumerate(aqm["precedences"]):
                yield precedence, ("packets", _corners(its, 1.0, gentle=aqm["gentle"]))
        case "red-linux":
            yield 0, ("kB", _linux(aqm["parameters"], aqm["age"]))
        case "gred":
            for its in aqm["dps"]:
                yield its["dp"], ("kB", _linux(its["parameters"], aqm["age"]))


def _corners(its: Aqm, scale: float, *, gentle: bool) -> list[tuple[float, float]]:
    low, high = scale * its["min_th"], scale * its["max_th"]
    return [(low, 0.0), (high, its["max_p"]), (2 * high if gentle else high, 1.0)]


def _linux(its: Aqm, age: str) -> list[tuple[float, float]]:
    low, high, probability = its["min_bytes"], its["max_bytes"], its["probability"]
    if age == "plog":
        # The smallest Plog with probability / (max - min) * 2^Plog > 1.
        scaled, log = probability / (high - low), 0
        while scaled <= 1:
            scaled, log = 2 * scaled, log + 1
        probability = (high - low) / 2**log
    return [(low / 1e3, 0.0), (high / 1e3, probability), (high / 1e3, 1.0)]

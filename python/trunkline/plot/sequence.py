"""The time-sequence graph: segments that a TCP sender sent, acknowledgements, and losses.

Source: its form follows S. Ostermann's tcptrace: bytes over time at the sender.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trunkline.plot.canvas import add_legend, create_canvas, escape_plot_text
from trunkline.plot.figure import COLOURS, apply_house_style
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource, name_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from trunkline.results import Results

    Points = tuple[NDArray[Any], NDArray[Any]]
    """Times [s] and bytes [MB]."""

MB_PER_BYTE = 1e-6


def time_sequence(sources: Sequence[PlotSource], choice: PlotChoice) -> Figure:
    """Draw segments, retransmissions, acknowledgements and losses of TCP flows.

    sources: Traced results; the first run of each is drawn.
    choice: Flows; the first TCP flow if none is named.
    Raises MissingData: A run has no trace, or no TCP flow.
    """
    with apply_house_style():
        drawn = [(source, flow) for source in sources for flow in _choose_flows(source, choice)]
        title = "Time-sequence graph" + (f" of {drawn[0][1]}" if len(drawn) == 1 else "")
        figure, axes = create_canvas(choice.title or title, "time [s]", "sequence number [MB]")
        several = len(sources) > 1 or len(choice.only) > 1
        for number, (source, flow) in enumerate(drawn):
            points = _collect_points(source.runs[0], flow, choice.since, choice.until)
            name = escape_plot_text(name_line(source, flow, sources)) if several else ""
            _draw_points(axes, points, COLOURS[number % len(COLOURS)], name)
        add_legend(axes)
    return figure


def _choose_flows(source: PlotSource, choice: PlotChoice) -> list[str]:
    run = source.runs[0]
    if len(run.packets) == 0:
        raise MissingData(
            f"{source.label} has no packet trace; add to the scenario\n  run: {{trace: on}}\n"
            "or run it with --set run.trace=on"
        )
    pairs = zip(run.flows["flow"], run.flows["protocol"], strict=True)
    known = [str(flow) for flow, protocol in pairs if protocol == "tcp"]
    if not known:
        raise MissingData(f"{source.label} has no TCP flow")
    choice.check_names(known)
    return [flow for flow in known if flow in choice.only] or known[:1]


def draw_flow_sequence(axes: Any, run: Results, flow: str, *, since: float = 0.0) -> None:
    """Draw one flow of a traced run into axes. since: From here on [s]."""
    _draw_points(axes, _collect_points(run, flow, since, math.inf), COLOURS[0], "")


def _collect_points(run: Results, flow: str, since: float, until: float) -> dict[str, Points]:
    import polars as pl

    columns = ("flow", "event", "direction", "time_s", "seq_bytes", "ack_bytes", "retransmission")
    packets = run.packets.to_polars(*columns).filter(
        pl.col("flow") == flow, pl.col("time_s").is_between(since, until)
    )
    data = packets.filter(pl.col("direction") == "forward")
    acks = packets.filter(pl.col("direction") != "forward")
    sent = data.filter(pl.col("event") == "sent")
    found = {
        "sent": (sent.filter(pl.col("retransmission") == 0), "seq_bytes"),
        "again": (sent.filter(pl.col("retransmission") != 0), "seq_bytes"),
        "lost": (data.filter(pl.col("event") == "dropped"), "seq_bytes"),
        "acknowledged": (acks.filter(pl.col("event") == "delivered"), "ack_bytes"),
        "ack lost": (acks.filter(pl.col("event") == "dropped"), "ack_bytes"),
    }
    return {
        kind: (rows["time_s"].to_numpy(), rows[value].to_numpy() * MB_PER_BYTE)
        for kind, (rows, value) in found.items()
    }


def _draw_points(axes: Any, points: dict[str, Points], colour: str, name: str) -> None:
    label_prefix = f"{name}: " if name else ""
    times_s, value = points["acknowledged"]
    axes.plot(
        times_s,
        value,
        color=colour,
        linewidth=1.0,
        drawstyle="steps-post",
        label=f"{label_prefix}acknowledged",
        zorder=2,
    )
    marks = (
        ("sent", "sent", {"marker": ".", "markersize": 2.5, "color": colour, "alpha": 0.55}),
        ("again", "sent again", {"marker": "D", "markersize": 4, "color": colour}),
        ("lost", "lost", {"marker": "x", "markersize": 5, "color": "#000000"}),
        ("ack lost", "acknowledgement lost", {"marker": "1", "markersize": 6, "color": "#D55E00"}),
    )
    for kind, label, marker_style in marks:
        times_s, value = points[kind]
        if len(times_s):
            axes.plot(
                times_s,
                value,
                linestyle="none",
                label=f"{label_prefix}{label}",
                zorder=3,
                **marker_style,
            )

"""The pictures of the slides, from our runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline.plot.figure import COLOURS, MARKERS, style
from trunkline.stats import mean_interval
from trunkline.studies.develder2003 import experiments
from trunkline.studies.develder2003.experiments import DELAYS_A, DELAYS_B, GROUPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trunkline.results import Results
    from trunkline.studies.develder2003.outcome import Outcome

LINKS = {"A->4": "access of the switched", "C->8": "access of the fixed", "8->9": "backbone"}
STEP_S = 0.1


def all_of(outcome: Outcome) -> dict[str, Figure]:
    """Every picture by the name of its file."""
    with style():
        return {
            "a-bandwidth-and-queues": bandwidth_and_queues(outcome),
            "a-goodput": goodput(outcome),
            "a-time-sequence": time_sequence(outcome),
            "b-distribution": distribution(outcome),
            "b-variants": variants(outcome),
            "then-and-today": then_and_today(outcome),
        }


def _figure(rows: int, columns: int, size: tuple[float, float], **more: Any) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **more)
    return figure, axes


def bandwidth_and_queues(outcome: Outcome) -> Figure:
    """Draw utilisation and queue of access and backbone links for each delay, first seed."""
    figure, axes = _figure(2, 3, (11, 5.2), sharex=True, sharey="row")
    for column, delay in enumerate(DELAYS_A):
        for row, measure in enumerate(("utilisation", "queue-packets")):
            panel = axes[row][column]
            for number, (link, name) in enumerate(LINKS.items()):
                values = outcome.a.links[delay, measure, link]
                if measure == "utilisation":
                    values = 100 * values
                at = STEP_S * np.arange(1, len(values) + 1)
                panel.plot(at, values, color=COLOURS[number], linewidth=0.9, label=name)
            _mark_outage(panel)
        axes[0][column].set_title(f"switch after {delay}")
        axes[1][column].set_xlabel("time [s]")
    axes[0][0].set_ylabel("bandwidth [% of the link]")
    axes[1][0].set_ylabel("queue [packets]")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return figure


def _mark_outage(panel: Axes) -> None:
    panel.axvspan(10, 20, color="#f2f2f2", zorder=0)
    panel.set_xlim(0, 30)


def goodput(outcome: Outcome) -> Figure:
    """Draw the goodput of switched, fixed and all flows over time, mean over the seeds."""
    figure, axes = _figure(1, 3, (11, 3.4), sharex=True)
    a = outcome.a
    for number, delay in enumerate(DELAYS_A):
        curves = [a.goodput[delay, group].mean(axis=0) for group in GROUPS]
        curves.append(curves[0] + curves[1])
        for panel, values in zip(axes[0], curves, strict=True):
            half = values[: len(values) // 5 * 5].reshape(-1, 5).mean(axis=1) / 1e6
            at = 5 * STEP_S * (np.arange(len(half)) + 0.5)
            panel.plot(at, half, color=COLOURS[number], linewidth=1.2, label=delay)
    for panel, title in zip(axes[0], ("switched flows", "fixed flows", "all flows"), strict=True):
        panel.set_title(title)
        panel.set_xlabel("time [s]")
        panel.set_ylim(bottom=0)
        _mark_outage(panel)
    axes[0][0].set_ylabel("goodput [Mbit/s]")
    axes[0][2].legend(title="switch after", fontsize=8, loc="lower right")
    return figure


def time_sequence(outcome: Outcome) -> Figure:
    """Draw packets and acknowledgements of two switched and two fixed flows round the failure."""
    flows = ("switched[0]", "switched[1]", "fixed[0]", "fixed[1]")
    traces = outcome.a.traces
    figure, axes = _figure(len(flows), len(traces), (11, 9), sharex=True)
    for column, (delay, results) in enumerate(traces.items()):
        points = _points(results)
        for row, flow in enumerate(flows):
            _sequence(axes[row][column], points[flow])
            axes[row][column].axvline(experiments.FAILED_A_S, color="#999999", linewidth=0.8)
            axes[row][column].set_title(f"{flow}, switch after {delay}")
    for panel in axes[:, 0]:
        panel.set_ylabel("segment")
    for panel in axes[-1]:
        panel.set_xlabel("time [s]")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
    return figure


Points = dict[str, list[tuple[float, int]]]
KINDS = (
    ("packet sent", ".", 0),
    ("sent again", "s", 4),
    ("packet dropped", "x", 1),
    ("ack received", "+", 2),
    ("ack dropped", "1", 3),
)


def _points(results: Results) -> dict[str, Points]:
    """Time [s] and number of what happened to each flow's segments and acknowledgements."""
    table = results.packets
    columns = ("time_s", "event", "flow", "direction", "seq", "ack", "retransmission")
    found: dict[str, Points] = {}
    for at, event, flow, direction, seq, ack, again in zip(
        *(table[name] for name in columns), strict=True
    ):
        if float(at or 0) < experiments.FAILED_A_S - 0.2:
            continue
        kind = {
            ("sent", "forward"): "sent again" if again else "packet sent",
            ("dropped", "forward"): "packet dropped",
            ("delivered", "reverse"): "ack received",
            ("dropped", "reverse"): "ack dropped",
        }.get((str(event), str(direction)))
        if kind is not None:
            number = ack if direction == "reverse" else seq
            place = found.setdefault(str(flow), {name: [] for name, _, _ in KINDS})
            place[kind].append((float(at or 0), int(number or 0)))
    return found


def _sequence(panel: Axes, points: Points) -> None:
    for name, marker, colour in KINDS:
        at = [time for time, _ in points[name]]
        numbers = [number for _, number in points[name]]
        panel.plot(at, numbers, marker, color=COLOURS[colour], markersize=3.5, label=name)


def distribution(outcome: Outcome) -> Figure:
    """Draw the distribution of f(x) for each delay, with a normal curve fitted to each."""
    figure, axes = _figure(1, 1, (7.5, 4.4))
    panel = axes[0][0]
    ratios = 100 * outcome.b.ratios()
    edges = np.arange(np.floor(ratios.min() / 2) * 2, ratios.max() + 2, 2.0)
    middles = (edges[:-1] + edges[1:]) / 2
    fine = np.linspace(edges[0], edges[-1], 400)
    for number, delay in enumerate(DELAYS_B[1:]):
        values = ratios[:, number]
        share = 100 * np.histogram(values, edges)[0] / len(values)
        mean, spread = values.mean(), values.std(ddof=1)
        curve = 200 * np.exp(-(((fine - mean) / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))
        panel.plot(middles, share, MARKERS[number], color=COLOURS[number], markersize=3.5)
        label = f"{delay}: mean {mean:.1f} %"
        panel.plot(fine, curve, color=COLOURS[number], linewidth=1.3, label=label)
    panel.axvline(100, color="#555555", linewidth=0.8)
    panel.set_xlabel("f(x): goodput in the first 1.5 s, relative to a switch after 0 ms [%]")
    panel.set_ylabel("share of the draws [%], bins of 2 %")
    panel.set_ylim(bottom=0)
    panel.legend(title="switch after (curve: normal fit)", fontsize=8)
    return figure


def then_and_today(outcome: Outcome) -> Figure:
    """Draw the gain of each delay over none, for the TCP of then and of today."""
    figure, axes = _figure(1, 2, (11, 4), sharey=True)
    for panel, seconds in zip(axes[0], experiments.SWEEP_WINDOWS_S, strict=True):
        for number, sweep in enumerate(outcome.sweeps):
            gains = 100 * (sweep.ratios[seconds] - 1)
            intervals = [mean_interval(column.tolist()) for column in gains.T]
            mean = np.array([each.mean for each in intervals])
            half = np.array([each.half_width or 0.0 for each in intervals])
            colour = COLOURS[number]
            panel.plot(sweep.delays_ms, mean, MARKERS[number] + "-", color=colour, markersize=3)
            panel.fill_between(
                sweep.delays_ms, mean - half, mean + half, color=colour, alpha=0.2, label=sweep.name
            )
        panel.axhline(0, color="#555555", linewidth=0.8)
        panel.axvline(50, color="#999999", linewidth=0.8, linestyle=":")
        panel.set_title(f"goodput of the first {seconds:g} s")
        panel.set_xlabel("switch after [ms]; dotted: 50 ms")
    axes[0][0].set_ylabel("gain over a switch without delay [%]")
    axes[0][0].legend(fontsize=8, loc="lower left")
    return figure


def variants(outcome: Outcome) -> Figure:
    """Draw the mean gain of each delay under each reading, the published one beside."""
    figure, axes = _figure(1, 1, (8.5, 4.6))
    panel = axes[0][0]
    places = np.arange(len(DELAYS_B) - 1)
    names = ["b", *(f"b, {variant.name}" for variant in outcome.variants)]
    said = [c.published or 0.0 for c in outcome.cells if (c.table, c.column) == ("b", "gain")]
    panel.hlines(said, places - 0.4, places + 0.4, color="#999999", linewidth=2, label="published")
    for number, name in enumerate(names):
        cells = [c for c in outcome.cells if (c.table, c.column) == (name, "gain")]
        at = places + 0.1 * (number - (len(names) - 1) / 2)
        panel.errorbar(
            at,
            [c.ours.mean for c in cells],
            yerr=[c.ours.half_width or 0.0 for c in cells],
            fmt=MARKERS[number % len(MARKERS)],
            color=COLOURS[number % len(COLOURS)],
            markersize=5,
            capsize=2,
            linewidth=1,
            label="as stated" if name == "b" else name.removeprefix("b, "),
        )
    panel.axhline(0, color="#555555", linewidth=0.8)
    panel.set_xticks(places, DELAYS_B[1:])
    panel.set_xlabel("switch after")
    panel.set_ylabel("gain over 0 ms [%]")
    panel.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure

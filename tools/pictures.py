"""Draw the pictures of the reference pages from runs of their own.

``python tools/pictures.py`` writes docs/reference/pictures/*; the same program gives the same
bytes. Names after it choose some: ``python tools/pictures.py schedulers``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from trunkline.engine.packet_engine import simulate
from trunkline.network import compile as compiled
from trunkline.plot.figure import COLOURS, apply_house_style, save_figure
from trunkline.plot.kinds import draw
from trunkline.plot.network_graph import render_svg
from trunkline.plot.network_sketch import NetworkSketch
from trunkline.plot.plot_sources import PlotChoice, PlotSource
from trunkline.results import Results
from trunkline.scenario import Scenario, load

ROOT = Path(__file__).resolve().parent.parent
PICTURES_FOLDER = ROOT / "docs" / "reference" / "pictures"
EXAMPLES = ROOT / "python" / "trunkline" / "examples"
TRAFFIC_LIGHT = {"green": "#009E73", "yellow": "#E69F00", "red": "#D55E00"}


def run_scenario(scenario: Scenario) -> Results:
    """One run with seed 1."""
    return simulate(compiled(scenario), seeds=[1])[0]


METER_KEYS: dict[str, dict[str, str]] = {
    "token-bucket": {"rate": "1 Mbit/s", "burst": "10 kB"},
    "srtcm": {"cir": "1 Mbit/s", "cbs": "10 kB", "ebs": "10 kB"},
    "trtcm": {"cir": "1 Mbit/s", "cbs": "10 kB", "pir": "2 Mbit/s", "pbs": "10 kB"},
    "rfc4115": {"cir": "1 Mbit/s", "cbs": "10 kB", "eir": "1 Mbit/s", "ebs": "10 kB"},
    "tsw2cm": {"ctr": "1 Mbit/s", "avg_interval": "1 s"},
    "tsw3cm": {"ctr": "1 Mbit/s", "ptr": "2 Mbit/s", "avg_interval": "1 s"},
}


def measure_colour_shares(kind: str, kbit_s: int) -> dict[str, float]:
    """Measure the shares of the colours that a meter gives a Poisson stream."""
    scenario = Scenario.model_validate(
        {
            "nodes": ["A", "B"],
            "links": {"A-B": {"rate": "1 Gbit/s", "forward": {"ingress": "edge"}}},
            "conditioners": {
                "edge": {
                    "rules": [{"profile": "p"}],
                    "profiles": {"p": {"meter": {"kind": kind} | METER_KEYS[kind]}},
                }
            },
            "flows": {
                "f": {
                    "agent": "udp",
                    "from": "A",
                    "to": "B",
                    "arrivals": "poisson",
                    "rate": f"{kbit_s} kbit/s",
                    "size": "500 B",
                }
            },
            "run": {"duration": "60 s", "warm_up": "10 s"},
        }
    )
    rows = run_scenario(scenario).colours.rows()
    return {str(row["colour"]): float(row["share"] or 0) for row in rows if row["link"] == "A->B"}


def draw_conditioners() -> Figure:
    """Draw the shares of the colours against the offered rate, a panel for each meter."""
    rates = [250, 500, 750, 900, 1000, 1100, 1250, 1500, 1750, 2000, 2250, 2500, 3000, 3500, 4000]
    with apply_house_style():
        figure = Figure(figsize=(8, 4.6), layout="constrained")
        panels = figure.subplots(2, 3, sharex=True, sharey=True)
        for axes, kind in zip(panels.flat, METER_KEYS, strict=True):
            found = [measure_colour_shares(kind, rate) for rate in rates]
            stacked = [[each[colour] for each in found] for colour in TRAFFIC_LIGHT]
            x = [rate / 1000 for rate in rates]
            axes.stackplot(x, stacked, colors=list(TRAFFIC_LIGHT.values()), alpha=0.75)
            axes.plot(x, [min(1.0, 1 / rate) for rate in x], color="black", linewidth=1.2)
            if any(stacked[1]):
                top = 1.0 if kind == "srtcm" else 2.0
                bound = [min(1.0, top / rate) for rate in x]
                axes.plot(x, bound, color="black", linewidth=1.2, linestyle="--")
            axes.set_title(kind)
            axes.set_xlim(x[0], x[-1])
            axes.set_ylim(0, 1)
        figure.supxlabel("offered [Mbit/s]", fontsize=10)
        figure.supylabel("share of packets", fontsize=10)
    return figure


def draw_drop_models() -> Figure:
    """Loss of each colour by model, in three situations."""
    overlap = {"green_min": "10 packets", "green_max": "40 packets"}
    overlap |= {"yellow_min": "10 packets", "red_max": "40 packets"}
    situations = {
        "3 + 3 + 3 Mbit/s, thresholds apart": {},
        "3 + 3 + 3 Mbit/s, thresholds overlap": overlap,
        "5 + 3 + 0.5 Mbit/s, thresholds apart": {"green": "5 Mbit/s", "red": "0.5 Mbit/s"},
    }
    with apply_house_style():
        figure = Figure(figsize=(8, 6), layout="constrained")
        panels = figure.subplots(3, 1, sharey=True)
        for axes, (title, values) in zip(panels, situations.items(), strict=True):
            results = run_scenario(load(EXAMPLES / "drop-models.yaml", overrides=values))
            loss: dict[str, dict[str, float]] = {}
            for row in results.flows.rows():
                model, _, colour = str(row["flow"]).rpartition("-")
                loss.setdefault(model, {})[colour] = float(row["loss_ratio"] or 0)
            names = ["red", "wred", "rio-c", "rio-d"]
            # The thresholds of these two are in bytes and do not change; so does tail's.
            names += [] if values is overlap else ["gred", "grio", "tail"]
            for number, (colour, shade) in enumerate(TRAFFIC_LIGHT.items()):
                bar_positions = [place + 0.27 * (number - 1) for place in range(len(names))]
                axes.bar(bar_positions, [loss[name][colour] for name in names], 0.25, color=shade)
            axes.set_xticks(range(len(names)), labels=names)
            axes.set_xlim(-0.6, 6.6)
            axes.set_title(title)
            axes.set_ylim(0, 1)
        figure.supylabel("share of packets lost", fontsize=10)
    return figure


def draw_bufferbloat() -> Figure:
    """Delay of a call during downloads, and their goodput, by queue, at two rates of the link."""
    with apply_house_style():
        figure = Figure(figsize=(8, 3.4), layout="constrained")
        delays, goodputs = figure.subplots(1, 2)
        for number, (rate, shade) in enumerate(zip((10, 2), COLOURS, strict=False)):
            values = {"rate": f"{rate} Mbit/s"}
            rows = list(
                run_scenario(load(EXAMPLES / "bufferbloat.yaml", overrides=values)).flows.rows()
            )
            names = [str(row["flow"])[:-5] for row in rows if str(row["flow"]).endswith("-call")]
            at = [place + 0.36 * (number - 0.5) for place in range(len(names))]
            delay_p99_s = {str(row["flow"]): float(row["delay_p99_s"] or 0) for row in rows}
            label = f"link of {rate} Mbit/s"
            heights = [delay_p99_s[f"{name}-call"] * 1e3 for name in names]
            delays.bar(at, heights, 0.34, color=shade, label=label)
            shares = [
                sum(
                    float(row["goodput_bit_s"] or 0)
                    for row in rows
                    if str(row["flow"]).startswith(f"{name}-down")
                )
                for name in names
            ]
            goodputs.bar(at, [each / rate / 1e4 for each in shares], 0.34, color=shade)
        for axes in (delays, goodputs):
            axes.set_xticks(range(len(names)), labels=names, rotation=45, ha="right")
        delays.set_yscale("log")
        delays.set_ylabel("delay of the call, 99 % [ms]")
        goodputs.set_ylabel("goodput of the downloads\n[% of the link]")
        delays.legend(loc="upper right", fontsize=9)
    return figure


SCHEDULER_CLASSES: dict[str, tuple[str, ...]] = {
    "priority": ("priority: 0", "priority: 1", "priority: 2"),
    "drr": ("weight: 3", "weight: 2", "weight: 1"),
    "wfq": ("weight: 3", "weight: 2", "weight: 1"),
    "shaped": tuple(f"rate: {n} Mbit/s" for n in (3, 2, 1)),
    "htb": tuple(f"parent: link, rate: {n} Mbit/s, ceil: 6 Mbit/s" for n in (3, 2, 1)),
    "cbq": tuple(f"rate: {n} Mbit/s" for n in (3, 2, 1)),
}
SCHEDULER_CAPTIONS = {
    "priority": "0, 1, 2",
    "drr": "weights 3, 2, 1",
    "wfq": "weights 3, 2, 1",
    "shaped": "to 3, 2, 1 Mbit/s",
    "htb": "rates 3, 2, 1, ceil 6",
    "cbq": "rates 3, 2, 1, borrowing",
}


def _parse_keys(text: str) -> dict[str, Any]:
    pairs = (part.split(": ") for part in text.split(", "))
    return {key: int(value) if value.isdecimal() else value for key, value in pairs}


def run_scheduler(kind: str) -> Results:
    """Three classes of 5 Mbit/s each at a link of 6; c stops at 20 s, then a at 40 s."""
    names = "abc"
    classes = {
        name: _parse_keys(text) for name, text in zip(names, SCHEDULER_CLASSES[kind], strict=True)
    }
    if kind == "htb":
        classes = {"link": {"rate": "6 Mbit/s", "ceil": "6 Mbit/s"}} | classes
    stops = {"a": "40 s", "b": "60 s", "c": "20 s"}
    return run_scenario(
        Scenario.model_validate(
            {
                "nodes": ["A", "B"],
                "links": {"A-B": {"rate": "6 Mbit/s", "forward": {"port": "p"}}},
                "ports": {
                    "p": {
                        "scheduler": kind,
                        "classes": classes,
                        "classify": [
                            *({"flow": name, "class": name} for name in names),
                            {"class": "c"},
                        ],
                    }
                },
                "defaults": {"udp": {"arrivals": "poisson", "rate": "5 Mbit/s", "size": "500 B"}},
                "flows": {
                    name: {"agent": "udp", "from": "A", "to": "B", "stop": stops[name]}
                    for name in names
                },
                "probes": [{"measure": "throughput", "flow": "all", "every": "1 s"}],
                "run": {"duration": "60 s"},
            }
        )
    )


def draw_schedulers() -> Figure:
    """Throughput of three classes over time, a panel for each scheduler."""
    with apply_house_style():
        figure = Figure(figsize=(8, 4.6), layout="constrained")
        panels = figure.subplots(2, 3, sharex=True, sharey=True)
        for axes, (kind, caption) in zip(panels.flat, SCHEDULER_CAPTIONS.items(), strict=True):
            rows = list(run_scheduler(kind).series.rows())
            for name, shade in zip("abc", COLOURS, strict=False):
                flow_rows = [row for row in rows if row["target"] == name]
                axes.plot(
                    [float(row["time_s"] or 0) for row in flow_rows],
                    [float(row["value"] or 0) / 1e6 for row in flow_rows],
                    color=shade,
                    label=name,
                )
            axes.set_title(f"{kind}: {caption}", fontsize=9)
            axes.set_ylim(0, 6.2)
        panels[0, 0].legend(loc="center right", fontsize=9)
        figure.supxlabel("time [s]", fontsize=10)
        figure.supylabel("throughput [Mbit/s]", fontsize=10)
    return figure


def draw_diffserv_over_mpls() -> Figure:
    """One-way delay of four flows against time: one label for all, and an E-LSP and an L-LSP."""
    studies = EXAMPLES.parent / "studies" / "avallone2003"
    with apply_house_style():
        figure = Figure(figsize=(8, 3.4), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, name in zip(panels, ("mpls", "diffserv-over-mpls"), strict=True):
            # A little less AF1 than in the study, lest chance overload its class.
            overrides = {"flows.AF11.rate": "800 kbit/s"}
            rows = list(
                run_scenario(load(studies / f"{name}.yaml", overrides=overrides)).series.rows()
            )
            for flow, shade in zip(("EF", "AF11", "DE"), COLOURS, strict=False):
                flow_rows = [r for r in rows if (r["target"], r["measure"]) == (flow, "delay")]
                axes.plot(
                    [float(row["time_s"] or 0) for row in flow_rows],
                    [float("nan" if row["value"] is None else row["value"]) for row in flow_rows],
                    color=shade,
                    label=flow,
                )
            axes.set_title(name, fontsize=9)
            axes.set_xlabel("time [s]")
        panels[0].set_ylabel("one-way delay [s]")
        panels[0].set_ylim(bottom=0)
        panels[1].legend(loc="upper left", fontsize=9)
    return figure


def draw_hello_plot(kind: str, choice: PlotChoice) -> Figure:
    """A named plot of the example hello, with the queue it has and with a small one."""
    sources = []
    for label, queue in (("50 packets", "50 packets"), ("10 packets", "10 packets")):
        overrides = {"run.trace": "on", "run.duration": "15 s", "queue": queue}
        sources.append(
            PlotSource(label, [run_scenario(load(EXAMPLES / "hello.yaml", overrides=overrides))])
        )
    return draw(kind, sources[:1] if kind == "time-sequence" else sources, choice)


def draw_topology() -> str:
    """The topology of the example trunks."""
    scenario = load(EXAMPLES / "trunks.yaml")
    places = {name: node.position for name, node in scenario.nodes.items() if node.position}
    return render_svg(NetworkSketch.from_network(json.loads(compiled(scenario).to_json())), places)


PICTURES: dict[str, Callable[[], Figure]] = {
    "bufferbloat": draw_bufferbloat,
    "conditioners": draw_conditioners,
    "diffserv-over-mpls": draw_diffserv_over_mpls,
    "drop-models": draw_drop_models,
    "plot-cwnd": partial(draw_hello_plot, "cwnd", PlotChoice()),
    "plot-time-sequence": partial(
        draw_hello_plot, "time-sequence", PlotChoice(since=10.5, until=11.3)
    ),
    "schedulers": draw_schedulers,
}


def main(names: list[str]) -> int:
    """Draw the pictures named, or all."""
    known = [*PICTURES, "graph"]
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no picture {unknown[0]}; pictures: {', '.join(known)}", file=sys.stderr)
        return 2
    PICTURES_FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or known:
        if name == "graph":
            (PICTURES_FOLDER / "graph.svg").write_text(
                draw_topology(), encoding="utf-8", newline="\n"
            )
            continue
        print(save_figure(PICTURES[name](), PICTURES_FOLDER / f"{name}.png").relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

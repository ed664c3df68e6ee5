"""Forms of scenarios, results, comparisons and studies in a notebook, and reports inline.

The forms have no scripts but those of a report, which runs in a frame of its own.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from trunkline.compare import Comparison
    from trunkline.results import Results, Table
    from trunkline.scenario import Scenario
    from trunkline.study import Reproduction, Runs

REPORT_HEIGHT = 720  # Height of a report inside a notebook [pixels].
MAX_CHART_LINES = 8
MAX_TABLE_ROWS = 30
PROBE_UNITS = {
    "goodput": "bit/s",
    "throughput": "bit/s",
    "delay": "s",
    "rtt": "s",
    "rto": "s",
    "pacing-rate": "bit/s",
    "utilisation": "%",
}
"""Units of measures of probes that have one."""
COLOURS = ("#0072b2", "#d55e00", "#00845f", "#b5528c", "#b87b00", "#2f8fc4", "#5b5b5b", "#6b4fa0")
"""Colours of the report."""
STYLE = (
    "<style>.trunkline svg{max-width:720px}.trunkline polyline{fill:none;stroke-width:1.6}"
    ".trunkline text{font-size:11px;fill:currentColor}.trunkline .grid{stroke:#8884}"
    + "".join(
        f".trunkline .c{number}{{stroke:{each};color:{each}}}.trunkline li.c{number}{{stroke:none}}"
        for number, each in enumerate(COLOURS)
    )
    + "</style>"
)


@dataclass(frozen=True, slots=True)
class Report:
    """A report as one page of HTML."""

    html: str  # The page; it needs no other file and no network.

    def save(self, file: str | Path) -> Path:
        """Write it to a file, replaced if it exists."""
        from pathlib import Path

        target = Path(file)
        target.write_text(self.html, encoding="utf-8", newline="\n")
        return target

    def _repr_html_(self) -> str:
        # A frame of another origin: the page can neither read nor change the notebook.
        return (
            f'<iframe sandbox="allow-scripts" width="100%" height="{REPORT_HEIGHT}" '
            f'style="border:1px solid #ccc" srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Report of {len(self.html) / 1e6:.1f} MB>"


def report_of(runs: Results | Sequence[Results], scenario: Scenario) -> Report:
    """Write the report of runs of a scenario.

    Parameters
    ----------
    runs : Results or sequence of Results
        What was run.
    scenario : Scenario
        What it was.

    Returns
    -------
    Report
        Shown inline by a notebook; ``save`` writes it to a file.
    """
    from trunkline.network import compile
    from trunkline.report import page
    from trunkline.report.reported_run import ReportedRun
    from trunkline.results import Results as One

    network = compile(scenario).data
    listed = [runs] if isinstance(runs, One) else list(runs)
    return Report(page.render_runs_page(ReportedRun(str(network["name"]), "", network, listed)))


def graph(scenario_object: Scenario) -> str:
    """Draw the network of a scenario as SVG, as ``trunkline graph`` does.

    Parameters
    ----------
    scenario_object : Scenario
        Its nodes, links with capacity and delay, and paths.
    """
    from trunkline.network import compile
    from trunkline.plot import network_graph
    from trunkline.plot.network_sketch import NetworkSketch

    places = {
        n: node.position for n, node in scenario_object.nodes.items() if node.position is not None
    }
    return network_graph.render_svg(
        NetworkSketch.from_network(compile(scenario_object).data), places
    )


def scenario(scenario_object: Scenario) -> str:
    """The picture of the network, and what is in the scenario."""
    heading = html.escape(scenario_object.name or "scenario")
    counts = (
        (len(scenario_object.nodes), "nodes"),
        (len(scenario_object.links), "links"),
        (len(scenario_object.flows), "flows"),
    )
    counts_text = ", ".join(f"{number} {name}" for number, name in counts)
    try:
        picture = graph(scenario_object)
    except ValueError as error:
        picture = f"<pre>{html.escape(str(error))}</pre>"
    return f"<p><strong>{heading}</strong>: {counts_text}</p>{picture}"


def results(run_results: Results) -> str:
    """Show losses, waits and full links; tables; series as charts over time."""
    from trunkline.results.summary_lines import build_summary_lines

    lines = "<br>".join(html.escape(line) for line in build_summary_lines([run_results]))
    tables = "".join(
        _render_results_table(table, names)
        for table, names in _select_tables(run_results)
        if len(table)
    )
    return f"<p>{lines}</p>{_render_probe_charts(run_results)}{tables}"


def comparison(shown_comparison: Comparison) -> str:
    """The differences with their intervals, and the verdict."""
    from trunkline.compare.comparison_table import MAX_ROWS_SHOWN, format_difference_cells

    heads = ("metric", "of", "A", "B", "B − A", "", "p")
    largest = shown_comparison.list_largest(MAX_ROWS_SHOWN)
    body = _render_table(heads, (format_difference_cells(each) for each in largest))
    if len(largest) < len(shown_comparison.differences):
        body += (
            f"<p>the {len(largest)} largest of {len(shown_comparison.differences)} differences</p>"
        )
    notes = "".join(f"<p>note: {html.escape(note)}</p>" for note in shown_comparison.notes)
    sides = html.escape(f"A: {shown_comparison.a}; B: {shown_comparison.b}")
    return (
        f"<p>{sides}</p>{body}{notes}<p><strong>"
        f"{html.escape(shown_comparison.verdict())}</strong></p>"
    )


def study(study_runs: Runs) -> str:
    """The runs of a study, those that have ended, with what was measured."""
    frame = study_runs.to_polars()
    ended = "complete" if study_runs.complete else "not complete yet"
    return f"<p>{len(frame)} runs, {ended}</p>{frame._repr_html_()}"


def reproduction(shown_reproduction: Reproduction) -> str:
    """A study's tables and claims as the terminal shows them."""
    return f"<pre>{html.escape(shown_reproduction.render(width=110))}</pre>"


def _select_tables(run_results: Results) -> list[tuple[Table, str]]:
    """Tables of a run with the columns that say most; all are in the tables themselves."""
    flows = "flow dscp goodput_bit_s throughput_bit_s loss_ratio delay_mean_s delay_p99_s jitter_s"
    ports = "link class utilisation packets_offered packets_dropped wait_mean_s queue_max_packets"
    drops = "flow direction link class cause packets"
    return [(run_results.flows, flows), (run_results.ports, ports), (run_results.drops, drops)]


def _render_results_table(table: Table, names: str) -> str:
    from trunkline.results.schemas import find_field
    from trunkline.results.terminal_tables import format_cell

    fields = [find_field(table.name, name) for name in names.split()]
    rows = [
        [
            str(row[each.name] or "–") if each.kind == "str" else format_cell(row[each.name], each)
            for each in fields
        ]
        for row in table.rows()
    ]
    caption = f"<p><strong>{html.escape(table.name.capitalize())}</strong></p>"
    hidden_rows = len(rows) - MAX_TABLE_ROWS
    note = f"<p>and {hidden_rows} more rows</p>" if hidden_rows > 0 else ""
    heads = [each.title or each.name for each in fields]
    return caption + _render_table(heads, rows[:MAX_TABLE_ROWS]) + note


def _render_probe_charts(run_results: Results) -> str:
    """The probes of a run over time, a chart for each measure, drawn as still pictures."""
    from trunkline.report.charts import Chart, ChartLine
    from trunkline.report.static_charts import draw_static_chart

    series_by_measure: dict[str, dict[str, tuple[list[float | None], list[float | None]]]] = {}
    for row in run_results.series.rows():
        # Classes of a port have series of their own.
        of_class = "" if row["class"] is None else f", class {row['class']}"
        measure, target = str(row["measure"]), f"{row['target']}{of_class}"
        times, values = series_by_measure.setdefault(measure, {}).setdefault(target, ([], []))
        times.append(float(row["time_s"] or 0))
        values.append(None if row["value"] is None else float(row["value"]))
    figures = []
    for measure, series_by_target in series_by_measure.items():
        lines = [
            ChartLine(name, values, x=times, colour=number)
            for number, (name, (times, values)) in enumerate(
                list(series_by_target.items())[:MAX_CHART_LINES]
            )
        ]
        alt = f"{measure} of {', '.join(line.name for line in lines)} over time"
        chart = Chart(measure, measure, "", alt, "line", PROBE_UNITS.get(measure, ""), [], lines)
        heading = html.escape(measure)
        figures.append(
            f"<figure><figcaption>{heading}</figcaption>{draw_static_chart(chart)}</figure>"
        )
    return f"<div class='trunkline'>{STYLE if figures else ''}{''.join(figures)}</div>"


def _render_table(heads: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

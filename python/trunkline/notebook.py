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

HEIGHT = 720
"""Height of a report inside a notebook [pixels]."""
MOST_LINES = 8
MOST_ROWS = 30
UNITS = {
    "goodput": "bit/s",
    "throughput": "bit/s",
    "delay": "s",
    "rtt": "s",
    "rto": "s",
    "utilisation": "%",
}
"""Units of measures of probes that have one."""
COLOURS = ("#0072b2", "#d55e00", "#00845f", "#b5528c", "#b87b00", "#2f8fc4", "#5b5b5b", "#6b4fa0")
"""Those of the report."""
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
    """A report as one page of HTML.

    Parameters
    ----------
    html : str
        The page; it needs no other file and no network.
    """

    html: str

    def save(self, file: str | Path) -> Path:
        """Write it to a file, replaced if it exists."""
        from pathlib import Path

        target = Path(file)
        target.write_text(self.html, encoding="utf-8", newline="\n")
        return target

    def _repr_html_(self) -> str:
        # A frame of another origin: the page can neither read nor change the notebook.
        return (
            f'<iframe sandbox="allow-scripts" width="100%" height="{HEIGHT}" '
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
    from trunkline.report.exhibit import Exhibit
    from trunkline.results import Results as One

    network = compile(scenario).data
    listed = [runs] if isinstance(runs, One) else list(runs)
    return Report(page.of_runs(Exhibit(str(network["name"]), "", network, listed)))


def graph(thing: Scenario) -> str:
    """Draw the network of a scenario as SVG, as ``trunkline graph`` does.

    Parameters
    ----------
    thing : Scenario
        Its nodes, links with capacity and delay, and paths.
    """
    from trunkline.network import compile
    from trunkline.plot import graph
    from trunkline.plot.sketch import Sketch

    places = {n: node.position for n, node in thing.nodes.items() if node.position is not None}
    return graph.svg(Sketch.of(compile(thing).data), places)


def scenario(thing: Scenario) -> str:
    """The picture of the network, and what is in the scenario."""
    heading = html.escape(thing.name or "scenario")
    counts = ((len(thing.nodes), "nodes"), (len(thing.links), "links"), (len(thing.flows), "flows"))
    said = ", ".join(f"{number} {name}" for number, name in counts)
    try:
        picture = graph(thing)
    except ValueError as error:
        picture = f"<pre>{html.escape(str(error))}</pre>"
    return f"<p><strong>{heading}</strong>: {said}</p>{picture}"


def results(thing: Results) -> str:
    """What was lost, who waits and what is full; tables; series as charts over time."""
    from trunkline.results.headline import headline

    lines = "<br>".join(html.escape(line) for line in headline([thing]))
    tables = "".join(_measured(table, names) for table, names in _shown(thing) if len(table))
    return f"<p>{lines}</p>{_charts(thing)}{tables}"


def comparison(thing: Comparison) -> str:
    """The differences with their intervals, and the verdict."""
    from trunkline.compare.render import SHOWN_ROWS, cells

    heads = ("metric", "of", "A", "B", "B − A", "", "p")
    shown = thing.largest(SHOWN_ROWS)
    body = _table(heads, (cells(each) for each in shown))
    if len(shown) < len(thing.differences):
        body += f"<p>the {len(shown)} largest of {len(thing.differences)} differences</p>"
    notes = "".join(f"<p>note: {html.escape(note)}</p>" for note in thing.notes)
    sides = html.escape(f"A: {thing.a}; B: {thing.b}")
    return f"<p>{sides}</p>{body}{notes}<p><strong>{html.escape(thing.verdict())}</strong></p>"


def study(thing: Runs) -> str:
    """The runs of a study, those that have ended, with what was measured."""
    frame = thing.to_polars()
    ended = "complete" if thing.complete else "not complete yet"
    return f"<p>{len(frame)} runs, {ended}</p>{frame._repr_html_()}"


def reproduction(thing: Reproduction) -> str:
    """A study's tables and claims as the terminal shows them."""
    return f"<pre>{html.escape(thing.render(width=110))}</pre>"


def _shown(thing: Results) -> list[tuple[Table, str]]:
    """Tables of a run with the columns that say most; all are in the tables themselves."""
    flows = "flow dscp goodput_bit_s throughput_bit_s loss_ratio delay_mean_s delay_p99_s jitter_s"
    ports = "link class utilisation packets_offered packets_dropped wait_mean_s queue_max_packets"
    drops = "flow direction link class cause packets"
    return [(thing.flows, flows), (thing.ports, ports), (thing.drops, drops)]


def _measured(table: Table, names: str) -> str:
    from trunkline.results.render import cell
    from trunkline.results.tables import column

    fields = [column(table.name, name) for name in names.split()]
    rows = [
        [
            str(row[each.name] or "–") if each.kind == "str" else cell(row[each.name], each)
            for each in fields
        ]
        for row in table.rows()
    ]
    caption = f"<p><strong>{html.escape(table.name.capitalize())}</strong></p>"
    more = len(rows) - MOST_ROWS
    note = f"<p>and {more} more rows</p>" if more > 0 else ""
    heads = [each.title or each.name for each in fields]
    return caption + _table(heads, rows[:MOST_ROWS]) + note


def _charts(thing: Results) -> str:
    """The probes of a run over time, a chart for each measure, drawn as still pictures."""
    from trunkline.report.charts import Chart, Line
    from trunkline.report.still import draw

    found: dict[str, dict[str, tuple[list[float | None], list[float | None]]]] = {}
    for row in thing.series.rows():
        # Classes of a port have series of their own.
        of_class = "" if row["class"] is None else f", class {row['class']}"
        measure, target = str(row["measure"]), f"{row['target']}{of_class}"
        times, values = found.setdefault(measure, {}).setdefault(target, ([], []))
        times.append(float(row["time_s"] or 0))
        values.append(None if row["value"] is None else float(row["value"]))
    drawn = []
    for measure, of in found.items():
        lines = [
            Line(name, values, x=times, colour=number)
            for number, (name, (times, values)) in enumerate(list(of.items())[:MOST_LINES])
        ]
        alt = f"{measure} of {', '.join(line.name for line in lines)} over time"
        chart = Chart(measure, measure, "", alt, "line", UNITS.get(measure, ""), [], lines)
        heading = html.escape(measure)
        drawn.append(f"<figure><figcaption>{heading}</figcaption>{draw(chart)}</figure>")
    return f"<div class='trunkline'>{STYLE if drawn else ''}{''.join(drawn)}</div>"


def _table(heads: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

"""A report: one file of HTML that needs no other file and no network."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.report import (
    charts,
    engineering,
    felt,
    grids,
    packets,
    replay,
    spread,
    still,
    study,
    sweep,
    topology,
    verdict,
)
from trunkline.report.charts import Chart
from trunkline.report.exhibit import Exhibit
from trunkline.report.grids import Grid
from trunkline.report.library import library, policy_hash
from trunkline.report.topology import Drawing
from trunkline.results.render import printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from trunkline.network.types import Link, Network

FOLDER = Path(__file__).parent
SCRIPTS = ("base.js", "tables.js", "drawing.js", "charts.js", "packets.js", "replay.js", "start.js")


@dataclass(frozen=True, slots=True)
class View:
    """An exhibit, ready for the template."""

    key: str
    title: str
    about: str
    drawing: Drawing
    charts: list[Chart]
    grids: list[Grid]
    replayed: bool
    fails: bool
    window: dict[str, Any] | None
    engineering: engineering.Engineering | None
    facts: list[verdict.Fact]
    figures: list[verdict.Figure]
    asked: list[verdict.Said]
    provenance: list[tuple[str, str]]
    scenario: str
    data: str


def view(exhibit: Exhibit, key: str) -> View:
    """Work an exhibit out."""
    drawing = topology.draw(exhibit)
    found = [
        *charts.timed(exhibit),
        spread.delays(exhibit),
        felt.completions(exhibit),
        felt.scores(exhibit),
        spread.drops(exhibit),
    ]
    shown = [chart for chart in found if chart is not None]
    played = replay.build(exhibit)
    window = packets.build(exhibit)
    nodes = [str(node["name"]) for node in exhibit.network["nodes"]]
    links = exhibit.network["links"]
    data = {
        "key": key,
        "nodes": nodes,
        "flows": [str(flow["name"]) for flow in exhibit.network["flows"]],
        "links": [
            {
                "name": str(link["name"]),
                "rate": link["rate_bit_s"],
                "delay": link["delay_ns"],
                "header": link["header_bytes"],
                "limit": _limit(exhibit.network, link),
                "line": [round(value, 1) for value in (*lane.start, *lane.end)],
            }
            for link, lane in zip(links, drawing.lanes, strict=True)
        ],
        "charts": [chart.to_json() for chart in shown],
        "replay": played,
        "packets": window,
    }
    return View(
        key,
        exhibit.title,
        exhibit.about,
        drawing,
        shown,
        grids.of(exhibit),
        played is not None,
        played is not None and bool(played["down"]),
        window,
        engineering.of(exhibit),
        verdict.of_run(exhibit),
        verdict.figures_of_run(exhibit),
        verdict.asked(exhibit.first.provenance.scenario),
        _provenance(exhibit),
        exhibit.first.provenance.scenario,
        embedded(data),
    )


def _limit(network: Network, link: Link) -> int:
    """Packets that the classes of a port hold together; 0 where some has no limit in packets."""
    limits = [each["queue"]["limit_packets"] for each in network["ports"][link["port"]]["classes"]]
    return sum(limit or 0 for limit in limits) if all(limits) else 0


def _provenance(exhibit: Exhibit) -> list[tuple[str, str]]:
    first = exhibit.first
    seeds = [run.seed for run in exhibit.runs]
    shown = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} ({len(seeds)} runs)"
    about = first.provenance
    rows = [
        ("Version", about.version),
        ("Seed" if len(seeds) == 1 else "Seeds", shown),
        (
            "Simulated",
            f"{exhibit.duration_ns / 1e9:g} s, counted from {exhibit.warmup_ns / 1e9:g} s",
        ),
        ("Results hash", first.hash() if len(seeds) == 1 else f"{first.hash()} (first run)"),
        ("Scenario, SHA-256", about.scenario_hash),
        ("Network, SHA-256", about.network_hash),
        ("Made on", about.platform),
    ]
    runs = "" if len(seeds) == 1 else f" --runs {len(seeds)}"
    if about.scenario.strip():
        rows.insert(0, ("Again", f"trunkline run scenario.yaml --seed {seeds[0]}{runs}"))
    return rows


def of_runs(exhibit: Exhibit) -> str:
    """Write the page of a scenario that was run."""
    shown = view(exhibit, "x0")
    title = verdict.title(exhibit.first.provenance.scenario, exhibit.title)
    if shown.asked and shown.asked[0].text == title:
        del shown.asked[0]
    return _render(
        title=title, name=exhibit.title, views=[shown], study=None, version=_version(exhibit)
    )


def of_study(folder: Path) -> str:
    """Write the page of a reproduced study, kept in a folder."""
    record = study.read(folder)
    about = {
        "figures": verdict.figures_of_study(record),
        "facts": verdict.of_study(record),
        "pictures": study.pictures(folder),
        "command": f"trunkline reproduce {record['study']} --runs {record['runs']}",
        "kind": "Reproduction of a published study",
        "asked": "What the publication claims, and whether it holds here",
        "compared": "Published against ours",
    }
    return _of_record(record, about, study.exhibits(folder))


def of_sweep(folder: Path) -> str:
    """Write the page of a study of many points, kept in a folder."""
    record = sweep.read(folder)
    about = {
        "figures": sweep.figures(record),
        "facts": sweep.facts(record),
        "pictures": [],
        "command": "trunkline study run FILE",
        "kind": "Study",
        "asked": "Whether to believe it",
        "compared": "What came out",
    }
    if record["failures"]:
        about["asked"] = "Which class breaks under which failure"
    first = sweep.failures(record["failures"])
    return _of_record(record, about, sweep.exhibits(folder), first)


def _of_record(
    record: dict[str, Any],
    about: dict[str, Any],
    shown: list[Exhibit],
    first: Sequence[study.Compared] = (),
) -> str:
    tables = [*first, *study.compared(record)]
    plots = [table.chart.to_json() for table in tables if table.chart is not None]
    data = embedded({"key": "study", "charts": plots})
    views = [view(exhibit, f"x{number}") for number, exhibit in enumerate(shown)]
    return _render(
        title=str(record["title"]),
        name=str(record["study"]),
        views=views,
        study={**about, "record": record, "tables": tables, "data": data},
        version=_version(shown[0]) if shown else "",
    )


def _version(exhibit: Exhibit) -> str:
    return exhibit.first.provenance.version


def embedded(data: Any) -> str:
    """Data as JSON that no name in it can end early: ``<``, ``>`` and ``&`` are escaped."""
    written = json.dumps(_spelled(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        written = written.replace(sign, code)
    return written


def _spelled(data: Any) -> Any:
    """Make all names in data visible, as the page's own text is."""
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, dict):
        return {name: _spelled(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_spelled(value) for value in data]
    return data


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the content of a page: its scripts, style and policy.

    Parameters
    ----------
    script, style : str
        Our own, whole.
    library : str
        The charts library, packed; empty if the package has none.
    policy : str
        What a browser may do with the page: run these scripts alone, ask nobody for anything.
    """

    script: str
    style: str
    library: str
    policy: str


def frame(scripts: Sequence[str], more: str = "") -> Frame:
    """Put a page's scripts and style together, with the policy that allows them and no others.

    Parameters
    ----------
    scripts : sequence of str
        Files of ``assets``, in order.
    more : str, default ""
        Further directives of the policy, such as ``connect-src 'self'``.
    """
    pack = library()
    script = "\n".join((FOLDER / "assets" / name).read_text("utf-8") for name in scripts)
    style = (FOLDER / "assets" / "report.css").read_text("utf-8")
    hashes = [policy_hash(script.encode())] + ([pack.source_hash] if pack else [])
    allowed = " ".join(f"'{each}'" for each in hashes)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src '{policy_hash(style.encode())}'; "
        f"img-src data:; {more}base-uri 'none'; form-action 'none'"
    )
    return Frame(script, style, pack.packed if pack else "", policy)


def environment() -> Environment:
    """Templates with the filters that they use; all that is put into them is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["shown"] = visible
    made.filters["prose"] = prose
    made.globals["still"] = still.draw
    return made


def rendered(template: str, around: Frame, **what: Any) -> str:
    """Write a page by its template."""
    from markupsafe import Markup

    return (
        environment()
        .get_template(template)
        .render(
            policy=around.policy,
            script=Markup(around.script),  # noqa: S704
            style=Markup(around.style),  # noqa: S704
            library=around.library,
            json=Markup,
            **what,
        )
    )


def served(template: str, scripts: Sequence[str], **what: Any) -> tuple[bytes, str]:
    """A page that asks the server it comes from, and its policy."""
    around = frame(scripts, "connect-src 'self'; ")
    return rendered(template, around, **what).encode(), around.policy


def _render(**what: Any) -> str:
    return rendered("page.html.j2", frame(SCRIPTS), **what)


# Code, names of links, and spaces in numbers or before their units.
_MARKED = re.compile(
    r"`([^`\n]+)`|\S{1,24}->\S{1,24}|(?<=\d) (?=\d{3}\b|%|[kMG]?bit/s\b|[mµn]?s\b|packets?\b)"
)


def prose(text: object) -> Markup:
    """Set what stands between backticks as code; keep links' names and numbers on one line."""
    from markupsafe import Markup, escape

    def mark(found: re.Match[str]) -> str:
        if found[1] is not None:
            return f"<code>{found[1]}</code>"
        if found[0] == " ":
            return "\N{NO-BREAK SPACE}"
        return f'<span class="short">{found[0]}</span>'

    # Escaped first: the arrow of a link's name is written out again before it is looked for.
    written = str(escape(visible(text))).replace("-&gt;", "->")
    return Markup(_MARKED.sub(mark, written).replace("->", "-&gt;"))  # noqa: S704


def visible(text: object) -> str:
    """Spell out what cannot be seen, such as marks that turn the writing round."""
    return printable(str(text), keep="\n\t")

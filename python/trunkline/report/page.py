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
    distributions,
    findings,
    grids,
    packet_replay,
    replay,
    reproduced_study,
    static_charts,
    sweep,
    topology,
    traffic_engineering,
    user_experience,
)
from trunkline.report.chart_library import compute_policy_hash, load_chart_library
from trunkline.report.charts import Chart
from trunkline.report.fit_grids import build_fit_grids
from trunkline.report.grids import Grid
from trunkline.report.reported_run import ReportedRun
from trunkline.report.topology import NetworkDrawing
from trunkline.results.terminal_tables import escape_unprintable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from trunkline.network.types import Link, NetworkData
    from trunkline.scenario.lesson import Lesson

REPORT_FOLDER = Path(__file__).parent
PAGE_SCRIPTS = (
    "base.js",
    "tables.js",
    "drawing.js",
    "charts.js",
    "packets.js",
    "replay.js",
    "start.js",
)
ENGINE_SCRIPTS = ("decode.js", "engine.js", "run_here.js", "start_run_here.js")
"""Scripts of a page that runs its scenario, after the others."""
ENGINE_POLICY = "worker-src blob:; "


@dataclass(frozen=True, slots=True)
class PageEngine:
    """Data with which a page runs its scenario."""

    module: str  # The engine as WebAssembly: base64 of its gzip.
    scenario: str  # Its network as JSON: base64 of gzip.
    lesson: Lesson | None = None  # Text and tasks around it.


@dataclass(frozen=True, slots=True)
class RunView:
    """An exhibit, ready for the template."""

    key: str
    title: str
    about: str
    drawing: NetworkDrawing
    charts: list[Chart]
    grids: list[Grid]
    replayed: bool
    fails: bool
    window: dict[str, Any] | None
    engineering: traffic_engineering.EngineeringSection | None
    facts: list[findings.Fact]
    figures: list[findings.HeadlineNumber]
    asked: list[findings.Description]
    provenance: list[tuple[str, str]]
    scenario: str
    data: str


def build_run_view(reported_run: ReportedRun, key: str) -> RunView:
    """Work an exhibit out."""
    drawing = topology.draw_network(reported_run)
    found = [
        *charts.build_time_charts(reported_run),
        distributions.build_delay_chart(reported_run),
        user_experience.build_completion_chart(reported_run),
        user_experience.build_score_chart(reported_run),
        distributions.build_drop_chart(reported_run),
    ]
    shown_charts = [chart for chart in found if chart is not None]
    replay_data = replay.build_replay(reported_run)
    window = packet_replay.build_packet_replay(reported_run)
    nodes = [str(node["name"]) for node in reported_run.network["nodes"]]
    links = reported_run.network["links"]
    data = {
        "key": key,
        "nodes": nodes,
        "flows": [str(flow["name"]) for flow in reported_run.network["flows"]],
        "links": [
            {
                "name": str(link["name"]),
                "rate": link["rate_bit_s"],
                "delay": link["delay_ns"],
                "header": link["header_bytes"],
                "limit": _sum_queue_limits(reported_run.network, link),
                "line": [round(value, 1) for value in (*lane.start, *lane.end)],
            }
            for link, lane in zip(links, drawing.lanes, strict=True)
        ],
        "charts": [chart.to_json() for chart in shown_charts],
        "replay": replay_data,
        "packets": window,
    }
    return RunView(
        key,
        reported_run.title,
        reported_run.about,
        drawing,
        shown_charts,
        grids.build_grids(reported_run),
        replay_data is not None,
        replay_data is not None and bool(replay_data["down"]),
        window,
        traffic_engineering.build_engineering(reported_run),
        findings.list_run_facts(reported_run),
        findings.list_run_numbers(reported_run),
        findings.read_descriptions(reported_run.first_run.provenance.scenario),
        _list_provenance(reported_run),
        reported_run.first_run.provenance.scenario,
        encode_json(data),
    )


def _sum_queue_limits(network: NetworkData, link: Link) -> int:
    """Packets that the classes of a port hold together; 0 where some has no limit in packets."""
    limits = [each["queue"]["limit_packets"] for each in network["ports"][link["port"]]["classes"]]
    return sum(limit or 0 for limit in limits) if all(limits) else 0


def _list_provenance(reported_run: ReportedRun) -> list[tuple[str, str]]:
    first = reported_run.first_run
    seeds = [run.seed for run in reported_run.runs]
    seed_text = (
        str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} ({len(seeds)} runs)"
    )
    about = first.provenance
    rows = [
        ("Version", about.version),
        ("Seed" if len(seeds) == 1 else "Seeds", seed_text),
        (
            "Simulated",
            f"{reported_run.duration_ns / 1e9:g} s, counted from "
            f"{reported_run.warmup_ns / 1e9:g} s",
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


def render_runs_page(reported_run: ReportedRun, engine: PageEngine | None = None) -> str:
    """Write the page of a scenario that was run.

    engine: Engine with which the page runs the scenario again.
    """
    run_view = build_run_view(reported_run, "x0")
    title = findings.find_title(reported_run.first_run.provenance.scenario, reported_run.title)
    if run_view.asked and run_view.asked[0].text == title:
        del run_view.asked[0]
    return _render_page(
        title=title,
        name=reported_run.title,
        views=[run_view],
        study=None,
        version=_get_version(reported_run),
        engine=engine,
    )


def render_study_page(folder: Path) -> str:
    """Write the page of a reproduced study, kept in a folder."""
    record = reproduced_study.read_record(folder)
    about = {
        "figures": findings.list_study_numbers(record),
        "facts": [
            *findings.list_claim_facts(record),
            *findings.list_kernel_facts(reproduced_study.read_kernel_verdicts(folder)),
        ],
        "pictures": reproduced_study.list_pictures(folder),
        "command": f"trunkline reproduce {record['study']} --runs {record['runs']}",
        "kind": "Reproduction of a published study",
        "asked": "What the publication claims, and whether it holds here",
        "compared": "Published against ours",
    }
    return _render_record_page(record, about, reproduced_study.read_featured_runs(folder))


def render_sweep_page(folder: Path) -> str:
    """Write the page of a study of many points, kept in a folder."""
    record = sweep.read_sweep(folder)
    about = {
        "figures": sweep.list_headline_numbers(record),
        "facts": sweep.list_facts(record),
        "pictures": [],
        "command": "trunkline study run FILE",
        "kind": "Study",
        "asked": "Whether to believe it",
        "compared": "Results",
    }
    if record["failures"]:
        about["asked"] = "Which class breaks under which failure"
    first = sweep.build_failure_tables(record["failures"])
    return _render_record_page(record, about, sweep.read_kept_runs(folder), first)


def _render_record_page(
    record: dict[str, Any],
    about: dict[str, Any],
    reported_runs: list[ReportedRun],
    first: Sequence[reproduced_study.ComparedTable] = (),
) -> str:
    tables = [*first, *reproduced_study.build_compared_tables(record)]
    plots = [table.chart.to_json() for table in tables if table.chart is not None]
    data = encode_json({"key": "study", "charts": plots})
    views = [build_run_view(exhibit, f"x{number}") for number, exhibit in enumerate(reported_runs)]
    return _render_page(
        title=str(record["title"]),
        name=str(record["study"]),
        views=views,
        study={
            **about,
            "record": record,
            "tables": tables,
            "data": data,
            "fit": build_fit_grids(record["fit"]) if record.get("fit") else [],
        },
        version=_get_version(reported_runs[0]) if reported_runs else "",
        engine=None,
    )


def _get_version(reported_run: ReportedRun) -> str:
    return reported_run.first_run.provenance.version


def encode_json(data: Any) -> str:
    """Data as JSON that no name in it can end early: ``<``, ``>`` and ``&`` are escaped."""
    json_text = json.dumps(
        _spell_out(data), ensure_ascii=True, allow_nan=False, separators=(",", ":")
    )
    for sign, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        json_text = json_text.replace(sign, code)
    return json_text


def _spell_out(data: Any) -> Any:
    """Make all names in data visible, as the page's own text is."""
    if isinstance(data, str):
        return spell_invisible(data)
    if isinstance(data, dict):
        return {name: _spell_out(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_spell_out(value) for value in data]
    return data


@dataclass(frozen=True, slots=True)
class PageFrame:
    """Frame around the content of a page: its scripts, style and policy."""

    # script, style: Our own, whole.
    script: str
    style: str
    library: str  # The charts library, packed; empty if the package has none.
    # Permissions of the page: run these scripts alone, request nothing from anybody.
    policy: str


def build_page_frame(
    scripts: Sequence[str], policy_directives: str = "", *, runs_engine: bool = False
) -> PageFrame:
    """Put a page's scripts and style together, with the policy that allows them and no others.

    scripts: Files of ``assets``, in order.
    policy_directives: Further directives of the policy, such as ``connect-src 'self'``.
    runs_engine: Whether the page may compile WebAssembly.
    """
    chart_library = load_chart_library()
    script = "\n".join((REPORT_FOLDER / "assets" / name).read_text("utf-8") for name in scripts)
    style = (REPORT_FOLDER / "assets" / "report.css").read_text("utf-8")
    hashes = [compute_policy_hash(script.encode())] + (
        [chart_library.source_hash] if chart_library else []
    )
    if runs_engine:
        hashes.append("wasm-unsafe-eval")
    allowed = " ".join(f"'{each}'" for each in hashes)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src '"
        f"{compute_policy_hash(style.encode())}'; "
        f"img-src data:; {policy_directives}base-uri 'none'; form-action 'none'"
    )
    return PageFrame(script, style, chart_library.packed if chart_library else "", policy)


def create_environment() -> Environment:
    """Templates with the filters that they use; all that is put into them is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    jinja_environment = Environment(
        loader=FileSystemLoader(REPORT_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja_environment.filters["shown"] = spell_invisible
    jinja_environment.filters["prose"] = format_prose
    jinja_environment.filters["markdown"] = render_markdown
    jinja_environment.globals["still"] = static_charts.draw_static_chart
    return jinja_environment


def render_template(template: str, page_frame: PageFrame, **context: Any) -> str:
    """Write a page by its template."""
    from markupsafe import Markup

    return (
        create_environment()
        .get_template(template)
        .render(
            policy=page_frame.policy,
            script=Markup(page_frame.script),  # noqa: S704
            style=Markup(page_frame.style),  # noqa: S704
            library=page_frame.library,
            json=Markup,
            **context,
        )
    )


def render_served_page(template: str, scripts: Sequence[str], **context: Any) -> tuple[bytes, str]:
    """A page that asks the server it comes from, and its policy."""
    page_frame = build_page_frame(scripts, "connect-src 'self'; ")
    return render_template(template, page_frame, **context).encode(), page_frame.policy


def _render_page(engine: PageEngine | None, **context: Any) -> str:
    page_frame = (
        build_page_frame(PAGE_SCRIPTS)
        if engine is None
        else build_page_frame((*PAGE_SCRIPTS, *ENGINE_SCRIPTS), ENGINE_POLICY, runs_engine=True)
    )
    return render_template("page.html.j2", page_frame, engine=engine, **context)


# Code, names of links, and spaces in numbers or before their units.
_MARKED_TEXT = re.compile(
    r"`([^`\n]+)`|\S{1,24}->\S{1,24}|(?<=\d) (?=\d{3}\b|%|[kMG]?bit/s\b|[mµn]?s\b|packets?\b)"
)


def format_prose(text: object) -> Markup:
    """Set text between backticks as code; keep links' names and numbers on one line."""
    from markupsafe import Markup, escape

    def mark(found: re.Match[str]) -> str:
        if found[1] is not None:
            return f"<code>{found[1]}</code>"
        if found[0] == " ":
            return "\N{NO-BREAK SPACE}"
        return f'<span class="short">{found[0]}</span>'

    # Escaped first: the arrow of a link's name is written out again before it is looked for.
    written = str(escape(spell_invisible(text))).replace("-&gt;", "->")
    return Markup(_MARKED_TEXT.sub(mark, written).replace("->", "-&gt;"))  # noqa: S704


def render_markdown(text: str) -> Markup:
    """Markdown (CommonMark) as HTML; HTML in it stays text, and links go to web pages alone."""
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    return Markup(parser.render(spell_invisible(text)))  # noqa: S704


def spell_invisible(text: object) -> str:
    """Spell out invisible characters, such as marks that turn the writing round."""
    return escape_unprintable(str(text), keep="\n\t")

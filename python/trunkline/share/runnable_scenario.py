"""A scenario as a page runs it: network, parameters, bounds, charts; and its report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trunkline.engine import simulate
from trunkline.engine.packet_engine import get_engine_version
from trunkline.network import Network, compile
from trunkline.report.probed_runs import estimate_hops
from trunkline.report.reported_run import ReportedRun
from trunkline.results.displayed_columns import DISPLAYED_COLUMNS
from trunkline.scenario import Scenario, load
from trunkline.scenario.lesson import Lesson
from trunkline.share.chart_plans import list_named_probes, plan_charts
from trunkline.share.exercise_code import hash_scenario
from trunkline.share.network_variants import NetworkVariants, find_variants
from trunkline.share.offered_values import list_offered_parameters
from trunkline.share.results_book import build_results_book

MAX_PAGE_HOPS = 60_000_000  # Packets sent on links by one run: about a minute of a phone.
MAX_NETWORK_NUMBER = 2**53  # Beyond it a script's numbers are not exact.
TABLES_OF_PAGE = (
    "aggregates",
    "flows",
    "echoes",
    "calls",
    "videos",
    "completions",
    "fairness",
    "ports",
    "paths",
    "lsps",
)


class NotShareable(ValueError):
    """A page cannot run this scenario; the text says why."""


@dataclass(frozen=True, slots=True)
class RunnableScenario:
    """A scenario that a page can run."""

    scenario: Scenario  # The written scenario.
    # The written scenario, run once: shown by the page until somebody runs it.
    reported_run: ReportedRun
    variants: NetworkVariants  # Its network and the changes by the parameters.
    data: dict[str, Any]  # All of it as the page's scripts read it.


def build_runnable_scenario(
    file: str | Path,
    *,
    overrides: Mapping[str, str] | None = None,
    stated_values: Mapping[str, Sequence[str]] | None = None,
    seed: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> RunnableScenario:
    """Compile, run and vary a scenario for a page.

    file: The scenario.
    overrides: Values set over it for good.
    stated_values: Values to offer of parameters, in place of those of a slider.
    seed: Seed of the first run; the scenario's own if left out.
    progress: Called with the number of values compiled and of all.
    Raises ScenarioError: The scenario has errors.
    Raises NotShareable: A value belongs to no parameter, or a run is too large for a
        page.
    """
    fixed_values = dict(overrides or {})
    scenario = load(file, overrides=fixed_values)
    first_seed = scenario.run.seed if seed is None else seed
    network = compile(scenario)
    _check_numbers(network.data)
    run = simulate(network, seeds=[first_seed], scenario=scenario.text)[0]
    hops = estimate_hops(network.data, run)
    if hops > MAX_PAGE_HOPS:
        raise NotShareable(
            f"a run sends {hops / 1e6:.0f} million packets on links; a page runs up to "
            f"{MAX_PAGE_HOPS / 1e6:.0f} million. Shorten run.duration, or set scale"
        )
    name = str(network.data["name"])
    reported_run = ReportedRun(name, "", network.data, [run])
    lesson = scenario.lesson
    stated = {**(lesson.offer if lesson is not None else {}), **(stated_values or {})}
    try:
        offered = list_offered_parameters(scenario.text, stated)
    except KeyError as error:
        raise NotShareable(
            f"{error.args[0]} is no parameter; the scenario has "
            f"{', '.join(map(str, scenario.parameters)) or 'none'}"
        ) from None
    offered = [each for each in offered if each.name not in fixed_values]
    compiled: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {
        (): make_document(scenario, network)
    }

    def compile_values(values: Mapping[str, str]) -> Mapping[str, Any]:
        key = tuple(sorted(values.items()))
        if key not in compiled:
            compiled[key] = make_document(load(file, overrides=fixed_values | dict(values)))
        return compiled[key]

    variants = find_variants(compile_values, offered, progress)
    return RunnableScenario(
        scenario,
        reported_run,
        variants,
        {
            "name": name,
            "file": Path(file).name,
            "fixed": fixed_values,
            "seed": first_seed,
            "version": get_engine_version(),
            "hash": run.hash(),
            "document": variants.document,
            "groups": [
                {
                    "parameters": [asdict(each) for each in group.parameters],
                    "patches": {
                        ",".join(map(str, choice)): patch for choice, patch in group.patches.items()
                    },
                }
                for group in variants.groups
            ],
            "left_out": variants.left_out,
            "tables": [
                {
                    "name": table,
                    "names": DISPLAYED_COLUMNS[table][0].split(),
                    "measures": DISPLAYED_COLUMNS[table][1].split(),
                    "note": DISPLAYED_COLUMNS[table][2],
                }
                for table in TABLES_OF_PAGE
            ],
            "probes": list_named_probes(reported_run) if reported_run.probed.runs else [],
            "charts": plan_charts(reported_run),
            "book": build_results_book(),
            "lesson": None
            if lesson is None
            else _describe_tasks(lesson, load(file) if fixed_values else scenario),
        },
    )


def _describe_tasks(lesson: Lesson, written: Scenario) -> dict[str, Any]:
    """Describe the tasks of the lesson for the page's scripts; the page has the texts.

    Codes are of the written scenario, not of the values that a page sets.
    """
    tasks = [
        {
            "name": name,
            "targets": task.targets,
            "choices": task.choices,
            "answer": task.answer,
        }
        for name, task in lesson.tasks.items()
    ]
    return {"tasks": tasks, "scenario": hash_scenario(written)}


def make_document(scenario: Scenario, network: Network | None = None) -> dict[str, Any]:
    """Make the document of a page: the compiled network, and the bounds of its agreements.

    network: Compiled network of the scenario, where that is known.
    """
    bounds = [asdict(bound) for bound in scenario.list_sla_bounds()]
    return {"network": (network or compile(scenario)).data, "bounds": bounds}


def _check_numbers(part: Any) -> None:
    if isinstance(part, dict):
        for value in part.values():
            _check_numbers(value)
    elif isinstance(part, list):
        for value in part:
            _check_numbers(value)
    elif isinstance(part, int) and abs(part) >= MAX_NETWORK_NUMBER:
        raise NotShareable(f"the network has the number {part}, which scripts of pages round")

"""Whatever the planner writes loads: every key of the language through every way to write."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from trunkline import planning
from trunkline.planning.solver import SolverMethod
from trunkline.scenario import Scenario, ScenarioError, load
from trunkline.scenario.save import prove, read_scenario_tables

FILES = sorted((Path(__file__).parents[2] / "keys").glob("*.yaml"))


def placed(scenario: Scenario, *, reoptimise: bool) -> str:
    paths = planning.place(scenario, reoptimise=reoptimise).paths
    routes = {each.path: each.route for each in paths if each.placed}
    return planning.write_explicit_scenario(scenario, routes=routes)


def protected(scenario: Scenario, kind: str) -> str:
    return planning.write_explicit_scenario(planning.add_default_protection(scenario, kind=kind))


def solved(scenario: Scenario, method: SolverMethod) -> str:
    return planning.write_solution(
        scenario, planning.solve(scenario, method=method, evaluations=20)
    )


def refused(text: str, file: Path, scenario: Scenario) -> str:
    """Why a text does not load; empty if it does."""
    try:
        prove(text, file, read_scenario_tables(scenario))
    except ScenarioError as error:
        return str(error)
    return ""


WAYS: dict[str, Callable[[Scenario], str]] = {
    "place": lambda scenario: placed(scenario, reoptimise=False),
    "reoptimise": lambda scenario: placed(scenario, reoptimise=True),
    "facility-bypass": lambda scenario: protected(scenario, "facility-bypass"),
    "detour": lambda scenario: protected(scenario, "detour"),
    "ti-lfa": lambda scenario: protected(scenario, "ti-lfa"),
    "backup": lambda scenario: protected(scenario, "backup"),
    "one-plus-one": lambda scenario: protected(scenario, "one-plus-one"),
    "unsplit": lambda scenario: solved(scenario, "unsplit"),
    "igp-weights": lambda scenario: solved(scenario, "igp-weights"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_what_the_planner_writes_loads(file: Path, way: str) -> None:
    scenario = load(file)
    # No demands, or a protection that does not fit.
    with contextlib.suppress(ValueError):
        text = WAYS[way](scenario)
        assert not refused(text, file, scenario)


def test_paths_of_a_matrix_between_long_names_have_names_of_the_language() -> None:
    long = "L" * 62
    text = f"""
trunkline: 1
nodes: [{long}1, {long}2, {long}3]
defaults: {{link: {{rate: 10 Mbit/s}}}}
links: {{a: {{between: [{long}1, {long}2]}}, b: {{between: [{long}2, {long}3]}}}}
demands: {{m: {{lognormal: {{total: 6 Mbit/s}}}}}}
trunks: {{mesh: {{demands: all, path: auto}}}}
run: {{duration: 1 s}}
"""
    written = protected(load(text), "facility-bypass")
    names = prove(written, "again", {}).paths
    assert len(names) == 6
    assert all(len(name) <= 64 for name in names)


def test_a_trunk_may_name_a_way_back_that_is_not_placed() -> None:
    text = """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s}}
te: {unplaced: igp}
demands: {d: {from: A, to: B, rate: 1 Mbit/s}}
paths:
  there: {route: [A, B]}
  back: {from: B, to: A, route: auto, bandwidth: 60 Mbit/s}
trunks: {t: {demands: d, path: there, reverse: back}}
run: {duration: 1 s}
"""
    written = placed(load(text), reoptimise=False)
    assert prove(written, "again", {}).trunks["t"].reverse is None


def test_options_that_are_switched_on_without_values_stay_on() -> None:
    """`rerouting: {}` reroutes: a scenario that is written out must not lose it."""
    text = "trunkline: 1\nnodes: [A, B]\nlinks: {A-B: {rate: 1 Mbit/s}}\nrerouting: {}\n"
    scenario = load(text + "run: {duration: 1 s}\n")
    assert load(planning.write_explicit_scenario(scenario)).rerouting is not None

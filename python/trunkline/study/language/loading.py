"""Scenarios of a study, with what the study sets in them."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trunkline import scenario as scenarios
from trunkline.scenario import Scenario, ScenarioError
from trunkline.scenario.diagnostic import Path as Keys, with_place
from trunkline.scenario.loader import extended
from trunkline.scenario.places import locate
from trunkline.scenario.problems import path_text
from trunkline.study.language.model import Study
from trunkline.study.language.parts import Fitted, Script, Stated, Table

_SET = "--set "
"""What stands for the file of a value that is set in a scenario."""


def scenario_of(study: Study, table: Table, values: Mapping[str, str]) -> Scenario:
    """Load the scenario of a point.

    Raises
    ------
    ScenarioError
        The scenario is wrong, or a value that the study sets, with its place in the study file.
    """
    file, variant = study.folder / table.case.scenario, table.variant
    overrides = study.settings(table) | dict(values)
    if variant is not None:
        known = parameters(file)
        overrides |= {key: its for key, its in variant.set.items() if key in known or "." in key}
    try:
        loaded = scenarios.load(file, overrides=overrides)
    except ScenarioError as error:
        raise _in_the_study(error, study, table, values) from None
    if variant is None or variant.tc is None:
        return loaded
    return _with_script(loaded, study.folder, variant.tc)


def text_of(study: Study, table: Table, values: Mapping[str, str]) -> str:
    """Text of what :func:`scenario_of` loads."""
    return scenario_of(study, table, values).dump()


def parameters(file: Path) -> frozenset[str]:
    """Names of a scenario's parameters."""
    try:
        return _parameters(file, file.stat().st_mtime_ns)
    except OSError:
        return frozenset(scenarios.load(file).parameters)  # It tells why it cannot be read.


@functools.lru_cache(maxsize=64)
def _parameters(file: Path, _changed_at: int) -> frozenset[str]:
    return frozenset(scenarios.load(file).parameters)


def _in_the_study(
    error: ScenarioError, study: Study, table: Table, values: Mapping[str, str]
) -> ScenarioError:
    """Faults of a scenario, those of values that the study sets with their places there."""
    if not any(each.file.startswith(_SET) for each in error.diagnostics):
        return error
    file = str(study.file)
    placed = []
    for each in error.diagnostics:
        if each.file.startswith(_SET):
            keys = _keys(study, table, values, each.file.removeprefix(_SET))
            place = locate(study.document, keys, False)
            each = with_place(replace(each, path=path_text(keys)), file, place)
        placed.append(each)
    return ScenarioError(placed)


def _keys(study: Study, table: Table, values: Mapping[str, str], name: str) -> Keys:
    """Where a study file says what a parameter is: the last to set it counts."""
    variant, case = table.variant, ("cases", table.base)
    if variant is not None and name in variant.set:
        return ("variants", study.variants.index(variant), "set", name)
    if name in values:
        return _axis(study, table, values, name)
    if name in table.case.set:
        return (*case, "set", name)
    said: dict[str, Sequence[Fitted | Stated]] = {"fitted": study.fitted, "stated": study.stated}
    for key, items in said.items():
        for index, item in enumerate(items):
            if item.parameter == name:
                return (key, index, "value")
    return case


def _axis(study: Study, table: Table, values: Mapping[str, str], name: str) -> Keys:
    """Where a study file says what a parameter is in a row."""
    case = table.case
    if case.rows is not None:
        label = next(label for label, its in case.rows.items() if its == values)
        return ("cases", table.base, "rows", label, name)
    if case.grid is not None:
        return ("cases", table.base, "grid", name, case.grid[name].index(values[name]))
    if name in study.grid:
        return ("grid", name, study.grid[name].index(values[name]))
    for index, group in enumerate(study.zip):
        if name in group:
            return ("zip", index, name, group[name].index(values[name]))
    return ("sample", "ranges", name)


def _with_script(scenario: Scenario, folder: Path, said: Script) -> Scenario:
    """A scenario whose routers are configured by a script of tc."""
    from trunkline.importers import read_tc

    made = read_tc((folder / said.script).read_text("utf-8"))
    ports = {name: made.ports[of] for name, of in said.ports.items()}
    edges = {name: made.conditioners[of] for name, of in said.conditioners.items()}
    with_edges = extended(scenario, "conditioners", edges, said.script)
    return extended(with_edges, "ports", ports, said.script)

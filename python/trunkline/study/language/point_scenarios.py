"""Scenarios of a study, with the values that the study sets."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trunkline import scenario as scenarios
from trunkline.scenario import Scenario, ScenarioError
from trunkline.scenario.diagnostic import DocumentPath as Keys, set_place
from trunkline.scenario.loader import extend_section
from trunkline.scenario.problems import format_path
from trunkline.scenario.source_positions import find_place
from trunkline.study.language.model import Study
from trunkline.study.language.parts import FittedParameter, GivenParameter, StudyTable, TcScript

_SET_PREFIX = "--set "  # Replaces the file of a value that is set in a scenario.


def load_point_scenario(study: Study, table: StudyTable, values: Mapping[str, str]) -> Scenario:
    """Load the scenario of a point.

    Raises ScenarioError: The scenario is wrong, or a value that the study sets, with its place in
        the study file.
    """
    file, variant = study.folder / table.case.scenario, table.variant
    overrides = study.get_settings(table) | dict(values)
    if variant is not None:
        known = list_parameters(file)
        overrides |= {
            key: value for key, value in variant.set.items() if key in known or "." in key
        }
    try:
        loaded = scenarios.load(file, overrides=overrides)
    except ScenarioError as error:
        raise _place_in_study(error, study, table, values) from None
    if variant is None or variant.tc is None:
        return loaded
    return _apply_tc_script(loaded, study.folder, variant.tc)


def dump_point_scenario(study: Study, table: StudyTable, values: Mapping[str, str]) -> str:
    """Text of the scenario that :func:`load_point_scenario` loads."""
    return load_point_scenario(study, table, values).dump()


def list_parameters(file: Path) -> frozenset[str]:
    """List the names of a scenario's parameters."""
    try:
        return _cached_parameters(file, file.stat().st_mtime_ns)
    except OSError:
        return frozenset(scenarios.load(file).parameters)  # Its error says why it cannot be read.


@functools.lru_cache(maxsize=64)
def _cached_parameters(file: Path, _changed_at: int) -> frozenset[str]:
    return frozenset(scenarios.load(file).parameters)


def _place_in_study(
    error: ScenarioError, study: Study, table: StudyTable, values: Mapping[str, str]
) -> ScenarioError:
    """Faults of a scenario, those of values that the study sets with their places there."""
    if not any(each.file.startswith(_SET_PREFIX) for each in error.diagnostics):
        return error
    file = str(study.file)
    placed = []
    for each in error.diagnostics:
        if each.file.startswith(_SET_PREFIX):
            keys = _find_parameter_key(study, table, values, each.file.removeprefix(_SET_PREFIX))
            place = find_place(study.document, keys, False)
            each = set_place(replace(each, path=format_path(keys)), file, place)
        placed.append(each)
    return ScenarioError(placed)


def _find_parameter_key(
    study: Study, table: StudyTable, values: Mapping[str, str], name: str
) -> Keys:
    """Find the place in a study file that sets a parameter: the last counts."""
    variant, case = table.variant, ("cases", table.base)
    if variant is not None and name in variant.set:
        return ("variants", study.variants.index(variant), "set", name)
    if name in values:
        return _find_axis_key(study, table, values, name)
    if name in table.case.set:
        return (*case, "set", name)
    parameters_by_key: dict[str, Sequence[FittedParameter | GivenParameter]] = {
        "fitted": study.fitted,
        "stated": study.stated,
    }
    for key, items in parameters_by_key.items():
        for index, item in enumerate(items):
            if item.parameter == name:
                return (key, index, "value")
    return case


def _find_axis_key(study: Study, table: StudyTable, values: Mapping[str, str], name: str) -> Keys:
    """Find the place in a study file that sets a parameter of a row."""
    case = table.case
    if case.rows is not None:
        label = next(label for label, row_values in case.rows.items() if row_values == values)
        return ("cases", table.base, "rows", label, name)
    if case.grid is not None:
        return ("cases", table.base, "grid", name, case.grid[name].index(values[name]))
    if name in study.grid:
        return ("grid", name, study.grid[name].index(values[name]))
    for index, group in enumerate(study.zip):
        if name in group:
            return ("zip", index, name, group[name].index(values[name]))
    return ("sample", "ranges", name)


def _apply_tc_script(scenario: Scenario, folder: Path, script: TcScript) -> Scenario:
    """A scenario whose routers are configured by a script of tc."""
    from trunkline.importers import read_tc

    imported = read_tc((folder / script.script).read_text("utf-8"))
    ports = {name: imported.ports[device] for name, device in script.ports.items()}
    edges = {name: imported.conditioners[device] for name, device in script.conditioners.items()}
    with_edges = extend_section(scenario, "conditioners", edges, script.script)
    return extend_section(with_edges, "ports", ports, script.script)

"""The whole network at another rate: all rates times a factor, delays and packets unchanged."""

import operator
from copy import copy
from dataclasses import replace
from functools import cache
from typing import Any, get_args

from trunkline.scenario.base import Element
from trunkline.scenario.fields import RateOrShareField
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import ResolvedArc, ResolvedScenario
from trunkline.scenario.units import RATE

SCALED = (
    *("ports", "classes", "conditioners", "flows", "slas"),
    *("paths", "signalling", "events", "path_requests"),
)
"""ScenarioSections of the resolved scenario that hold rates, links apart."""


def scale_rates(scenario: ResolvedScenario, problems: Problems) -> None:
    """Scales all rates: of links, ports, conditioners, flows, paths, signalling and agreements."""
    factor = scenario.written.scale
    if factor == 1:
        return
    scenario.before_scale = copy(scenario)
    scenario.arcs = [
        replace(arc, options=_scale_value(arc.options, factor)) for arc in scenario.arcs
    ]
    scenario.arc_by_name = {arc.name: arc for arc in scenario.arcs}
    scenario.arcs_between = _group_by_ends(scenario.arcs)
    for key in SCALED:
        section = _scale_value(getattr(scenario, key), factor)
        setattr(scenario, key, dict(section) if isinstance(section, dict) else section)
    scenario.reservations = {
        path: (_times(rate, factor), type_) for path, (rate, type_) in scenario.reservations.items()
    }


def _group_by_ends(arcs: list[ResolvedArc]) -> dict[tuple[str, str], list[ResolvedArc]]:
    found: dict[tuple[str, str], list[ResolvedArc]] = {}
    for arc in arcs:
        found.setdefault((arc.source, arc.target), []).append(arc)
    return found


def _scale_value(value: Any, factor: float) -> Any:
    """A value with every rate in it times a factor, at least 1 bit/s."""
    if isinstance(value, Element):
        update = {}
        for key, is_rate in _keys(type(value)).items():
            old = getattr(value, key)
            new = _times(old, factor) if is_rate else _scale_value(old, factor)
            if new is not old:
                update[key] = new
        return value.model_copy(update=update) if update else value
    # An object without rates stays the same, and a key that was not set stays so.
    if isinstance(value, dict):
        scaled = {key: _scale_value(each, factor) for key, each in value.items()}
        return scaled if any(scaled[key] is not value[key] for key in value) else value
    if isinstance(value, tuple):
        each_scaled = tuple(_scale_value(each, factor) for each in value)
        return each_scaled if any(map(operator.is_not, each_scaled, value)) else value
    return value


def _times(rate: Any, factor: float) -> Any:
    """A rate, or each of several, times a factor, at least 1 bit/s; a share stays."""
    if type(rate) is int:
        return max(1, round(rate * factor)) if rate else 0
    if isinstance(rate, tuple):
        return tuple(_times(each, factor) for each in rate)
    return rate


@cache
def _keys(kind: type[Element]) -> dict[str, bool]:
    """Keys of a section that hold a rate, or elements that may, and whether it is a rate."""
    found = {}
    for key, about in kind.model_fields.items():
        marks = [about.annotation, *about.metadata, *_list_marks(about.annotation)]
        is_rate = any(map(_is_rate, marks))
        if is_rate or any(isinstance(each, type) and issubclass(each, Element) for each in marks):
            found[key] = is_rate
    return found


def _list_marks(annotation: Any) -> list[Any]:
    """List the marks of an annotation besides its type, alternatives included."""
    return [mark for each in get_args(annotation) for mark in (each, *_list_marks(each))]


def _is_rate(mark: object) -> bool:
    return getattr(mark, "dimension", None) is RATE or isinstance(mark, RateOrShareField)

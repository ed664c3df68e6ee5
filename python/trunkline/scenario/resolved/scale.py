"""The whole network at another rate: all rates times a factor, delays and packets as they are."""

from copy import copy
from dataclasses import replace
from functools import cache
from typing import Any, get_args

from trunkline.scenario.base import Element
from trunkline.scenario.fields import RateOrShareField
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import Arc, Resolved
from trunkline.scenario.units import RATE


def scale(scenario: Resolved, problems: Problems) -> None:
    """Scales links, ports, conditioners, flows and the rates that agreements promise."""
    factor = scenario.written.scale
    if factor == 1:
        return
    scenario.before_scale = copy(scenario)
    for key in ("ports", "conditioners", "flows", "slas"):
        setattr(scenario, key, dict(getattr(scenario, key)))
    scenario.arcs = [replace(arc, options=_scaled(arc.options, factor)) for arc in scenario.arcs]
    scenario.arc = {arc.name: arc for arc in scenario.arcs}
    scenario.between = _between(scenario.arcs)
    for section in (scenario.ports, scenario.conditioners, scenario.flows, scenario.slas):
        its: dict[str, Any] = section
        for name, element in its.items():
            its[name] = _scaled(element, factor)


def _between(arcs: list[Arc]) -> dict[tuple[str, str], list[Arc]]:
    found: dict[tuple[str, str], list[Arc]] = {}
    for arc in arcs:
        found.setdefault((arc.source, arc.target), []).append(arc)
    return found


def _scaled(value: Any, factor: float) -> Any:
    """A value with every rate in it times a factor, at least 1 bit/s."""
    if isinstance(value, Element):
        update = {}
        for key in value.model_fields_set & set(type(value).model_fields):
            old = getattr(value, key)
            is_rate = key in _rates(type(value)) and type(old) is int
            new = max(1, round(old * factor)) if is_rate else _scaled(old, factor)
            if new is not old:
                update[key] = new
        return value.model_copy(update=update) if update else value
    if isinstance(value, dict):
        return {key: _scaled(each, factor) for key, each in value.items()}
    if isinstance(value, tuple) and any(isinstance(each, Element) for each in value):
        return tuple(_scaled(each, factor) for each in value)
    return value


@cache
def _rates(kind: type[Element]) -> frozenset[str]:
    """Keys of a section that hold a rate."""
    return frozenset(
        key
        for key, about in kind.model_fields.items()
        if any(map(_is_rate, (*about.metadata, *_marks(about.annotation))))
    )


def _marks(annotation: Any) -> list[Any]:
    """What an annotation says of a value beside its type, alternatives included."""
    return [mark for each in get_args(annotation) for mark in (each, *_marks(each))]


def _is_rate(mark: object) -> bool:
    return getattr(mark, "dimension", None) is RATE or isinstance(mark, RateOrShareField)

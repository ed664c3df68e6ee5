"""YAML of other programs as plain values with places, by the reader of scenarios: no tags."""

from typing import Any

from trunkline.importers.common.fault import ImportFault
from trunkline.scenario.diagnostic import ScenarioError
from trunkline.scenario.text import Map, Seq, parse


def document(content: str) -> Map:
    """The mapping that a file holds.

    Raises
    ------
    ImportFault
        It is not YAML, beyond the limits of a scenario, or no mapping.
    """
    try:
        value, _ = parse(content, "")
    except ScenarioError as error:
        first = error.diagnostics[0]
        raise ImportFault(first.line, first.column, first.message) from None
    return mapping(value, "the file", 1)


def mapping(value: Any, what: str, line: int) -> Map:
    """A value that must be a mapping; nothing is an empty one.

    Raises
    ------
    ImportFault
        It is something else.
    """
    if value is None:
        return Map()
    if not isinstance(value, Map):
        raise ImportFault(line, 1, f"{what} must be a mapping")
    return value


def sequence(value: Any, what: str, line: int) -> Seq:
    """A value that must be a list; nothing is an empty one.

    Raises
    ------
    ImportFault
        It is something else.
    """
    if value is None:
        return Seq()
    if not isinstance(value, Seq):
        raise ImportFault(line, 1, f"{what} must be a list")
    return value


def line_of(inside: Map | Seq, key: str | int) -> int:
    """Line of a value in what encloses it."""
    if isinstance(inside, Map):
        return inside.value_places[str(key)].line
    return inside.value_places[int(key)].line

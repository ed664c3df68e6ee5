"""YAML of other programs as plain values with places, by the reader of scenarios: no tags."""

from typing import Any, TypeVar

from trunkline.importers.common.fault import ImportFault
from trunkline.scenario.diagnostic import ScenarioError
from trunkline.scenario.text import Map, Seq, parse

Kind = TypeVar("Kind", Map, Seq)


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
    """A value that must be a mapping; nothing is an empty one."""
    return _of(Map, "mapping", value, what, line)


def sequence(value: Any, what: str, line: int) -> Seq:
    """A value that must be a list; nothing is an empty one."""
    return _of(Seq, "list", value, what, line)


def _of(kind: type[Kind], called: str, value: Any, what: str, line: int) -> Kind:
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise ImportFault(line, 1, f"{what} must be a {called}")
    return value


def line_of(inside: Map | Seq, key: str | int) -> int:
    """Line of a value in what encloses it."""
    if isinstance(inside, Map):
        return inside.value_places[str(key)].line
    return inside.value_places[int(key)].line

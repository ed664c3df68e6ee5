"""YAML of other programs as plain values with places, by the reader of scenarios: no tags."""

from typing import Any, TypeVar

from trunkline.importers.common.fault import ImportFault
from trunkline.scenario.diagnostic import ScenarioError
from trunkline.scenario.yaml_text import PlacedList, PlacedMap, parse_yaml

NodeKind = TypeVar("NodeKind", PlacedMap, PlacedList)


def parse_document(content: str) -> PlacedMap:
    """The mapping that a file holds.

    Raises
    ------
    ImportFault
        It is not YAML, beyond the limits of a scenario, or no mapping.
    """
    try:
        value, _ = parse_yaml(content, "")
    except ScenarioError as error:
        first = error.diagnostics[0]
        raise ImportFault(first.line, first.column, first.message) from None
    return require_mapping(value, "the file", 1)


def require_mapping(value: Any, description: str, line: int) -> PlacedMap:
    """A value that must be a mapping; nothing is an empty one."""
    return _require_kind(PlacedMap, "mapping", value, description, line)


def require_sequence(value: Any, description: str, line: int) -> PlacedList:
    """A value that must be a list; nothing is an empty one."""
    return _require_kind(PlacedList, "list", value, description, line)


def _require_kind(
    kind: type[NodeKind], kind_name: str, value: Any, description: str, line: int
) -> NodeKind:
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise ImportFault(line, 1, f"{description} must be a {kind_name}")
    return value


def get_line(container: PlacedMap | PlacedList, key: str | int) -> int:
    """Line of a value in what encloses it."""
    if isinstance(container, PlacedMap):
        return container.value_places[str(key)].line
    return container.value_places[int(key)].line

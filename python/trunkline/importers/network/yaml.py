"""YAML of other programs as a tree of elements, by the reader of scenarios: no tags."""

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement, make_file_elements
from trunkline.scenario.diagnostic import ScenarioError
from trunkline.scenario.yaml_text import PlacedMap, parse_yaml


def parse_document(content: str) -> FileElement:
    """Parse the mapping that a file holds.

    Raises ImportFault: It is not YAML, beyond the limits of a scenario, or no mapping.
    """
    try:
        value, _ = parse_yaml(content, "")
    except ScenarioError as error:
        first = error.diagnostics[0]
        raise ImportFault(first.line, first.column, first.message) from None
    if not isinstance(value, PlacedMap):
        raise ImportFault(1, 1, "the file must be a mapping")
    return make_file_elements(value, line=1)


def is_sequence(element: FileElement) -> bool:
    """Whether it is a list: all its children are items."""
    return bool(element.children) and all(each.name == "item" for each in element.children)


def require_sequence(element: FileElement | None, description: str) -> list[FileElement]:
    """Items of an element that must be a list; nothing is an empty one.

    Raises ImportFault: It is a mapping or a single value.
    """
    if element is None or (element.value is None and not element.children):
        return []
    if not is_sequence(element):
        raise ImportFault(element.line, 1, f"{description} must be a list")
    return element.read_children()

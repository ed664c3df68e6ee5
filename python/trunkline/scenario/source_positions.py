"""Source positions: from paths of a document to lines and columns of its file."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from trunkline.scenario.diagnostic import Diagnostic, DocumentPath, Place, set_place
from trunkline.scenario.problems import Finding
from trunkline.scenario.yaml_text import PlacedList, PlacedMap


@dataclass(frozen=True)
class DocumentOrigin:
    """Origin of a document."""

    file: str = ""  # Name for messages; empty for a document built in Python.
    content: str = ""  # The text.
    # Folder of the files that the scenario names; None: it may name none.
    folder: str | None = None
    stem: str | None = None  # Name for a scenario that has none of its own.
    is_text: bool = False  # Whether quantities must have units and the version must be given.


def place_findings(found: Iterable[Finding], document: Any, file: str) -> list[Diagnostic]:
    """Diagnostics with their places filled in from the document."""
    placed = []
    for finding in found:
        diagnostic = set_place(
            finding.diagnostic,
            file,
            finding.place or find_place(document, finding.path, finding.at_key),
        )
        related = [
            (place, remark)
            for path, remark in finding.related
            if (place := find_place(document, path, True)) is not None
        ]
        placed.append(replace(diagnostic, related=tuple(related)))
    return placed


def find_place(document: Any, path: DocumentPath, at_key: bool) -> Place | None:
    """Place of a path in a document: of its value, or of its key; else of the enclosing value."""
    place = None
    value = document
    for index, part in enumerate(path):
        last = index == len(path) - 1
        if isinstance(value, PlacedMap) and part in value:
            key = str(part)
            as_key = (last and at_key) or isinstance(value[key], dict | list)
            # A mapping or a list is best shown by its key, which is on one line.
            place = value.key_places.get(key) if as_key else value.value_places.get(key)
            value = value[key]
            continue
        if isinstance(value, PlacedList):
            item_index = part if isinstance(part, int) else _find_item(value, part)
            if item_index is not None and item_index < len(value):
                place, value = value.value_places[item_index], value[item_index]
                continue
        break
    if place is None and isinstance(document, PlacedMap):
        return next(iter(document.key_places.values()), Place(1, 1))
    return place


def _find_item(items: PlacedList, name: str) -> int | None:
    texts = [str(each) for each in items]
    return texts.index(name) if name in texts else None

"""Places of what is written: paths of a document to lines and columns of its file."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from trunkline.scenario.diagnostic import Diagnostic, Path, Place, with_place
from trunkline.scenario.problems import Finding
from trunkline.scenario.text import Map, Seq


@dataclass(frozen=True)
class Origin:
    """Where a document comes from.

    Attributes
    ----------
    file : str
        Name for messages; empty for a document built in Python.
    content : str
        The text.
    folder : str or None
        Folder of the files that the scenario names; None: it may name none.
    stem : str or None
        Name for a scenario that has none of its own.
    is_text : bool
        Whether quantities must have units and the version must be given.
    """

    file: str = ""
    content: str = ""
    folder: str | None = None
    stem: str | None = None
    is_text: bool = False


def place_all(found: Iterable[Finding], document: Any, file: str) -> list[Diagnostic]:
    """Diagnostics with their places filled in from the document."""
    placed = []
    for finding in found:
        diagnostic = with_place(
            finding.diagnostic,
            file,
            finding.place or locate(document, finding.path, finding.at_key),
        )
        related = [
            (place, why)
            for path, why in finding.related
            if (place := locate(document, path, True)) is not None
        ]
        placed.append(replace(diagnostic, related=tuple(related)))
    return placed


def locate(document: Any, path: Path, at_key: bool) -> Place | None:
    """Place of a path in a document: of its value, or of its key; else of what encloses it."""
    place = None
    value = document
    for index, part in enumerate(path):
        last = index == len(path) - 1
        if isinstance(value, Map) and part in value:
            key = str(part)
            as_key = (last and at_key) or isinstance(value[key], dict | list)
            # A mapping or a list is best shown by its key, which stands on one line.
            place = value.key_places.get(key) if as_key else value.value_places.get(key)
            value = value[key]
            continue
        if isinstance(value, Seq):
            at = part if isinstance(part, int) else _index(value, part)
            if at is not None and at < len(value):
                place, value = value.value_places[at], value[at]
                continue
        break
    if place is None and isinstance(document, Map):
        return next(iter(document.key_places.values()), Place(1, 1))
    return place


def _index(items: Seq, name: str) -> int | None:
    texts = [str(each) for each in items]
    return texts.index(name) if name in texts else None

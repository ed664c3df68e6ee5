"""Placeholders for faulty values, so that the same round shows faults between elements.

Faults of single values keep a scenario from being built, and only a built scenario can be checked
as a whole. So a draft takes a plausible value where one is at fault; what the checks then say of
an element that has a stand-in is left out, because it may be about the stand-in.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import ValidationError

from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.model import ScenarioSections
from trunkline.scenario.validation_errors import find_document_path

ScenarioType = TypeVar("ScenarioType", bound=ScenarioSections)

_PLACEHOLDERS = ("1 s", "1 Mbit/s", "1000 B", "1 packets", 1, "10 %", "A")
"""Tried in turn: one for each kind of quantity, and a name."""

_LONG_DURATION = "1000000 s"  # Replaces a duration, so that no start or stop lies after it.

_GLOBAL_SECTIONS = ("nodes", "defaults", "parameters")  # Sections whose faults touch every element.


def build_draft(
    kind: type[ScenarioType], document: Any, faults: Iterable[DocumentPath], context: dict[str, Any]
) -> ScenarioType | None:
    """Build a scenario like the document, with stand-ins where it is at fault.

    Returns: None if a fault touches everything or no stand-in fits.
    """
    draft = _copy_document(document)
    for path in faults:
        if len(path) < 2 or path[0] in _GLOBAL_SECTIONS or not _remove_value(draft, path):
            return None
    for placeholder in (None, *_PLACEHOLDERS):
        try:
            return kind.model_validate(draft, context=context)
        except ValidationError as error:
            for item in error.errors(include_url=False, include_input=False):
                path = find_document_path(item["loc"], draft)
                if placeholder is None:
                    _set_value(draft, path, _PLACEHOLDERS[0])
                else:
                    _set_value(
                        draft, path, _LONG_DURATION if path[-1:] == ("duration",) else placeholder
                    )
    return None


def is_unrelated(path: DocumentPath, faults: Iterable[DocumentPath]) -> bool:
    """Whether a finding is about no element that is at fault itself."""
    depth = 1 if path[:1] == ("run",) else 2
    return all(path[:depth] != fault[:depth] for fault in faults)


def _copy_document(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy_document(item) for key, item in value.items()}
    return [_copy_document(item) for item in value] if isinstance(value, list) else value


def _find_container(draft: Any, path: DocumentPath) -> Any:
    for key in path[:-1]:
        try:
            draft = draft[key]
        except (KeyError, IndexError, TypeError):
            return None
    return draft


def _remove_value(draft: Any, path: DocumentPath) -> bool:
    holder = _find_container(draft, path)
    if isinstance(holder, dict):
        holder.pop(path[-1], None)
    elif isinstance(holder, list) and isinstance(path[-1], int) and path[-1] < len(holder):
        holder[path[-1]] = None
    else:
        return False
    return True


def _set_value(draft: Any, path: DocumentPath, value: Any) -> None:
    if not path:
        return
    holder, key = _find_container(draft, path), path[-1]
    inside = isinstance(holder, list) and isinstance(key, int) and key < len(holder)
    if isinstance(holder, dict) or inside:
        holder[key] = value

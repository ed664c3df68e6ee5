"""Stand-ins for faulty values, so that what is wrong between elements is seen in the same round.

Faults of single values keep a scenario from being built, and only a built scenario can be checked
as a whole. So a draft takes a plausible value where one is at fault; what the checks then say of
an element that has a stand-in is left out, because it may be about the stand-in.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import ValidationError

from trunkline.scenario.diagnostic import Path
from trunkline.scenario.explain import place_of
from trunkline.scenario.model import Sections

Kind = TypeVar("Kind", bound=Sections)

_STAND_INS = ("1 s", "1 Mbit/s", "1000 B", "1 packets", 1, "10 %", "A")
"""Tried in turn: one for each kind of quantity, and a name."""

_LONG = "1000000 s"
"""Stands in for a duration, so that no start or stop lies after it."""

_EVERYWHERE = ("nodes", "defaults", "parameters")
"""Sections whose faults touch every element."""


def mended(
    kind: type[Kind], document: Any, faults: Iterable[Path], context: dict[str, Any]
) -> Kind | None:
    """A scenario like the document, with stand-ins where it is at fault.

    Returns
    -------
    Scenario or None
        None if a fault touches everything or no stand-in fits.
    """
    draft = _copy(document)
    for path in faults:
        if len(path) < 2 or path[0] in _EVERYWHERE or not _remove(draft, path):
            return None
    for stand_in in (None, *_STAND_INS):
        try:
            return kind.model_validate(draft, context=context)
        except ValidationError as error:
            for item in error.errors(include_url=False, include_input=False):
                path = place_of(item["loc"], draft)
                if stand_in is None:
                    _put(draft, path, _STAND_INS[0])
                else:
                    _put(draft, path, _LONG if path[-1:] == ("duration",) else stand_in)
    return None


def apart(path: Path, faults: Iterable[Path]) -> bool:
    """Whether a finding is about no element that is at fault itself."""
    depth = 1 if path[:1] == ("run",) else 2
    return all(path[:depth] != fault[:depth] for fault in faults)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _holder(draft: Any, path: Path) -> Any:
    for key in path[:-1]:
        try:
            draft = draft[key]
        except (KeyError, IndexError, TypeError):
            return None
    return draft


def _remove(draft: Any, path: Path) -> bool:
    holder = _holder(draft, path)
    if isinstance(holder, dict):
        holder.pop(path[-1], None)
    elif isinstance(holder, list) and isinstance(path[-1], int) and path[-1] < len(holder):
        holder[path[-1]] = None
    else:
        return False
    return True


def _put(draft: Any, path: Path, value: Any) -> None:
    if not path:
        return
    holder, key = _holder(draft, path), path[-1]
    inside = isinstance(holder, list) and isinstance(key, int) and key < len(holder)
    if isinstance(holder, dict) or inside:
        holder[key] = value

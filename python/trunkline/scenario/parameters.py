"""Parameters and overrides: from the document as written to the document as meant.

A scalar that is ``$name`` stands for the parameter's value, one that is ``${...}`` for the value
of the expression. Overrides replace a parameter or any value by its path before that.
"""

import re
from collections.abc import Mapping
from typing import Any

from trunkline.scenario import expression, units, yaml_text
from trunkline.scenario.diagnostic import DocumentPath, Place, ScenarioError, suggest_nearest
from trunkline.scenario.expression import ExpressionError
from trunkline.scenario.problems import NAMED_SECTIONS, Problems
from trunkline.scenario.yaml_text import PlacedList, PlacedMap

_NAME_PATTERN = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_REFERENCE_PATTERN = re.compile(r"\$([A-Za-z_]\w*)\Z", re.ASCII)
_EXPRESSION_PATTERN = re.compile(r"\$\{(.*)\}\Z", re.DOTALL)


def apply_overrides(document: Any, overrides: Mapping[str, str], problems: Problems) -> Any:
    """The document with values replaced.

    document: PlacedMap or dict; the document; not changed.
    overrides: Name of a parameter, or path (``links.R1-R2.rate`` or ``links[R1-R2].rate``), to the
        new value as YAML text.
    """
    for key, value_text in overrides.items():
        try:
            value, place = yaml_text.parse_yaml(str(value_text), f"--set {key}")
        except ScenarioError as error:
            first = error.diagnostics[0]
            error_place = Place(first.line, first.column, first.length, first.file)
            problems.add("override", (), first.message, given=str(value_text), place=error_place)
            continue
        file = f"--set {key}"
        place = place._replace(file=file)
        _set_file_of_places(value, file)
        parameters = document.get("parameters") if isinstance(document, dict) else None
        if isinstance(parameters, dict) and key in parameters:
            document = replaced(document, ["parameters", key], value, place)
            continue
        path = _find_path(document, key)
        if path is None:
            known_keys = list(parameters) if isinstance(parameters, dict) else []
            known_keys += _list_similar_paths(document, key)
            problems.add(
                "override",
                (),
                "neither a parameter nor a path of this scenario",
                hint=suggest_nearest(key, known_keys),
                place=Place(1, 1, 0, f"--set {key}"),
            )
            continue
        document = replaced(document, path, value, place)
    return document


def _set_file_of_places(value: Any, file: str) -> None:
    """Set the place of all values of an override to the override, not the scenario's file."""
    if isinstance(value, PlacedMap):
        value.key_places = {
            key: place._replace(file=file) for key, place in value.key_places.items()
        }
        value.value_places = {
            key: place._replace(file=file) for key, place in value.value_places.items()
        }
    elif isinstance(value, PlacedList):
        value.value_places = [place._replace(file=file) for place in value.value_places]
    else:
        return
    for each in value.values() if isinstance(value, PlacedMap) else value:
        _set_file_of_places(each, file)


def _normalise_key(key: str) -> str:
    return re.sub(r"\[([^\]]*)\]", r".\1", key)


def _find_path(document: Any, key: str) -> list[Any] | None:
    """Find the path of an override; its last key may be new, all others must exist."""
    path: list[Any] = []
    remaining_key = _normalise_key(key)
    while True:
        if isinstance(document, dict):
            # Names may hold dots: take the longest key that fits.
            matching_keys = [
                each
                for each in document
                if remaining_key == each or remaining_key.startswith(f"{each}.")
            ]
            step = max(matching_keys, key=len, default=None)
            if step is None:
                return _find_absent_path(path, remaining_key)
            path.append(step)
            document, remaining_key = document[step], remaining_key[len(step) + 1 :]
        elif isinstance(document, list):
            index, _, remaining_key = remaining_key.partition(".")
            number = units.parse_integer(index) if index.isdecimal() else None
            if number is None or number >= len(document):
                return None
            path.append(number)
            document = document[number]
        else:
            return None
        if not remaining_key:
            return path


def _find_absent_path(path: list[Any], remaining_key: str) -> list[Any] | None:
    """Path to keys that the file leaves to their defaults; not to new links, flows and so on."""
    if not re.fullmatch(r"[a-z_]+(\.[a-z_]+)*", remaining_key):
        return None
    if path:
        return None if path[-1] in NAMED_SECTIONS else [*path, *remaining_key.split(".")]
    return (
        list(remaining_key.split("."))
        if remaining_key.startswith(("run.", "defaults.", "name"))
        else None
    )


def _list_similar_paths(document: Any, key: str) -> list[str]:
    parts = _normalise_key(key).split(".")
    found: list[str] = []
    prefix: list[str] = []
    for part in parts:
        if not isinstance(document, dict):
            break
        found += [".".join([*prefix, str(each)]) for each in list(document)[:2000]]
        close = part if part in document else None
        if close is None:
            break
        prefix.append(close)
        document = document[close]
    tail = parts[len(prefix) + 1 :]
    return [".".join([each, *tail]) for each in found if each.count(".") == len(prefix)]


def replaced(document: Any, path: list[Any], value: Any, place: Place) -> Any:
    """A copy of a document with a value at a path; other values keep their places."""
    if not path:
        return value
    copy: Any = PlacedMap() if document is None else _copy_container(document)
    step = path[0]
    inner = copy.get(step) if isinstance(copy, dict) else copy[step]
    copy[step] = replaced(inner, path[1:], value, place)
    if isinstance(copy, PlacedMap) and isinstance(step, str):
        copy.key_places.setdefault(step, place)
        if len(path) == 1:
            copy.value_places[step] = place
    elif isinstance(copy, PlacedList) and len(path) == 1 and isinstance(step, int):
        copy.value_places[step] = place
    return copy


def _copy_container(value: Any) -> Any:
    if isinstance(value, PlacedMap):
        mapping = PlacedMap()
        mapping.update(value)
        mapping.key_places = dict(value.key_places)
        mapping.value_places = dict(value.value_places)
        return mapping
    if isinstance(value, PlacedList):
        sequence = PlacedList()
        sequence.extend(value)
        sequence.value_places = list(value.value_places)
        return sequence
    return dict(value) if isinstance(value, Mapping) else list(value)


def substitute_parameters(document: Any, problems: Problems) -> Any:
    """The document with ``$name`` and ``${...}`` replaced by their values.

    document: PlacedMap or dict; the document; not changed.
    problems: Gets the faults; the place then keeps its text.
    Returns: PlacedMap or dict; a copy where something was replaced, else the same object.
    """
    parameters = document.get("parameters") if isinstance(document, dict) else None
    values: dict[str, Any] = {}
    if isinstance(parameters, dict):
        for name, value in parameters.items():
            path: DocumentPath = ("parameters", name)
            if not isinstance(name, str) or not _NAME_PATTERN.match(name):
                message = "a parameter's name must be a word of letters, digits and _"
                problems.add("name", path, message, given=str(name), at_key=True)
            elif isinstance(value, dict | list):
                problems.add("type", path, "a parameter must be one value, not a list or mapping")
            else:
                values[name] = _substitute_scalar(value, values, path, problems)
        document = _copy_container(document)
        document["parameters"] = _update_values(parameters, values)
    return _substitute_value(document, values, (), problems)


def _update_values(parameters: Any, values: dict[str, Any]) -> Any:
    copy = _copy_container(parameters)
    copy.update(values)
    return copy


def _substitute_value(
    value: Any, names: dict[str, Any], path: DocumentPath, problems: Problems
) -> Any:
    if isinstance(value, dict):
        items: Any = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return _substitute_scalar(value, names, path, problems)
    copy: Any = None
    for key, each in items:
        if path == () and key == "parameters":
            continue
        new = _substitute_value(each, names, (*path, key), problems)
        if new is not each:
            copy = _copy_container(value) if copy is None else copy
            copy[key] = new
    return value if copy is None else copy


def _substitute_scalar(
    value: Any, names: dict[str, Any], path: DocumentPath, problems: Problems
) -> Any:
    if isinstance(value, int) and abs(value) >= 10**units.MAX_DIGITS:
        problems.add("range", path, f"a number of more than {units.MAX_DIGITS} digits")
        return _UnresolvedScalar()
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    reference = _REFERENCE_PATTERN.match(value)
    if reference:
        name = reference[1]
        if name in names:
            return names[name]
        problems.add(
            "parameter", path, f"there is no parameter {name}", hint=suggest_nearest(name, names)
        )
        return _UnresolvedScalar(value)
    inner = _EXPRESSION_PATTERN.match(value)
    if not inner:
        message = "a value that starts with $ must be $name or ${expression}"
        problems.add("expression", path, message, given=value[:60])
        return _UnresolvedScalar(value)
    try:
        return expression.evaluate(inner[1], names).to_scalar()
    except ExpressionError as error:
        problems.add(error.code, path, f"{error}", given=value[:60], hint=error.hint)
        return _UnresolvedScalar(value)


class _UnresolvedScalar(str):
    """A scalar that could not be worked out and was reported: its own errors are noise."""

    __slots__ = ()

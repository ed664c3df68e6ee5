"""Parameters and overrides: from the document as written to the document as meant.

A scalar that is ``$name`` stands for the parameter's value, one that is ``${...}`` for the value
of the expression. Overrides replace a parameter or any value by its path before that.
"""

import re
from collections.abc import Mapping
from typing import Any

from trunkline.scenario import expression, text, units
from trunkline.scenario.diagnostic import Path, Place, ScenarioError, nearest
from trunkline.scenario.expression import ExpressionError
from trunkline.scenario.problems import NAMED, Problems
from trunkline.scenario.text import Map, Seq

_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_REFERENCE = re.compile(r"\$([A-Za-z_]\w*)\Z", re.ASCII)
_EXPRESSION = re.compile(r"\$\{(.*)\}\Z", re.DOTALL)


def override(document: Any, overrides: Mapping[str, str], problems: Problems) -> Any:
    """The document with values replaced.

    Parameters
    ----------
    document : Map or dict
        The document; not changed.
    overrides : Mapping[str, str]
        Name of a parameter, or path (``links.R1-R2.rate`` or ``links[R1-R2].rate``), to the new
        value as YAML text.
    """
    for key, value_text in overrides.items():
        try:
            value, place = text.parse(str(value_text), f"--set {key}")
        except ScenarioError as error:
            first = error.diagnostics[0]
            where = Place(first.line, first.column, first.length, first.file)
            problems.add("override", (), first.message, given=str(value_text), place=where)
            continue
        file = f"--set {key}"
        place = place._replace(file=file)
        _set_file(value, file)
        parameters = document.get("parameters") if isinstance(document, dict) else None
        if isinstance(parameters, dict) and key in parameters:
            document = replaced(document, ["parameters", key], value, place)
            continue
        path = _find(document, key)
        if path is None:
            known = list(parameters) if isinstance(parameters, dict) else []
            known += _near_paths(document, key)
            problems.add(
                "override",
                (),
                "neither a parameter nor a path of this scenario",
                hint=nearest(key, known),
                place=Place(1, 1, 0, f"--set {key}"),
            )
            continue
        document = replaced(document, path, value, place)
    return document


def _set_file(value: Any, file: str) -> None:
    """Says of all that stands in an override that it is there, not in the scenario's file."""
    if isinstance(value, Map):
        value.key_places = {key: at._replace(file=file) for key, at in value.key_places.items()}
        value.value_places = {key: at._replace(file=file) for key, at in value.value_places.items()}
    elif isinstance(value, Seq):
        value.value_places = [at._replace(file=file) for at in value.value_places]
    else:
        return
    for each in value.values() if isinstance(value, Map) else value:
        _set_file(each, file)


def _steps(key: str) -> str:
    return re.sub(r"\[([^\]]*)\]", r".\1", key)


def _find(document: Any, key: str) -> list[Any] | None:
    """Path of an override; its last key may be new, all others must exist."""
    path: list[Any] = []
    rest = _steps(key)
    while True:
        if isinstance(document, dict):
            # Names may hold dots: take the longest key that fits.
            fits = [each for each in document if rest == each or rest.startswith(f"{each}.")]
            step = max(fits, key=len, default=None)
            if step is None:
                return _absent(path, rest)
            path.append(step)
            document, rest = document[step], rest[len(step) + 1 :]
        elif isinstance(document, list):
            index, _, rest = rest.partition(".")
            number = units.parse_whole(index) if index.isdecimal() else None
            if number is None or number >= len(document):
                return None
            path.append(number)
            document = document[number]
        else:
            return None
        if not rest:
            return path


def _absent(path: list[Any], rest: str) -> list[Any] | None:
    """Path to keys that the file leaves to their defaults; not to new links, flows and so on."""
    if not re.fullmatch(r"[a-z_]+(\.[a-z_]+)*", rest):
        return None
    if path:
        return None if path[-1] in NAMED else [*path, *rest.split(".")]
    return list(rest.split(".")) if rest.startswith(("run.", "defaults.", "name")) else None


def _near_paths(document: Any, key: str) -> list[str]:
    parts = _steps(key).split(".")
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
    """A copy of a document with a value at a path; what was there keeps its places."""
    if not path:
        return value
    copy: Any = Map() if document is None else _copy(document)
    step = path[0]
    inner = copy.get(step) if isinstance(copy, dict) else copy[step]
    copy[step] = replaced(inner, path[1:], value, place)
    if isinstance(copy, Map) and isinstance(step, str):
        copy.key_places.setdefault(step, place)
        if len(path) == 1:
            copy.value_places[step] = place
    elif isinstance(copy, Seq) and len(path) == 1 and isinstance(step, int):
        copy.value_places[step] = place
    return copy


def _copy(value: Any) -> Any:
    if isinstance(value, Map):
        mapping = Map()
        mapping.update(value)
        mapping.key_places = dict(value.key_places)
        mapping.value_places = dict(value.value_places)
        return mapping
    if isinstance(value, Seq):
        sequence = Seq()
        sequence.extend(value)
        sequence.value_places = list(value.value_places)
        return sequence
    return dict(value) if isinstance(value, Mapping) else list(value)


def substitute(document: Any, problems: Problems) -> Any:
    """The document with ``$name`` and ``${...}`` replaced by their values.

    Parameters
    ----------
    document : Map or dict
        The document; not changed.
    problems : Problems
        Gets what is wrong; the place then keeps its text.

    Returns
    -------
    Map or dict
        A copy where something was replaced, else the same object.
    """
    parameters = document.get("parameters") if isinstance(document, dict) else None
    values: dict[str, Any] = {}
    if isinstance(parameters, dict):
        for name, value in parameters.items():
            path: Path = ("parameters", name)
            if not isinstance(name, str) or not _NAME.match(name):
                problems.add(
                    "name",
                    path,
                    "a parameter's name must be a word of letters, digits and _",
                    given=str(name),
                    at_key=True,
                )
            elif isinstance(value, dict | list):
                problems.add("type", path, "a parameter must be one value, not a list or mapping")
            else:
                values[name] = _scalar(value, values, path, problems)
        document = _copy(document)
        document["parameters"] = _with(parameters, values)
    return _walk(document, values, (), problems)


def _with(parameters: Any, values: dict[str, Any]) -> Any:
    copy = _copy(parameters)
    copy.update(values)
    return copy


def _walk(value: Any, names: dict[str, Any], path: Path, problems: Problems) -> Any:
    if isinstance(value, dict):
        items: Any = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return _scalar(value, names, path, problems)
    copy: Any = None
    for key, each in items:
        if path == () and key == "parameters":
            continue
        new = _walk(each, names, (*path, key), problems)
        if new is not each:
            copy = _copy(value) if copy is None else copy
            copy[key] = new
    return value if copy is None else copy


def _scalar(value: Any, names: dict[str, Any], path: Path, problems: Problems) -> Any:
    if isinstance(value, int) and abs(value) >= 10**units.MAX_DIGITS:
        problems.add("range", path, f"a number of more than {units.MAX_DIGITS} digits")
        return _Unknown()
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    reference = _REFERENCE.match(value)
    if reference:
        name = reference[1]
        if name in names:
            return names[name]
        problems.add("parameter", path, f"there is no parameter {name}", hint=nearest(name, names))
        return _Unknown(value)
    inner = _EXPRESSION.match(value)
    if not inner:
        problems.add(
            "expression",
            path,
            "a value that starts with $ must be $name or ${expression}",
            given=value[:60],
        )
        return _Unknown(value)
    try:
        return expression.evaluate(inner[1], names).scalar()
    except ExpressionError as error:
        problems.add(error.code, path, f"{error}", given=value[:60], hint=error.hint)
        return _Unknown(value)


class _Unknown(str):
    """A scalar that could not be worked out and was reported: its own errors are noise."""

    __slots__ = ()

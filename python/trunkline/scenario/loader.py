"""Text to scenario: read, override, work out parameters, validate, check; all faults at once."""

import os
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from pydantic import ModelWrapValidatorHandler, ValidationError, ValidationInfo

from trunkline.scenario import check, mend, parameters, text, units
from trunkline.scenario.diagnostic import (
    Diagnostic,
    Finding,
    Path,
    Place,
    Problems,
    ScenarioError,
    printable,
    with_place,
)
from trunkline.scenario.explain import explain
from trunkline.scenario.model import FORMAT, Scenario
from trunkline.scenario.text import Map, Seq

__all__ = ["file_text", "load", "reread"]


def load(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    overrides: Mapping[str, str] | None = None,
    strict: bool = False,
) -> Scenario:
    r"""Loads a scenario and checks it.

    Parameters
    ----------
    source : path, str or mapping
        A file; or the text itself, recognised by its line ends; or the document as Python values.
    overrides : Mapping[str, str], optional
        Parameter names or paths (``links.R1-R2.rate``) to new values as YAML text.
    strict : bool, default False
        Whether warnings are errors.

    Returns
    -------
    Scenario
        A scenario without a fault; what is doubtful is in its `warnings`.

    Raises
    ------
    ScenarioError
        With every fault found, sorted by place.

    Examples
    --------
    >>> load(
    ...     "trunkline: 1\nnodes: [A, B]\nlinks: {A-B: {rate: 1 Mbit/s}}\nrun: {duration: 1 s}\n"
    ... ).run.duration
    1000000000
    """
    if isinstance(source, Mapping):
        return _built(source, overrides or {}, strict)
    content, file, folder = _read(source)
    document, place = text.parse(content, file)
    if document is None:
        raise ScenarioError([_empty(file)], content, file)
    if not isinstance(document, Map):
        raise ScenarioError([_no_mapping(file, place)], content, file)
    stem = FilePath(file).name.split(".")[0] if folder is not None else None
    return _load(document, overrides or {}, strict, _Origin(file, content, folder, stem, True))


def reread(content: str) -> Scenario:
    """A scenario from text that was loaded before, without the files that it names.

    Raises
    ------
    ScenarioError, ValidationError
        It is no such text.
    """
    problems = Problems()
    document, _ = text.parse(content, "<text>")
    meant = parameters.substitute(document, problems)
    return Scenario.model_validate(meant, context={"text": True, "substituted": True})


class _Origin:
    """Where a document comes from."""

    def __init__(
        self, file: str, content: str, folder: str | None, stem: str | None, is_text: bool
    ):
        self.file = file
        self.content = content
        self.folder = folder
        self.stem = stem
        self.is_text = is_text


def _built(source: Mapping[str, Any], overrides: Mapping[str, str], strict: bool) -> Scenario:
    return _load(dict(source), overrides, strict, _Origin("", "", None, None, False))


def _load(document: Any, overrides: Mapping[str, str], strict: bool, origin: _Origin) -> Scenario:
    problems = Problems()
    written = parameters.override(document, overrides, problems)
    meant = parameters.substitute(written, problems)
    check.duplicates(meant, problems)
    _check_format(meant, origin, problems)
    context = {"text": origin.is_text, "substituted": True}
    scenario = None
    try:
        scenario = Scenario.model_validate(meant, context=context)
    except ValidationError as error:
        reported = {finding.path for finding in problems.found}
        explain(error, meant, problems, reported)
    if scenario is not None:
        if scenario.name is None and origin.stem is not None:
            scenario = check.named(scenario, origin.stem)
        scenario._document = (written, origin)
        scenario._folder = origin.folder
    _check(scenario, meant, origin, problems)
    if origin.is_text:
        _warn_about_bps(written, problems)
    diagnostics = place_all(problems.found, meant, origin.file)
    if strict:
        diagnostics = [replace(each, severity="error") for each in diagnostics]
    if scenario is None or any(each.severity == "error" for each in diagnostics):
        raise ScenarioError(diagnostics, origin.content, origin.file)
    scenario._warnings = ScenarioError(diagnostics, origin.content).diagnostics
    # Text that does not hold the overrides would be a false provenance.
    scenario._source = "" if overrides else origin.content
    scenario._head = _head(origin.content, overrides) if overrides else ""
    scenario._checked = True
    return scenario


def _head(content: str, overrides: Mapping[str, str]) -> str:
    """The comment at the head of a file, which a dump has not, and what was set over it."""
    lines = []
    for line in content.splitlines():
        if not line.startswith("#"):
            break
        lines.append(printable(line))
    if not lines:
        return ""
    changed = ", ".join(f"{key}={value}" for key, value in overrides.items())
    return "\n".join([*lines, "#", printable(f"# Set: {' '.join(changed.split())}"), ""])


def _check(scenario: Scenario | None, meant: Any, origin: _Origin, problems: Problems) -> None:
    """Checks the scenario as a whole; with faults in it, what else is wrong."""
    faults = [each.path for each in problems.found if each.diagnostic.severity == "error"]
    if scenario is not None and not faults:
        check.check(scenario, problems)
        return
    context = {"text": origin.is_text, "substituted": True}
    draft = scenario or mend.mended(meant, faults, context)
    if draft is None:
        return
    draft._folder = origin.folder
    others = Problems()
    check.check(draft, others)
    problems.found += [
        each
        for each in others.found
        if each.diagnostic.severity == "error" and mend.apart(each.path, faults)
    ]


def _check_format(document: Any, origin: _Origin, problems: Problems) -> None:
    """Stops at a file of a newer format; asks for the version in files."""
    if not isinstance(document, dict):
        return
    version = document.get("trunkline")
    if type(version) is int and version > FORMAT:
        problems.found.clear()
        problems.add(
            "format",
            ("trunkline",),
            f"format {version}, this version reads up to {FORMAT}",
            hint="a newer trunkline reads it",
        )
        raise ScenarioError(
            place_all(problems.found, document, origin.file), origin.content, origin.file
        )
    if version is None and origin.is_text:
        problems.add(
            "missing-key",
            ("trunkline",),
            "trunkline is missing: the version of the language",
            hint="begin the file with `trunkline: 1`",
            at_key=True,
        )


def substituted(
    value: Any, handler: ModelWrapValidatorHandler[Scenario], info: ValidationInfo
) -> Scenario:
    """Validates a scenario built in Python: parameters are worked out before."""
    if (info.context or {}).get("substituted") or isinstance(value, Scenario):
        return handler(value)
    problems = Problems()
    meant = parameters.substitute(value, problems)
    check.duplicates(meant, problems)
    if problems.errors:
        raise ScenarioError([each.diagnostic for each in problems.found])
    scenario = handler(meant)
    scenario._document = (value, _Origin("", "", None, None, False))
    return scenario


def reloaded(scenario: Scenario, overrides: Mapping[str, Any]) -> Scenario:
    """A scenario again, with overrides."""
    texts = {key: _as_text(value) for key, value in overrides.items()}
    if scenario._document is None:
        return _built(
            scenario.model_dump(mode="json", by_alias=True, exclude_unset=True), texts, False
        )
    document, origin = scenario._document
    return _load(document, texts, False, origin)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _read(source: str | os.PathLike[str]) -> tuple[str, str, str | None]:
    """Content, name for messages, folder for files that the scenario names."""
    if isinstance(source, str) and "\n" in source:
        return source, "<text>", None
    name = os.fspath(source)
    return file_text(name), name, os.path.dirname(os.path.abspath(name))


def file_text(name: str) -> str:
    """Text of a file.

    Raises
    ------
    ScenarioError
        It is no regular file, cannot be read, is too large, or is not UTF-8.
    """
    try:
        # Opened without blocking, so that a FIFO cannot hang us, and judged by its descriptor.
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _unreadable(name, "is not a regular file")
            data = file.read(text.MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(name, f"cannot be read: {error.strerror}") from None
    except ScenarioError:
        raise
    except ValueError:
        raise _unreadable(name, "is not a file name") from None
    if len(data) > text.MAX_BYTES:
        raise ScenarioError([Diagnostic("limit", f"larger than {text.MAX_BYTES} bytes", file=name)])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        message = f"byte {data[error.start]:#04x} is not UTF-8"
        diagnostic = Diagnostic("encoding", message, file=name, line=line, column=column)
        raise ScenarioError([diagnostic]) from None


def _unreadable(name: str, why: str) -> ScenarioError:
    return ScenarioError([Diagnostic("file", why, file=name)])


def _empty(file: str) -> Diagnostic:
    hint = "`trunkline examples copy hello` writes one to start from"
    return Diagnostic("empty", "the scenario is empty", hint=hint, file=file, line=1, column=1)


def _no_mapping(file: str, place: Place) -> Diagnostic:
    return Diagnostic(
        "type",
        "a scenario is a mapping of keys such as nodes, links, flows and run",
        file=file,
        line=place.line,
        column=place.column,
        length=place.length,
    )


def _warn_about_bps(document: Any, problems: Problems) -> None:
    """Warns once about a rate written as bps."""
    found = _first_bps(document, ())
    if found is not None:
        path, value = found
        problems.add(
            "bits-or-bytes",
            path,
            "read as bits per second; tc means bytes by bps",
            given=value,
            hint="write Mbit/s",
            warning=True,
        )


def _first_bps(value: Any, path: Path) -> tuple[Path, str] | None:
    if isinstance(value, str):
        return (path, value) if value.endswith("bps") and units.is_ambiguous_rate(value) else None
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, each in items:
        found = _first_bps(each, (*path, key))
        if found is not None:
            return found
    return None


def place_all(found: list[Finding], document: Any, file: str) -> list[Diagnostic]:
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

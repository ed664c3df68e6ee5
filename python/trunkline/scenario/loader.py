"""Text to scenario: read, override, work out parameters, validate, check; all faults at once."""

import os
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, TypeVar

from pydantic import ValidationError

from trunkline.scenario import mend, parameters, text, units
from trunkline.scenario.check import check
from trunkline.scenario.diagnostic import Diagnostic, Path, Place, ScenarioError, printable
from trunkline.scenario.explain import explain
from trunkline.scenario.model import FORMAT, Sections, duplicates
from trunkline.scenario.places import Origin, place_all
from trunkline.scenario.problems import Problems
from trunkline.scenario.text import Map

Kind = TypeVar("Kind", bound=Sections)


def load(
    kind: type[Kind],
    source: str | os.PathLike[str] | Mapping[str, Any],
    overrides: Mapping[str, str],
    strict: bool,
) -> Kind:
    """Loads a scenario as `trunkline.scenario.load` says; of a kind that knows what it means."""
    if isinstance(source, Mapping):
        return _load(kind, dict(source), overrides, strict, Origin())
    return load_text(kind, *_read(source), overrides, strict)


def load_text(
    kind: type[Kind],
    content: str,
    file: str,
    folder: str | None,
    overrides: Mapping[str, str],
    strict: bool,
) -> Kind:
    """Loads what a file holds, or will hold; its tables are taken from a folder."""
    document, place = text.parse(content, file)
    if document is None:
        raise ScenarioError([_empty(file)], content, file)
    if not isinstance(document, Map):
        raise ScenarioError([_no_mapping(file, place)], content, file)
    stem = FilePath(file).name.split(".")[0] if folder is not None else None
    return _load(kind, document, overrides, strict, Origin(file, content, folder, stem, True))


def _load(
    kind: type[Kind], document: Any, overrides: Mapping[str, str], strict: bool, origin: Origin
) -> Kind:
    problems = Problems()
    written = parameters.override(document, overrides, problems)
    meant = parameters.substitute(written, problems)
    duplicates(meant, problems)
    _check_format(meant, origin, problems)
    context = {"text": origin.is_text, "substituted": True}
    scenario = None
    try:
        scenario = kind.model_validate(meant, context=context)
    except ValidationError as error:
        reported = {finding.path for finding in problems.found}
        explain(error, meant, problems, reported)
    if scenario is not None:
        if scenario.name is None and origin.stem is not None:
            scenario = _named(scenario, origin.stem)
        scenario._document, scenario._origin = written, origin
    _check(kind, scenario, meant, origin, problems)
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
    return scenario


def _named(scenario: Kind, stem: str) -> Kind:
    """The scenario with a name made of the file's, where that is a name."""
    kept = "".join(each if each.isalnum() or each in "_.+-" else "-" for each in stem[:64])
    return scenario.model_copy(update={"name": kept.strip("-.+") or "scenario"})


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


def _check(
    kind: type[Kind], scenario: Kind | None, meant: Any, origin: Origin, problems: Problems
) -> None:
    """Checks the scenario as a whole; with faults in it, what else is wrong."""
    faults = [each.path for each in problems.found if each.diagnostic.severity == "error"]
    if scenario is not None and not faults:
        scenario._resolved = check(scenario, problems)
        return
    context = {"text": origin.is_text, "substituted": True}
    draft = scenario or mend.mended(kind, meant, faults, context)
    if draft is None:
        return
    draft._origin = origin
    others = Problems()
    check(draft, others)
    problems.found += [
        each
        for each in others.found
        if each.diagnostic.severity == "error" and mend.apart(each.path, faults)
    ]


def _check_format(document: Any, origin: Origin, problems: Problems) -> None:
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


def reloaded(scenario: Kind, overrides: Mapping[str, Any]) -> Kind:
    """A scenario again, with overrides."""
    texts = {key: _as_text(value) for key, value in overrides.items()}
    return _load(type(scenario), _document(scenario), texts, False, scenario._origin)


def extended(scenario: Kind, section: str, elements: Mapping[str, Any], source: str) -> Kind:
    """A scenario again, with more elements in a section of named ones.

    Parameters
    ----------
    source : str
        Where these come from, as messages name it in place of a file.
    """
    document = _document(scenario)
    place = Place(1, 1, 0, source)
    for name, each in elements.items():
        document = parameters.replaced(document, [section, name], each, place)
    made = _load(type(scenario), document, {}, False, scenario._origin)
    # The file's text does not hold them.
    made._source, made._head = "", scenario._head
    return made


def _document(scenario: Sections) -> dict[str, Any]:
    document: dict[str, Any] | None = scenario._document
    if document is not None:
        return document
    return scenario.to_document()


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
        flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(name, os.O_RDONLY | flags)
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
            hint=f"write {value.removesuffix('bps')}bit/s",
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

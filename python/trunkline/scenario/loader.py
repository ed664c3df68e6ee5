"""Text to scenario: read, override, work out parameters, validate, check; all faults at once."""

import os
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, TypeVar

from pydantic import ValidationError

from trunkline.scenario import parameters, placeholders, units, yaml_text
from trunkline.scenario.check import check
from trunkline.scenario.diagnostic import (
    Diagnostic,
    DocumentPath,
    Place,
    ScenarioError,
    escape_unprintable,
)
from trunkline.scenario.model import LANGUAGE_VERSION, ScenarioSections, report_duplicate_nodes
from trunkline.scenario.problems import Problems
from trunkline.scenario.source_positions import DocumentOrigin, place_findings
from trunkline.scenario.validation_errors import report_validation_errors
from trunkline.scenario.yaml_text import PlacedMap

ScenarioType = TypeVar("ScenarioType", bound=ScenarioSections)


def load_kind(
    kind: type[ScenarioType],
    source: str | os.PathLike[str] | Mapping[str, Any],
    overrides: Mapping[str, str],
    strict: bool,
) -> ScenarioType:
    """Load a scenario as `trunkline.scenario.load` does; of a kind with its meaning."""
    if isinstance(source, Mapping):
        return _build_scenario(kind, dict(source), overrides, strict, DocumentOrigin())
    return load_text(kind, *_read_source(source), overrides, strict)


def load_text(
    kind: type[ScenarioType],
    content: str,
    file: str,
    folder: str | None,
    overrides: Mapping[str, str],
    strict: bool,
) -> ScenarioType:
    """Load the text of a file, which may not exist yet; its tables are taken from a folder."""
    document, place = yaml_text.parse_yaml(content, file)
    if document is None:
        raise ScenarioError([_make_empty_diagnostic(file)], content, file)
    if not isinstance(document, PlacedMap):
        raise ScenarioError([_make_no_mapping_diagnostic(file, place)], content, file)
    stem = FilePath(file).name.split(".")[0] if folder is not None else None
    return _build_scenario(
        kind, document, overrides, strict, DocumentOrigin(file, content, folder, stem, True)
    )


def _build_scenario(
    kind: type[ScenarioType],
    document: Any,
    overrides: Mapping[str, str],
    strict: bool,
    origin: DocumentOrigin,
) -> ScenarioType:
    problems = Problems()
    overridden = parameters.apply_overrides(document, overrides, problems)
    substituted = parameters.substitute_parameters(overridden, problems)
    report_duplicate_nodes(substituted, problems)
    _check_format(substituted, origin, problems)
    context = {"text": origin.is_text, "substituted": True}
    scenario = None
    try:
        scenario = kind.model_validate(substituted, context=context)
    except ValidationError as error:
        reported = {finding.path for finding in problems.findings}
        report_validation_errors(error, substituted, problems, reported)
    if scenario is not None:
        if scenario.name is None and origin.stem is not None:
            scenario = _set_name(scenario, origin.stem)
        scenario._document, scenario._origin = overridden, origin
    _check_scenario(kind, scenario, substituted, origin, problems)
    if origin.is_text:
        _warn_about_bps(overridden, problems)
    diagnostics = place_findings(problems.findings, substituted, origin.file)
    if strict:
        diagnostics = [replace(each, severity="error") for each in diagnostics]
    if scenario is None or any(each.severity == "error" for each in diagnostics):
        raise ScenarioError(diagnostics, origin.content, origin.file)
    scenario._warnings = ScenarioError(diagnostics, origin.content).diagnostics
    # Text that does not hold the overrides would be a false provenance.
    scenario._source = "" if overrides else origin.content
    scenario._head_comment = _make_head_comment(origin.content, overrides) if overrides else ""
    return scenario


def _set_name(scenario: ScenarioType, stem: str) -> ScenarioType:
    """The scenario with a name made of the file's, where that is a name."""
    name = "".join(each if each.isalnum() or each in "_.+-" else "-" for each in stem[:64])
    return scenario.model_copy(update={"name": name.strip("-.+") or "scenario"})


def _make_head_comment(content: str, overrides: Mapping[str, str]) -> str:
    """Make the comment at the head of a file, which a dump lacks, and the overrides."""
    lines = []
    for line in content.splitlines():
        if not line.startswith("#"):
            break
        lines.append(escape_unprintable(line))
    if not lines:
        return ""
    changed = ", ".join(f"{key}={value}" for key, value in overrides.items())
    return "\n".join([*lines, "#", escape_unprintable(f"# Set: {' '.join(changed.split())}"), ""])


def _check_scenario(
    kind: type[ScenarioType],
    scenario: ScenarioType | None,
    substituted: Any,
    origin: DocumentOrigin,
    problems: Problems,
) -> None:
    """Check the scenario as a whole; with faults in it, find further ones."""
    faults = [each.path for each in problems.findings if each.diagnostic.severity == "error"]
    if scenario is not None and not faults:
        scenario._resolved = check(scenario, problems)
        return
    context = {"text": origin.is_text, "substituted": True}
    draft = scenario or placeholders.build_draft(kind, substituted, faults, context)
    if draft is None:
        return
    draft._origin = origin
    others = Problems()
    check(draft, others)
    problems.findings += [
        each
        for each in others.findings
        if each.diagnostic.severity == "error" and placeholders.is_unrelated(each.path, faults)
    ]


def _check_format(document: Any, origin: DocumentOrigin, problems: Problems) -> None:
    """Stop at a file of a newer format; require the version in files."""
    if not isinstance(document, dict):
        return
    version = document.get("trunkline")
    if type(version) is int and version > LANGUAGE_VERSION:
        problems.findings.clear()
        message = f"format {version}, this version reads up to {LANGUAGE_VERSION}"
        problems.add("format", ("trunkline",), message, hint="a newer trunkline reads it")
        raise ScenarioError(
            place_findings(problems.findings, document, origin.file), origin.content, origin.file
        )
    if version is None and origin.is_text:
        problems.add(
            "missing-key",
            ("trunkline",),
            "trunkline is missing: the version of the language",
            hint="begin the file with `trunkline: 1`",
            at_key=True,
        )


def reload_with(scenario: ScenarioType, overrides: Mapping[str, Any]) -> ScenarioType:
    """A scenario again, with overrides."""
    texts = {key: _format_override(value) for key, value in overrides.items()}
    return _build_scenario(type(scenario), _get_document(scenario), texts, False, scenario._origin)


def extend_section(
    scenario: ScenarioType, section: str, elements: Mapping[str, Any], source: str
) -> ScenarioType:
    """A scenario again, with more elements in a section of named ones.

    source: Where these come from, as messages name it in place of a file.
    """
    document = _get_document(scenario)
    place = Place(1, 1, 0, source)
    for name, each in elements.items():
        document = parameters.replaced(document, [section, name], each, place)
    reloaded_scenario = _build_scenario(type(scenario), document, {}, False, scenario._origin)
    # The file's text does not hold them.
    reloaded_scenario._source, reloaded_scenario._head_comment = "", scenario._head_comment
    return reloaded_scenario


def _get_document(scenario: ScenarioSections) -> dict[str, Any]:
    document: dict[str, Any] | None = scenario._document
    if document is not None:
        return document
    return scenario.to_document()


def _format_override(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _read_source(source: str | os.PathLike[str]) -> tuple[str, str, str | None]:
    """Read the content, name for messages, folder for files that the scenario names."""
    if isinstance(source, str) and "\n" in source:
        return source, "<text>", None
    name = os.fspath(source)
    return read_file_text(name), name, os.path.dirname(os.path.abspath(name))


def read_file_text(name: str) -> str:
    """Read the text of a file.

    Raises ScenarioError: It is no regular file, cannot be read, is too large, or is not UTF-8.
    """
    try:
        # Opened without blocking, so that a FIFO cannot hang us, and judged by its descriptor.
        flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(name, os.O_RDONLY | flags)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _make_unreadable_error(name, "is not a regular file")
            data = file.read(yaml_text.MAX_BYTES + 1)
    except OSError as error:
        raise _make_unreadable_error(name, f"cannot be read: {error.strerror}") from None
    except ScenarioError:
        raise
    except ValueError:
        raise _make_unreadable_error(name, "is not a file name") from None
    if len(data) > yaml_text.MAX_BYTES:
        raise ScenarioError(
            [Diagnostic("limit", f"larger than {yaml_text.MAX_BYTES} bytes", file=name)]
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        message = f"byte {data[error.start]:#04x} is not UTF-8"
        diagnostic = Diagnostic("encoding", message, file=name, line=line, column=column)
        raise ScenarioError([diagnostic]) from None


def _make_unreadable_error(name: str, reason: str) -> ScenarioError:
    return ScenarioError([Diagnostic("file", reason, file=name)])


def _make_empty_diagnostic(file: str) -> Diagnostic:
    hint = "`trunkline examples copy hello` writes one to start from"
    return Diagnostic("empty", "the scenario is empty", hint=hint, file=file, line=1, column=1)


def _make_no_mapping_diagnostic(file: str, place: Place) -> Diagnostic:
    return Diagnostic(
        "type",
        "a scenario is a mapping of keys such as nodes, links, flows and run",
        file=file,
        line=place.line,
        column=place.column,
        length=place.length,
    )


def _warn_about_bps(document: Any, problems: Problems) -> None:
    """Warn once about a rate written as bps."""
    found = _find_first_bps(document, ())
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


def _find_first_bps(value: Any, path: DocumentPath) -> tuple[DocumentPath, str] | None:
    if isinstance(value, str):
        return (path, value) if value.endswith("bps") and units.is_ambiguous_rate(value) else None
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, each in items:
        found = _find_first_bps(each, (*path, key))
        if found is not None:
            return found
    return None

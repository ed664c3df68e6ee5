"""Study files and the tables next to them, read; every fault with its file and line."""

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from trunkline.scenario.diagnostic import Place, ScenarioError, suggest_nearest
from trunkline.scenario.loader import read_file_text
from trunkline.scenario.problems import Finding, Problems
from trunkline.scenario.source_positions import place_findings
from trunkline.scenario.validation_errors import report_validation_errors
from trunkline.scenario.yaml_text import parse_yaml
from trunkline.study.language.check import check_study
from trunkline.study.language.model import Study, StudyFile
from trunkline.study.language.part import StudyPart
from trunkline.study.language.parts import PublishedValue

PartType = TypeVar("PartType", bound=StudyPart)

_MAX_FAULTS_SHOWN = 20  # Faults of a table that are shown.


def load_study(path: Path) -> Study:
    """Read a study file, and the tables next to it.

    path: The file, or a folder with a ``study.yaml``. ``published.csv`` in the same folder belongs
        to it.
    Raises ScenarioError: The file is not YAML, or says something a study cannot be; each fault with
        its line.
    """
    file = path / "study.yaml" if path.is_dir() else path
    folder = file.parent
    mapping, content = read_document(file)
    study_file = validate_part(StudyFile, mapping, content, file)
    published, published_at = read_csv_parts(PublishedValue, folder / "published.csv")
    companion_fields = {"published": published, "file": file, "document": mapping}
    fields: dict[str, Any] = dict(study_file) | companion_fields
    study = Study.model_construct(study_file.model_fields_set, **fields)
    problems = Problems()
    check_study(study, problems)
    if problems.findings:
        found = [_place_in_csv(each, published_at) for each in problems.findings]
        raise ScenarioError(place_findings(found, mapping, str(file)), content, str(file))
    return study


def _place_in_csv(finding: Finding, places: list[Place]) -> Finding:
    """Give faults in published values their place in the CSV file; return others unchanged."""
    if not finding.path or finding.path[0] != "published":
        return finding
    place = places[int(finding.path[1])]
    return replace(finding, diagnostic=replace(finding.diagnostic, path=""), place=place)


def read_document(file: Path) -> tuple[Mapping[str, object], str]:
    """Mapping that a YAML file holds, empty where it holds something else, and the text.

    Raises ScenarioError: The file cannot be read, or is not YAML.
    """
    content = read_file_text(str(file))
    mapping, _ = parse_yaml(content, str(file))
    return mapping if isinstance(mapping, Mapping) else {}, content


def validate_part(
    part: type[PartType], mapping: Mapping[str, object], content: str, file: Path
) -> PartType:
    """Read a part of a study from a file.

    Raises ScenarioError: It cannot be such a part; each fault with its line.
    """
    try:
        # In a file, times must have units.
        return part.model_validate(mapping, context={"text": True})
    except ValidationError as error:
        problems = Problems()
        report_validation_errors(error, mapping, problems, set(), root=part)
        raise ScenarioError(
            place_findings(problems.findings, mapping, str(file)), content, str(file)
        ) from None


def read_csv_parts(part: type[PartType], file: Path) -> tuple[list[PartType], list[Place]]:
    """Read the lines of a CSV file whose first line names the keys of a part, and where they stand.

    file: The file; it may be missing.
    Raises ScenarioError: A line is no such part; each fault with its line.
    """
    if not file.exists():
        return [], []
    content = read_file_text(str(file))
    lines = csv.reader(io.StringIO(content, newline=""), strict=True)
    problems = Problems()
    parts: list[PartType] = []
    places: list[Place] = []
    try:
        headers = next(lines, [])
        _check_headers(part, headers, Place(1, 1, 0, str(file)), problems)
        for line in lines if not problems.findings else ():
            line_place = Place(lines.line_num, 1, 0, str(file))
            if line and len(line) != len(headers):
                message = f"as many values are expected as the first line has names, {len(headers)}"
                problems.add("type", (), message, given=str(len(line)), place=line_place)
            elif line:
                row_parts = _validate_row(
                    part, dict(zip(headers, line, strict=True)), line_place, problems
                )
                parts += row_parts
                places += [line_place] * len(row_parts)
            if len(problems.findings) > _MAX_FAULTS_SHOWN:
                break
    except csv.Error as error:
        line_place = Place(max(1, lines.line_num), 1, 0, str(file))
        problems.add("file", (), f"is not CSV: {error}", place=line_place)
    if problems.findings:
        raise ScenarioError(place_findings(problems.findings, {}, str(file)), content, str(file))
    return parts, places


def _check_headers(
    part: type[StudyPart], headers: list[str], place: Place, problems: Problems
) -> None:
    """Check whether the first line names the keys of a part."""
    keys = part.model_fields
    for name in headers:
        if name not in keys:
            allowed, hint = ", ".join(keys), suggest_nearest(name, keys)
            message = f"there is no column {name} here"
            problems.add("unknown-key", (), message, allowed=allowed, hint=hint, place=place)
    for name, field in keys.items():
        if field.is_required() and name not in headers:
            message = f"column {name} is missing"
            problems.add("missing-key", (), message, given=", ".join(headers), place=place)


def _validate_row(
    part: type[PartType], cells: dict[str, str], place: Place, problems: Problems
) -> list[PartType]:
    """Read a part from a line; none, with faults added to the problems."""
    try:
        return [part.model_validate(cells)]
    except ValidationError as error:
        row_problems = Problems()
        report_validation_errors(error, cells, row_problems, set(), root=part)
        problems.findings += [replace(each, place=place) for each in row_problems.findings]
        return []

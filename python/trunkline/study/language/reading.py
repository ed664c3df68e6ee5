"""Study files and the tables beside them, read; every fault with its file and line."""

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from trunkline.scenario.diagnostic import Place, ScenarioError, nearest
from trunkline.scenario.explain import explain
from trunkline.scenario.loader import file_text
from trunkline.scenario.places import place_all
from trunkline.scenario.problems import Finding, Problems
from trunkline.scenario.text import parse
from trunkline.study.language.check import check
from trunkline.study.language.model import Study, StudyFile
from trunkline.study.language.part import Part
from trunkline.study.language.parts import Published

AnyPart = TypeVar("AnyPart", bound=Part)

_MOST_TOLD = 20
"""Faults of a table that are shown."""


def load(path: Path) -> Study:
    """Read a study file, and the tables beside it.

    Parameters
    ----------
    path : Path
        The file, or a folder with a ``study.yaml``. ``published.csv`` in the same folder
        belongs to it.

    Raises
    ------
    ScenarioError
        The file is not YAML, or says something a study cannot be; each fault with its line.
    """
    file = path / "study.yaml" if path.is_dir() else path
    folder = file.parent
    said, content = document(file)
    its = of(StudyFile, said, content, file)
    published, published_at = rows(Published, folder / "published.csv")
    beside = {"published": published, "file": file, "document": said}
    fields: dict[str, Any] = dict(its) | beside
    study = Study.model_construct(its.model_fields_set, **fields)
    problems = Problems()
    check(study, problems)
    if problems.found:
        found = [_in_its_table(each, published_at) for each in problems.found]
        raise ScenarioError(place_all(found, said, str(file)), content, str(file))
    return study


def _in_its_table(found: Finding, lines: list[Place]) -> Finding:
    """What was found in a published value, with its place there; anything else as it is."""
    if not found.path or found.path[0] != "published":
        return found
    place = lines[int(found.path[1])]
    return replace(found, diagnostic=replace(found.diagnostic, path=""), place=place)


def document(file: Path) -> tuple[Mapping[str, object], str]:
    """Mapping that a YAML file holds, empty where it holds something else, and the text.

    Raises
    ------
    ScenarioError
        The file cannot be read, or is not YAML.
    """
    content = file_text(str(file))
    said, _ = parse(content, str(file))
    return said if isinstance(said, Mapping) else {}, content


def of(part: type[AnyPart], said: Mapping[str, object], content: str, file: Path) -> AnyPart:
    """A part of a study out of what a file says.

    Raises
    ------
    ScenarioError
        It cannot be such a part; each fault with its line.
    """
    try:
        # In a file, times must have units.
        return part.model_validate(said, context={"text": True})
    except ValidationError as error:
        problems = Problems()
        explain(error, said, problems, set(), root=part)
        raise ScenarioError(
            place_all(problems.found, said, str(file)), content, str(file)
        ) from None


def rows(part: type[AnyPart], file: Path) -> tuple[list[AnyPart], list[Place]]:
    """Lines of a CSV file whose first line names the keys of a part, and where they stand.

    Parameters
    ----------
    file : Path
        The file; it may be missing.

    Raises
    ------
    ScenarioError
        A line is no such part; each fault with its line.
    """
    if not file.exists():
        return [], []
    content = file_text(str(file))
    lines = csv.reader(io.StringIO(content, newline=""), strict=True)
    problems = Problems()
    made: list[AnyPart] = []
    places: list[Place] = []
    try:
        heads = next(lines, [])
        _heads(part, heads, Place(1, 1, 0, str(file)), problems)
        for line in lines if not problems.found else ():
            here = Place(lines.line_num, 1, 0, str(file))
            if line and len(line) != len(heads):
                message = f"as many values are expected as the first line has names, {len(heads)}"
                problems.add("type", (), message, given=str(len(line)), place=here)
            elif line:
                its = _row(part, dict(zip(heads, line, strict=True)), here, problems)
                made += its
                places += [here] * len(its)
            if len(problems.found) > _MOST_TOLD:
                break
    except csv.Error as error:
        here = Place(max(1, lines.line_num), 1, 0, str(file))
        problems.add("file", (), f"is not CSV: {error}", place=here)
    if problems.found:
        raise ScenarioError(place_all(problems.found, {}, str(file)), content, str(file))
    return made, places


def _heads(part: type[Part], heads: list[str], place: Place, problems: Problems) -> None:
    """See whether the first line names the keys of a part."""
    keys = part.model_fields
    for name in heads:
        if name not in keys:
            allowed, hint = ", ".join(keys), nearest(name, keys)
            message = f"there is no column {name} here"
            problems.add("unknown-key", (), message, allowed=allowed, hint=hint, place=place)
    for name, field in keys.items():
        if field.is_required() and name not in heads:
            message = f"column {name} is missing"
            problems.add("missing-key", (), message, given=", ".join(heads), place=place)


def _row(
    part: type[AnyPart], said: dict[str, str], place: Place, problems: Problems
) -> list[AnyPart]:
    """The part that a line is; none with what is wrong added to the problems."""
    try:
        return [part.model_validate(said)]
    except ValidationError as error:
        wrong = Problems()
        explain(error, said, wrong, set(), root=part)
        problems.found += [replace(each, place=place) for each in wrong.found]
        return []

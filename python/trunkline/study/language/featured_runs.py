"""Runs that represent a study: their networks, queues and packets are in its report.

A study's folder says which in ``exhibits.yaml``: a list ``exhibits`` whose items have a ``title``,
an ``about`` and either ``table`` and ``row`` of its study file, or a ``scenario`` next to it with
what to ``set``; ``runs`` is how many runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import model_validator

from trunkline import network as networks, scenario as scenarios
from trunkline.engine.packet_engine import Job
from trunkline.scenario.diagnostic import ScenarioError
from trunkline.scenario.fields import make_invalid_error
from trunkline.scenario.problems import Problems
from trunkline.scenario.source_positions import place_findings
from trunkline.study.language import catalogue, study_files
from trunkline.study.language.check import check_names_known
from trunkline.study.language.model import Study
from trunkline.study.language.part import ParameterText, StudyPart
from trunkline.study.language.parts import RunCount

EXHIBITS_FILE = "exhibits.yaml"


class _FeaturedItem(StudyPart):
    title: str
    about: str = ""
    table: str | None = None
    row: str | None = None
    scenario: str | None = None
    set: dict[str, ParameterText] = {}
    runs: RunCount = 3

    @model_validator(mode="after")
    def _check_single_source(self) -> _FeaturedItem:
        is_table_complete = (self.table is None) == (self.row is None)
        if (self.scenario is None) == (self.table is None) or not is_table_complete:
            message = "an exhibit has either a table and a row, or a scenario"
            raise make_invalid_error("relation", message)
        return self


class _FeaturedItems(StudyPart):
    exhibits: list[_FeaturedItem]


@dataclass(frozen=True, slots=True)
class StudyHeading:
    """Title of a study, and its tables."""

    # title, source: Title, and the document it reproduces.
    title: str
    source: str
    tables: Mapping[str, str]  # Titles of its tables.
    row_title: str  # Title of the rows of its tables; may be empty.
    notes: list[str]  # Further notes for a reader.


@dataclass(frozen=True, slots=True)
class FeaturedRun:
    """A scenario to be run and shown."""

    # title, about: Its title, and advice to the reader.
    title: str
    about: str
    jobs: list[Job]  # Its runs, of one network.


def find_featured_runs(name: str) -> list[FeaturedRun]:
    """Find the runs that stand for a study.

    name: A study of the package, or a folder with a ``study.yaml``.
    Returns: Those of its ``exhibits.yaml``; without one, the middle row of the first table.
    Raises LookupError: There is no such study.
    Raises ScenarioError: The file says something an exhibit cannot be.
    """
    study = catalogue.find_study(name)
    file = study.folder / EXHIBITS_FILE
    if file.is_file():
        return [_build_featured_run(item, study) for item in _read_featured_items(file, study)]
    table = next(iter(study.cases))
    rows = list(study.list_points(table))
    row = rows[len(rows) // 2]
    title = f"table {table}, {row}"
    return [_build_featured_run(_FeaturedItem(title=title, table=table, row=row), study)]


def find_study_heading(name: str) -> StudyHeading:
    """Find the title of a study."""
    study = catalogue.find_study(name)
    document = study.source
    source = f"{document.document}, {document.date}. {document.about.strip()}" if document else ""
    titles = {table.name: table.title for table in study.list_tables()}
    return StudyHeading(study.title, source, titles, study.row_title, study.notes)


def _read_featured_items(file: Path, study: Study) -> list[_FeaturedItem]:
    """Read a file of exhibits; its tables and rows are those of the study."""
    document, content = study_files.read_document(file)
    items = study_files.validate_part(_FeaturedItems, document, content, file).exhibits
    problems = Problems()
    for index, item in enumerate(items):
        at = ("exhibits", index)
        tables = [] if item.table is None else [item.table]
        if check_names_known(problems, (*at, "table"), tables, study.cases):
            rows = [] if item.row is None else [item.row]
            check_names_known(problems, (*at, "row"), rows, study.list_points(item.table))
    if problems.findings:
        raise ScenarioError(
            place_findings(problems.findings, document, str(file)), content, str(file)
        )
    return items


def _build_featured_run(item: _FeaturedItem, study: Study) -> FeaturedRun:
    overrides = dict(item.set)
    file = item.scenario
    if item.table is not None:
        assert item.row is not None
        table = study.find_table(item.table)
        file = table.case.scenario
        overrides = study.get_settings(table) | table.points[item.row] | overrides
    assert file is not None
    scenario = scenarios.load(study.folder / file, overrides=overrides)
    network_json = networks.compile(scenario).to_json()
    # With its values in place the text makes the same network by itself; else the file is easier
    # to read.
    scenario_text = scenario.dump() if overrides else scenario.text
    jobs = [Job(network_json, seed, scenario_text) for seed in range(1, item.runs + 1)]
    return FeaturedRun(item.title, item.about, jobs)

"""Runs that stand for a study: what its report shows of networks, queues and packets.

A study's folder says which in ``exhibits.yaml``: a list ``exhibits`` whose items have a ``title``,
an ``about`` and either ``table`` and ``row`` of its study file, or a ``scenario`` beside it with
what to ``set``; ``runs`` is how many runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import model_validator

from trunkline import network as networks, scenario as scenarios
from trunkline.engine.sim import Job
from trunkline.scenario.diagnostic import ScenarioError
from trunkline.scenario.fields import invalid
from trunkline.scenario.places import place_all
from trunkline.scenario.problems import Problems
from trunkline.study.language import catalogue, reading
from trunkline.study.language.check import all_known
from trunkline.study.language.model import Study
from trunkline.study.language.part import Given, Part
from trunkline.study.language.parts import RunCount

FILE = "exhibits.yaml"


class _Item(Part):
    title: str
    about: str = ""
    table: str | None = None
    row: str | None = None
    scenario: str | None = None
    set: dict[str, Given] = {}
    runs: RunCount = 3

    @model_validator(mode="after")
    def _one_way(self) -> _Item:
        whole = (self.table is None) == (self.row is None)
        if (self.scenario is None) == (self.table is None) or not whole:
            message = "an exhibit has either a table and a row, or a scenario"
            raise invalid("relation", message)
        return self


class _Items(Part):
    exhibits: list[_Item]


@dataclass(frozen=True, slots=True)
class Heading:
    """What a study is called, and its tables.

    Parameters
    ----------
    title, source : str
        Title, and the document it reproduces.
    tables : mapping of str to str
        Titles of its tables.
    row_title : str
        What the rows of its tables are; may be empty.
    notes : list of str
        What else a reader should know.
    """

    title: str
    source: str
    tables: Mapping[str, str]
    row_title: str
    notes: list[str]


@dataclass(frozen=True, slots=True)
class Shown:
    """A scenario to be run and shown.

    Parameters
    ----------
    title, about : str
        What it is, and what to look at.
    jobs : list of Job
        Its runs, of one network.
    """

    title: str
    about: str
    jobs: list[Job]


def exhibits(name: str) -> list[Shown]:
    """Find the runs that stand for a study.

    Parameters
    ----------
    name : str
        A study of the package, or a folder with a ``study.yaml``.

    Returns
    -------
    list of Shown
        Those of its ``exhibits.yaml``; without one, the middle row of the first table.

    Raises
    ------
    LookupError
        There is no such study.
    ScenarioError
        The file says something an exhibit cannot be.
    """
    study = catalogue.find(name)
    file = study.folder / FILE
    if file.is_file():
        return [_shown(item, study) for item in _read(file, study)]
    table = next(iter(study.cases))
    rows = list(study.rows(table))
    row = rows[len(rows) // 2]
    title = f"table {table}, {row}"
    return [_shown(_Item(title=title, table=table, row=row), study)]


def heading(name: str) -> Heading:
    """Find what a study is called."""
    study = catalogue.find(name)
    its = study.source
    source = f"{its.document}, {its.date}. {its.about.strip()}" if its else ""
    titles = {table.name: table.title for table in study.tables()}
    return Heading(study.title, source, titles, study.row_title, study.notes)


def _read(file: Path, study: Study) -> list[_Item]:
    """What a file of exhibits asks for; their tables and rows are those of the study."""
    said, content = reading.document(file)
    items = reading.of(_Items, said, content, file).exhibits
    problems = Problems()
    for index, item in enumerate(items):
        at = ("exhibits", index)
        of = [] if item.table is None else [item.table]
        if all_known(problems, (*at, "table"), of, study.cases):
            rows = [] if item.row is None else [item.row]
            all_known(problems, (*at, "row"), rows, study.rows(item.table))
    if problems.found:
        raise ScenarioError(place_all(problems.found, said, str(file)), content, str(file))
    return items


def _shown(item: _Item, study: Study) -> Shown:
    overrides = dict(item.set)
    file = item.scenario
    if item.table is not None:
        assert item.row is not None
        table = study.table(item.table)
        file = table.case.scenario
        overrides = study.settings(table) | table.points[item.row] | overrides
    assert file is not None
    scenario = scenarios.load(study.folder / file, overrides=overrides)
    written = networks.compile(scenario).to_json()
    # With its values in place the text makes the same network by itself; else the file is easier
    # to read.
    kept = scenario.dump() if overrides else scenario.text
    jobs = [Job(written, seed, kept) for seed in range(1, item.runs + 1)]
    return Shown(item.title, item.about, jobs)

"""Scenarios written to files with the tables that they name, if they load again."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from trunkline.scenario import loader
from trunkline.scenario.base import tables_of
from trunkline.scenario.scenario import Scenario

Tables = Mapping[str, bytes]  # CSV files by their names under the scenario's folder.


def read_scenario_tables(scenario: Scenario) -> Tables:
    """Read the tables that a loaded scenario names; none where it was built in Python."""
    folder = scenario._origin.folder
    if folder is None:
        return {}
    return {name: Path(folder, name).read_bytes() for name in dict.fromkeys(tables_of(scenario))}


def prove(content: str, file: str | os.PathLike[str], tables: Tables) -> Scenario:
    """Load a scenario to write.

    file: Name for messages.
    Raises ScenarioError: It does not load.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, table in tables.items():
            place = Path(folder, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(table)
        return loader.load_text(Scenario, content, os.fspath(file), folder, {}, False)


def save(
    content: str, file: str | os.PathLike[str], tables: Tables, *, overwrite: bool = False
) -> None:
    """Write a scenario and those of the tables that it names.

    overwrite: Whether earlier files are replaced.
    Raises ScenarioError: It does not load; nothing is written.
    Raises FileExistsError: An earlier file is in its place, or one that holds something else in
        that of a table; nothing is written.
    """
    target = Path(file)
    named = set(tables_of(prove(content, target, tables)))
    files = {target.parent / name: table for name, table in tables.items() if name in named}
    files[target] = content.encode()
    new = {place: bytes_ for place, bytes_ in files.items() if not _has_content(place, bytes_)}
    taken = [place for place in new if place.exists()]
    if taken and not overwrite:
        raise FileExistsError(f"{taken[0]} exists; choose another place or ask to overwrite it")
    for place, bytes_ in new.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(bytes_)


def _has_content(place: Path, content: bytes) -> bool:
    return place.is_file() and place.read_bytes() == content

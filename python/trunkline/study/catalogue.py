"""The studies that come with the package."""

from __future__ import annotations

import difflib
import importlib
from pathlib import Path
from typing import Any, Protocol, cast

from trunkline.study.frames import Runs
from trunkline.study.model import Study
from trunkline.study.plan import Plan

FOLDER = Path(__file__).parent.parent / "studies"


def names() -> list[str]:
    """Names of the studies, sorted."""
    files = [*FOLDER.glob("*/study.yaml"), *FOLDER.glob("*/__init__.py")]
    return sorted({path.parent.name for path in files})


class Reproduced(Protocol):
    """A study that was run, whether by its file or by a program of its own."""

    def to_json(self) -> dict[str, Any]:
        """As the object ``trunkline reproduce --json`` prints."""
        ...

    def render(self, *, width: int | None = None, colour: bool = False) -> str:
        """As tables for a terminal."""
        ...

    def write(self, out: str | Path, *, overwrite: bool = False) -> Path:
        """Write JSON, tables and pictures into a new folder."""
        ...

    def add_to(self, folder: str | Path) -> None:
        """Write them into the folder of the study's runs."""
        ...


class Program(Protocol):
    """A study whose measures are more than cells of a table: a package with these functions."""

    def plan(self, *, seeds: int | None = None) -> Plan:
        """What to run."""
        ...

    def outcome(self, runs: Runs) -> Reproduced:
        """What comes of the runs."""
        ...


def program(name: str) -> Program | None:
    """Find the program of a study; None if the study is a file, or there is none."""
    if not (FOLDER / name / "__init__.py").is_file() or name not in names():
        return None
    return cast("Program", importlib.import_module(f"trunkline.studies.{name}"))


def find(name: str) -> Study:
    """Load a study by its name, or from a folder of one's own.

    Parameters
    ----------
    name : str
        Name of a study of the package, or path of a study file, or of a folder with a
        ``study.yaml``.

    Raises
    ------
    LookupError
        There is none; the message lists those there are.
    """
    known = names()
    if (FOLDER / name / "study.yaml").is_file() and name in known:
        return Study.load(FOLDER / name)
    if (Path(name) / "study.yaml").is_file() or Path(name).is_file():
        return Study.load(Path(name))
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    msg = f"there is no study {name!r}; {hint}studies: {', '.join(known)}"
    raise LookupError(msg)

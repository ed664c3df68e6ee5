"""The screened levels of failures in a file, so that a screen of many failures can be resumed.

A line for each failure, after a line with a digest of what was screened. Lines are appended and
flushed; the part of a line that an interruption leaves is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from trunkline.engine.packet_engine import get_engine_version
from trunkline.network import compile
from trunkline.planning.sla_screening import Levels, ScreenedLevel
from trunkline.results.results import compute_sha256

if TYPE_CHECKING:
    from trunkline.scenario import Scenario

JOURNAL_SUFFIX = ".screen.jsonl"  # Suffix of the journal next to the folder of a study.


class ScreenJournal:
    """Levels by period of a growth and failure, in a file; without growth the period is 0.

    path: The file; not read unless it has the same digest and `resume` is true. It is written anew
        with the first levels that are added.
    parameters: Other values that the levels depend on, as JSON has them.
    known: Levels that an earlier process screened.
    """

    def __init__(
        self, path: Path, scenario: Scenario, *, resume: bool, parameters: Mapping[str, Any]
    ) -> None:
        bounds = [astuple(bound) for bound in scenario.list_sla_bounds()]
        content = [get_engine_version(), compile(scenario).hash(), bounds, parameters]
        self.digest = compute_sha256(json.dumps(content))
        self.known: Mapping[tuple[int, str], Levels] = {}
        if resume and path.exists():
            self.known = self._read_levels(path)
        self._path = path
        self._file: TextIO | None = None

    def get_levels(self, period: int = 0) -> dict[str, Levels]:
        """Known levels of a period, by failure."""
        return {failure: levels for (of, failure), levels in self.known.items() if of == period}

    def add_levels(self, failure: str, levels: Levels, period: int = 0) -> None:
        """Append the levels of a failure."""
        if self._file is None:
            self._file = self._path.open("w", encoding="utf-8", newline="\n")
            self._write_line(self._file, {"screen": self.digest})
            for (of, known_failure), known_levels in self.known.items():
                self.add_levels(known_failure, known_levels, of)
        rows = [astuple(level) for level in levels]
        self._write_line(self._file, {"period": period, "failure": failure, "levels": rows})

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    @staticmethod
    def _write_line(file: TextIO, document: Mapping[str, Any]) -> None:
        file.write(json.dumps(document) + "\n")
        file.flush()

    def _read_levels(self, path: Path) -> dict[tuple[int, str], Levels]:
        levels: dict[tuple[int, str], Levels] = {}
        lines = path.read_text(encoding="utf-8").splitlines()
        if not lines or lines[0] != json.dumps({"screen": self.digest}):
            return levels
        for line in lines[1:]:
            try:
                record = json.loads(line)
            except ValueError:
                break
            rows = tuple(ScreenedLevel(*each) for each in record["levels"])
            levels[record["period"], record["failure"]] = rows
        return levels

"""The screened levels of failures in a file, so that a screen of many failures can be resumed.

A line for each failure, after a line with a digest of what was screened. Lines are appended and
flushed; the part of a line that an interruption leaves is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.engine.packet_engine import get_engine_version
from trunkline.network import compile
from trunkline.planning.sla_screening import ScreenedLevel
from trunkline.results.results import compute_sha256

if TYPE_CHECKING:
    from trunkline.scenario import Scenario

JOURNAL_SUFFIX = ".screen.jsonl"  # Suffix of the journal next to the folder of a study.

Levels = tuple[ScreenedLevel, ...]


class ScreenJournal:
    """Levels by failure, in a file.

    path: The file; written anew unless it has the same digest and `resume` is true.
    known: dict of str to tuple of ScreenedLevel; levels that an earlier process screened.
    """

    def __init__(
        self, path: Path, scenario: Scenario, *, begin_ns: int, runs: int, resume: bool
    ) -> None:
        bounds = [astuple(bound) for bound in scenario.list_sla_bounds()]
        content = [get_engine_version(), compile(scenario).hash(), bounds, begin_ns, runs]
        self.digest = compute_sha256(json.dumps(content))
        self.known: Mapping[str, Levels] = {}
        if resume and path.exists():
            self.known = self._read_levels(path)
        self._file = path.open("w", encoding="utf-8", newline="\n")
        self._write_line({"screen": self.digest})
        for failure, levels in self.known.items():
            self.add_levels(failure, levels)

    def add_levels(self, failure: str, levels: Levels) -> None:
        """Append the levels of a failure."""
        self._write_line({"failure": failure, "levels": [astuple(level) for level in levels]})

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write_line(self, document: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(document) + "\n")
        self._file.flush()

    def _read_levels(self, path: Path) -> dict[str, Levels]:
        levels: dict[str, Levels] = {}
        lines = path.read_text(encoding="utf-8").splitlines()
        if not lines or lines[0] != json.dumps({"screen": self.digest}):
            return levels
        for line in lines[1:]:
            try:
                record = json.loads(line)
            except ValueError:
                break
            levels[record["failure"]] = tuple(ScreenedLevel(*each) for each in record["levels"])
        return levels

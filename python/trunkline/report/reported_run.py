"""One scenario as a report shows it: its network, its runs, and those repeated to look closer."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from trunkline.report import probed_runs
from trunkline.results import Results, store

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData

NodePosition = tuple[float, float]


@dataclass(frozen=True)
class ReportedRun:
    """A scenario that was run."""

    title: str  # Its name on the page.
    about: str  # A sentence: its part of the study, and advice to the reader; may be empty.
    network: NetworkData
    runs: list[Results]  # One run a seed.
    # Plan of its traffic engineering, as ``te place --json`` prints it.
    plan: Mapping[str, Any] | None = None
    # Its comparison with another engine, as ``trunkline verify --json`` prints it.
    verdict: Mapping[str, Any] | None = None

    @classmethod
    def read_folder(cls, folder: Path, title: str = "", about: str = "") -> ReportedRun:
        """Read a results folder.

        Raises FileNotFoundError: The folder holds no results, or no compiled network.
        """
        file = folder / store.NETWORK_FILE
        if not file.is_file():
            msg = f"{folder} has no {store.NETWORK_FILE}, which describes the network"
            raise FileNotFoundError(msg)
        network = store.read_json(file)
        if not {"name", "links", "flows"} <= network.keys():
            raise store.UnreadableResultsError(f"{file} is damaged: it holds no compiled network")
        stored = cast("NetworkData", network)
        plan = _read_attached_document(
            folder / store.PLAN_FILE, {"methods", "paths", "links", "scale"}, "plan"
        )
        verdict = _read_attached_document(
            folder / store.VERDICT_FILE, {"outcome", "verdicts"}, "verdict"
        )
        return cls(
            title or str(network["name"]),
            about,
            stored,
            store.read_results(folder),
            plan,
            verdict,
        )

    @property
    def first_run(self) -> Results:
        """The run that stands for all where one is shown."""
        return self.runs[0]

    @functools.cached_property
    def probed(self) -> probed_runs.ProbedRuns:
        """The first runs repeated with probes."""
        return probed_runs.repeat_with_probes(self.network, self.runs)

    @property
    def duration_ns(self) -> int:
        """Length of a run [ns]."""
        return int(self.network["run"]["duration_ns"])

    @property
    def warmup_ns(self) -> int:
        """Start of the counts [ns]."""
        return int(self.network["run"]["warmup_ns"])

    @functools.cached_property
    def node_positions(self) -> dict[str, NodePosition]:
        """Positions of the nodes in the scenario; nodes without a position are left out."""
        from trunkline.scenario import yaml_text
        from trunkline.scenario.diagnostic import ScenarioError

        scenario_text = self.first_run.provenance.scenario
        if not scenario_text.strip():
            return {}
        try:
            document, _ = yaml_text.parse_yaml(scenario_text, "scenario")
        except ScenarioError:
            return {}
        nodes = document.get("nodes") if isinstance(document, Mapping) else None
        if not isinstance(nodes, Mapping):
            return {}
        found = {}
        for name, keys in nodes.items():
            place = keys.get("position") if isinstance(keys, Mapping) else None
            if isinstance(place, list | tuple) and len(place) == 2:
                try:
                    found[str(name)] = (float(str(place[0])), float(str(place[1])))
                except ValueError:
                    continue
        return found


def _read_attached_document(file: Path, keys: set[str], what: str) -> Mapping[str, Any] | None:
    """Read a JSON object that lies next to results; None without it.

    Raises UnreadableResultsError: It lacks its keys.
    """
    if not file.is_file():
        return None
    document = store.read_json(file)
    if not keys <= document.keys():
        raise store.UnreadableResultsError(f"{file} is damaged: it holds no {what}")
    return document

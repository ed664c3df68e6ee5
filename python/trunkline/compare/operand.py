"""One side of a comparison: results on disk, or a scenario that is run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trunkline.engine import simulate
from trunkline.network import Network, compile
from trunkline.results import Results
from trunkline.results.store import NETWORK_FILE, read_results
from trunkline.scenario import Scenario

EngineFunction = Callable[[Network, Sequence[int], str], list[Results]]
"""An engine: network, seeds, text of the scenario; results in the order of the seeds."""


class ComparisonOperand:
    """Runs of one network by seed.

    name: Its name in messages: a folder or a file.
    network: The compiled network, parsed from its JSON; None if a folder does not hold it.
    runs: Runs that are there already, by seed.
    scenario: Text of the scenario.
    is_stored: Whether the runs are on disk, so that no others can be had.
    run: Runs the network with some seeds; the packet simulator if left out.
    """

    def __init__(
        self,
        name: str,
        network: Mapping[str, Any] | None,
        runs: Mapping[int, Results],
        *,
        scenario: str = "",
        stored: bool,
        run: EngineFunction | None = None,
    ) -> None:
        self.name = name
        self.network: Any = dict(network) if network is not None else None
        self.runs = dict(runs)
        self.scenario = scenario
        self.is_stored = stored
        self._run_engine = run

    @classmethod
    def read_folder(cls, folder: str | Path) -> ComparisonOperand:
        """Read the results that were written by ``--out``.

        Raises FileNotFoundError: The folder holds no results.
        Raises ValueError: They are damaged, or of a newer form.
        """
        place = Path(folder)
        runs = read_results(place)
        network = place / NETWORK_FILE
        compiled = json.loads(network.read_text("utf-8")) if network.exists() else None
        return cls(
            str(folder),
            compiled,
            {run.seed: run for run in runs},
            scenario=runs[0].provenance.scenario,
            stored=True,
        )

    @classmethod
    def from_scenario(
        cls, scenario: Scenario, name: str, *, run: EngineFunction | None = None
    ) -> ComparisonOperand:
        """A scenario, run when runs are wanted, by the packet simulator or another engine."""
        data = compile(scenario).data
        return cls(name, data, {}, scenario=scenario.text, stored=False, run=run)

    def get_runs(self, seeds: Sequence[int], *, threads: int | None = None) -> list[Results]:
        """Return the runs with these seeds, made if need be.

        Raises KeyError: The side is on disk and has no run of a seed.
        """
        missing = [seed for seed in seeds if seed not in self.runs]
        if missing and not self.is_stored:
            assert self.network is not None
            network = Network(self.network)
            if self._run_engine is not None:
                new_runs = self._run_engine(network, missing, self.scenario)
            else:
                new_runs = simulate(network, seeds=missing, threads=threads, scenario=self.scenario)
            self.runs |= {run.seed: run for run in new_runs}
        return [self.runs[seed] for seed in seeds]

"""One attempt at a scenario: read, checked, run and drawn, or what is wrong with it."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trunkline.compare import USUAL, Comparison, Side, compare
from trunkline.compare.why import MOST, differences, grouped
from trunkline.engine import simulate
from trunkline.engine.sim import LIMITS, Limits
from trunkline.live.knobs import Knob, knobs
from trunkline.network import compile
from trunkline.report import page
from trunkline.report.charts import Chart
from trunkline.report.exhibit import Exhibit
from trunkline.scenario import Diagnostic, ScenarioError, load
from trunkline.scenario.diagnostic import MOST_SHOWN


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to attempt.

    Parameters
    ----------
    content : str
        Its text, by which a change is seen.
    overrides : mapping of str to str
        Values set over it.
    seed : int or None
        Seed of the first run; None for the scenario's own.
    limit_s : float
        Longest time of one run [s].
    """

    file: Path
    content: str
    overrides: Mapping[str, str]
    seed: int | None
    runs: int
    limit_s: float

    @property
    def words(self) -> list[str]:
        """Arguments of ``trunkline`` commands that mean the same scenario."""
        sets = [word for k, value in self.overrides.items() for word in ("--set", f"{k}={value}")]
        return [str(self.file), *sets]

    @property
    def command(self) -> str:
        """The command that runs the same in a terminal."""
        more = [] if self.seed is None else ["--seed", str(self.seed)]
        more += [] if self.runs == 1 else ["--runs", str(self.runs)]
        return shlex.join(["trunkline", "run", *self.words, *more])


@dataclass(slots=True)
class Attempt:
    """What became of it.

    Parameters
    ----------
    knobs : list of Knob
        What can be turned.
    said : list of str
        Errors and warnings as the terminal shows them, each with its line of the file.
    exhibit : Exhibit or None
        The runs; None with errors.
    view : page.View or None
        The runs as a report shows them.
    changes : Comparison or None
        This against the run before; None without one.
    network : list of str
        What differs between the networks of the two.
    earlier : list of Chart
        The charts over time of the run before.
    took_s : float
        From the file to the picture [s].
    settled : bool
        Whether it is no step of a slider that still moves.
    """

    wanted: Wanted
    knobs: list[Knob]
    said: list[str] = field(default_factory=list)
    exhibit: Exhibit | None = None
    view: page.View | None = None
    changes: Comparison | None = None
    network: list[str] = field(default_factory=list)
    earlier: list[Chart] = field(default_factory=list)
    took_s: float = 0.0
    settled: bool = True

    def side(self, name: str) -> Side:
        """Its runs, to be compared with others."""
        assert self.exhibit is not None
        runs = {run.seed: run for run in self.exhibit.runs}
        return Side(name, dict(self.exhibit.network), runs, stored=True)


def attempt(wanted: Wanted, before: Attempt | None) -> Attempt:
    """Load, check, run and draw a scenario, and compare it with an earlier run.

    Parameters
    ----------
    before : Attempt or None
        An earlier run; None if there is none.
    """
    began = time.monotonic()
    made = Attempt(wanted, knobs(wanted.content, wanted.overrides))
    try:
        _run(made)
    except ScenarioError as error:
        made.said = _said(error.diagnostics, wanted)
    except TimeoutError:
        made.said = [
            f"error[time]: a run takes longer than {wanted.limit_s:g} s and was stopped; make it "
            "shorter (run.duration), or start trunkline watch with a higher --limit-time"
        ]
    except (ValueError, RuntimeError, MemoryError, OSError) as error:
        made.said = [f"error: {error}"]
    if made.exhibit is not None and before is not None and before.exhibit is not None:
        made.changes = compare(before.side("the last run"), made.side("this run"), USUAL)
        found = grouped(differences(before.exhibit.network, made.exhibit.network))
        if before.view is not None:
            made.earlier = [chart for chart in before.view.charts if chart.kind == "line"]
        more = len(found) - MOST
        made.network = found[:MOST] + ([f"and {more} more"] if more > 0 else [])
    made.took_s = time.monotonic() - began
    return made


def _run(made: Attempt) -> None:
    wanted = made.wanted
    scenario = load(wanted.file, overrides=dict(wanted.overrides))
    made.said = _said(scenario.warnings, wanted)
    network = compile(scenario)
    seed = scenario.run.seed if wanted.seed is None else wanted.seed
    token = LIMITS.set(Limits(time_s=wanted.limit_s))
    try:
        seeds = range(seed, seed + wanted.runs)
        runs = simulate(network, seeds=list(seeds), scenario=scenario.text)
        exhibit = Exhibit(str(network.data["name"]), "", network.data, runs)
        made.view = page.view(exhibit, "x0")
    finally:
        LIMITS.reset(token)
    made.exhibit = exhibit


def _said(problems: Sequence[Diagnostic], wanted: Wanted) -> list[str]:
    lines = wanted.content.split("\n")
    return [
        each.render(lines if each.file in ("", str(wanted.file)) else ())
        for each in problems[:MOST_SHOWN]
    ]

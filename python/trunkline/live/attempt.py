"""One attempt at a scenario: read, checked, run and drawn, or its errors."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trunkline.compare import (
    DEFAULT_COMPARED_METRICS,
    Comparison,
    ComparisonOperand,
    compare_operands,
)
from trunkline.compare.network_difference import (
    MAX_DIFFERENCES_SHOWN,
    group_differences,
    list_network_differences,
)
from trunkline.engine import simulate
from trunkline.engine.packet_engine import RUN_LIMITS, RunLimits
from trunkline.live.parameter_controls import ParameterControl, list_parameter_controls
from trunkline.network import compile
from trunkline.report import page
from trunkline.report.charts import Chart
from trunkline.report.reported_run import ReportedRun
from trunkline.scenario import Diagnostic, ScenarioError, load
from trunkline.scenario.diagnostic import MAX_DIAGNOSTICS_SHOWN


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A scenario to run, with its overrides."""

    file: Path
    content: str  # Its text, by which a change is seen.
    overrides: Mapping[str, str]  # Values set over it.
    seed: int | None  # Seed of the first run; None for the scenario's own.
    runs: int
    limit_s: float  # Longest time of one run [s].

    @property
    def cli_arguments(self) -> list[str]:
        """Arguments of ``trunkline`` commands that mean the same scenario."""
        sets = [word for k, value in self.overrides.items() for word in ("--set", f"{k}={value}")]
        return [str(self.file), *sets]

    @property
    def command_line(self) -> str:
        """The command that runs the same in a terminal."""
        options = [] if self.seed is None else ["--seed", str(self.seed)]
        options += [] if self.runs == 1 else ["--runs", str(self.runs)]
        return shlex.join(["trunkline", "run", *self.cli_arguments, *options])


@dataclass(slots=True)
class RunAttempt:
    """Outcome of a request."""

    request: RunRequest
    controls: list[ParameterControl]  # Parameters that the page controls.
    # Errors and warnings as the terminal shows them, each with its line of the file.
    messages: list[str] = field(default_factory=list)
    reported_run: ReportedRun | None = None  # The runs; None with errors.
    view: page.RunView | None = None  # The runs as a report shows them.
    changes: Comparison | None = None  # This against the run before; None without one.
    # Differences between the networks of the two.
    network_differences: list[str] = field(default_factory=list)
    # The charts over time of the run before.
    earlier_charts: list[Chart] = field(default_factory=list)
    duration_s: float = 0.0  # From the file to the picture [s].
    is_settled: bool = True  # Whether it is no step of a slider that still moves.

    def build_operand(self, name: str) -> ComparisonOperand:
        """Build the operand of its runs, for a comparison."""
        assert self.reported_run is not None
        runs = {run.seed: run for run in self.reported_run.runs}
        return ComparisonOperand(name, dict(self.reported_run.network), runs, stored=True)


def attempt_run(request: RunRequest, previous: RunAttempt | None) -> RunAttempt:
    """Load, check, run and draw a scenario, and compare it with an earlier run.

    previous: An earlier run; None if there is none.
    """
    started_at = time.monotonic()
    run_attempt = RunAttempt(request, list_parameter_controls(request.content, request.overrides))
    try:
        _run_scenario(run_attempt)
    except ScenarioError as error:
        run_attempt.messages = _format_problems(error.diagnostics, request)
    except TimeoutError:
        run_attempt.messages = [
            f"error[time]: a run takes longer than {request.limit_s:g} s and was stopped; make it "
            "shorter (run.duration), or start trunkline watch with a higher --limit-time"
        ]
    except (ValueError, RuntimeError, MemoryError, OSError) as error:
        run_attempt.messages = [f"error: {error}"]
    if (
        run_attempt.reported_run is not None
        and previous is not None
        and previous.reported_run is not None
    ):
        run_attempt.changes = compare_operands(
            previous.build_operand("the last run"),
            run_attempt.build_operand("this run"),
            DEFAULT_COMPARED_METRICS,
        )
        network_changes = group_differences(
            list_network_differences(
                previous.reported_run.network, run_attempt.reported_run.network
            )
        )
        if previous.view is not None:
            run_attempt.earlier_charts = [
                chart for chart in previous.view.charts if chart.kind == "line"
            ]
        hidden_count = len(network_changes) - MAX_DIFFERENCES_SHOWN
        run_attempt.network_differences = network_changes[:MAX_DIFFERENCES_SHOWN] + (
            [f"and {hidden_count} more"] if hidden_count > 0 else []
        )
    run_attempt.duration_s = time.monotonic() - started_at
    return run_attempt


def _run_scenario(run_attempt: RunAttempt) -> None:
    request = run_attempt.request
    scenario = load(request.file, overrides=dict(request.overrides))
    run_attempt.messages = _format_problems(scenario.warnings, request)
    network = compile(scenario)
    seed = scenario.run.seed if request.seed is None else request.seed
    token = RUN_LIMITS.set(RunLimits(time_s=request.limit_s))
    try:
        seeds = range(seed, seed + request.runs)
        runs = simulate(network, seeds=list(seeds), scenario=scenario.text)
        exhibit = ReportedRun(str(network.data["name"]), "", network.data, runs)
        run_attempt.view = page.build_run_view(exhibit, "x0")
    finally:
        RUN_LIMITS.reset(token)
    run_attempt.reported_run = exhibit


def _format_problems(problems: Sequence[Diagnostic], request: RunRequest) -> list[str]:
    lines = request.content.split("\n")
    return [
        each.render(lines if each.file in ("", str(request.file)) else ())
        for each in problems[:MAX_DIAGNOSTICS_SHOWN]
    ]

"""Codes that a page gives for solved tasks: the values of the solution, and its results.

A code is ``TL1-`` and a JSON object in the alphabet of RFC 4648 section 5 (base64url). Whoever has
the scenario runs it with these values and sees whether the results are the same and keep the
targets.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.results.results import compute_sha256
from trunkline.scenario import Scenario, load
from trunkline.scenario.lesson import LessonTask
from trunkline.stats.service_levels import judge_bounds

CODE_PREFIX = "TL1-"
MAX_CODE_CHARACTERS = 20_000
MAX_CODE_RUNS = 100
SCENARIO_HASH_DIGITS = 12
RESULTS_HASH_DIGITS = 16


class CodeError(ValueError):
    """A text is no code of a page, or of another scenario; the text describes the fault."""


@dataclass(frozen=True, slots=True)
class TaskSolution:
    """A reader's solution of a task."""

    values: Mapping[str, str] = field(default_factory=dict)  # Parameters that were set.
    # seed, runs: Seed of the first run, and runs.
    seed: int = 1
    runs: int = 1
    results_hash: str = ""  # First digits of the results hash of the first run.
    choice: int | None = None  # Number of the chosen answer, of a task with choices.


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """Whether a task is solved."""

    task: str
    # ``not repeated``: the values give other results than the code says.
    outcome: Literal["solved", "not solved", "not handed in", "not repeated"]
    reason: str = ""  # The missed goal; empty where it is solved.


def read_code(code: str) -> tuple[str, dict[str, TaskSolution]]:
    """Read a code.

    Returns: First digits of the hash of the scenario, and a solution by task.
    Raises CodeError: The text is no code.
    """
    text = "".join(code.split())
    if not text.startswith(CODE_PREFIX) or len(text) > MAX_CODE_CHARACTERS:
        raise CodeError(f"a code begins with {CODE_PREFIX}")
    body = text.removeprefix(CODE_PREFIX)
    try:
        decoded = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        document = json.loads(decoded)
        solutions = {
            str(task): _read_solution(solution) for task, solution in document["tasks"].items()
        }
        return str(document["scenario"]), solutions
    except (binascii.Error, UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError):
        raise CodeError("the code is damaged: copy all of it, from the page") from None


def _read_solution(written: Any) -> TaskSolution:
    if "choice" in written:
        return TaskSolution(choice=int(written["choice"]))
    solution = TaskSolution(
        {str(name): str(value) for name, value in written["values"].items()},
        int(written["seed"]),
        int(written["runs"]),
        str(written["hash"]),
    )
    if not 1 <= solution.runs <= MAX_CODE_RUNS or not 0 <= solution.seed < 2**64:
        raise ValueError
    return solution


def check_code(code: str, file: str | Path) -> list[TaskVerdict]:
    """Run a scenario with the values of a code, and judge every task of its lesson.

    Parameters
    ----------
    code : str
        As the page gave it.
    file : str or Path
        The scenario that the page was made of.

    Returns
    -------
    list of TaskVerdict
        One a task, in the order of the file.

    Raises
    ------
    CodeError
        It is no code, or of another scenario.
    ScenarioError
        The scenario has errors, or does not allow the values.
    """
    scenario_hash, solutions = read_code(code)
    scenario = load(file)
    if scenario.lesson is None or not scenario.lesson.tasks:
        raise CodeError(f"{file} has no lesson with tasks")
    if scenario_hash != hash_scenario(scenario):
        raise CodeError(f"the code is of another scenario than {file}, or of another version of it")
    return [
        _judge_task(name, task, solutions.get(name), file)
        for name, task in scenario.lesson.tasks.items()
    ]


def hash_scenario(scenario: Scenario) -> str:
    """First digits of the hash of a scenario's text."""
    return compute_sha256(scenario.text)[:SCENARIO_HASH_DIGITS]


def _judge_task(
    name: str, task: LessonTask, solution: TaskSolution | None, file: str | Path
) -> TaskVerdict:
    if solution is None or (solution.choice is None) != (task.targets is not None):
        return TaskVerdict(name, "not handed in")
    if task.targets is None:
        right = solution.choice == task.answer
        return TaskVerdict(
            name,
            "solved" if right else "not solved",
            "" if right else f"choice {solution.choice} is wrong",
        )
    scenario = load(file, overrides=dict(solution.values))
    seeds = range(solution.seed, solution.seed + solution.runs)
    runs = simulate(compile(scenario), seeds=list(seeds), scenario=scenario.text)
    if not solution.results_hash or not runs[0].hash().startswith(solution.results_hash):
        reason = f"these values give {runs[0].hash()[:RESULTS_HASH_DIGITS]}"
        return TaskVerdict(name, "not repeated", f"{reason}, not {solution.results_hash}")
    bounds = [each for each in scenario.list_sla_bounds() if each.sla in task.targets]
    missed = [level for level in judge_bounds(bounds, runs) if level.outcome != "met"]
    reasons = ", ".join(f"{each.bound.sla} {each.bound.measure} {each.outcome}" for each in missed)
    return TaskVerdict(name, "not solved" if missed else "solved", reasons)

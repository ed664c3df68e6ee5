"""The lessons of the tutorial: none starts solved, and offered values solve each task."""

from __future__ import annotations

from pathlib import Path

import pytest

import trunkline
from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.scenario import load
from trunkline.stats.service_levels import judge_bounds

FOLDER = Path(trunkline.__file__).parent / "examples" / "lessons"
SOLUTIONS = {
    "lesson-1-trunks": {"leave-room": {"udp_rate": "20 Mbit/s"}},
    "lesson-2-diffserv": {
        "quick-calls": {"port": "voice-first"},
        "served-data": {"port": "voice-first"},
    },
    "lesson-3-protection": {
        "half-of-it": {"interval": "10 ms", "hold_off": "50 ms"},
        "faster": {"interval": "3.3 ms", "hold_off": "0 s"},
    },
    "lesson-4-diffserv-over-mpls": {
        "voice": {"tc_zero": "false"},
        "business": {"tc_zero": "false", "contract": "2 Mbit/s"},
    },
    "lesson-5-traffic-engineering": {
        "no-loss": {"reserved": "6 Mbit/s"},
        "quick-voice": {"reserved": "6 Mbit/s", "voice_priority": "3"},
    },
}
"""Values that solve each task with targets."""


def keeps_targets(name: str, task: str, **values: str) -> bool:
    scenario = load(FOLDER / f"{name}.yaml", overrides=values)
    targets = scenario.lesson.tasks[task].targets
    bounds = [bound for bound in scenario.list_sla_bounds() if bound.sla in targets]
    runs = simulate(compile(scenario), seeds=[scenario.run.seed])
    return all(level.met for level in judge_bounds(bounds, runs))


def test_every_lesson_and_task_is_here():
    for file in FOLDER.glob("*.yaml"):
        lesson = load(file).lesson
        judged = {name for name, task in lesson.tasks.items() if task.targets}
        assert judged == set(SOLUTIONS[file.stem]), file.stem
        assert lesson.text
        assert any(task.choices for task in lesson.tasks.values())


@pytest.mark.parametrize(
    ("name", "task"), [(name, task) for name, tasks in SOLUTIONS.items() for task in tasks]
)
def test_a_task_is_not_solved_as_written_and_is_by_offered_values(name, task):
    offered = load(FOLDER / f"{name}.yaml").lesson.offer
    values = SOLUTIONS[name][task]
    assert all(value in offered[parameter] for parameter, value in values.items())
    assert not keeps_targets(name, task)
    assert keeps_targets(name, task, **values)

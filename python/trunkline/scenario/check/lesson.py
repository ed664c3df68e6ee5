"""Checks of the lesson: its tasks can be judged, its values are of parameters."""

from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.lesson import LessonTask
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check the lesson."""
    lesson = scenario.written.lesson
    if lesson is None:
        return
    for name in lesson.offer:
        if name not in scenario.written.parameters:
            path = ("lesson", "offer", name)
            known = scenario.written.parameters
            problems.add_unknown(path, "parameter", name, known, at_key=True)
    for name, task in lesson.tasks.items():
        _check_task(scenario, task, ("lesson", "tasks", name), problems)


def _check_task(
    scenario: ResolvedScenario, task: LessonTask, path: DocumentPath, problems: Problems
) -> None:
    if (task.targets is None) == (task.choices is None):
        message = "a task has `targets`, or `choices` and their `answer`: one of them"
        problems.add("relation", path, message, at_key=True)
    for position, target in enumerate(task.targets or ()):
        if target not in scenario.slas:
            problems.add_unknown((*path, "targets", position), "SLA", target, scenario.slas)
    if (task.choices is None) != (task.answer is None):
        problems.add("relation", path, "`choices` and `answer` go together", at_key=True)
    if task.choices is not None and task.answer is not None and task.answer > len(task.choices):
        problems.add(
            "range",
            (*path, "answer"),
            "there is no such choice",
            given=str(task.answer),
            allowed=f"1 to {len(task.choices)}",
        )

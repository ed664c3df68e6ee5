"""Checks of the run: its length and where counting begins."""

from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.units import format_time


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check the length of the run."""
    run = scenario.run
    if run.warm_up >= run.duration:
        problems.add(
            "relation",
            ("run", "warm_up"),
            "warm_up must end before duration does",
            given=format_time(run.warm_up),
            allowed=f"below {format_time(run.duration)}",
            related=((("run", "duration"), f"duration is {format_time(run.duration)}"),),
        )

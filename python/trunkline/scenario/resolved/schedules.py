"""Packet schedules, read from their files."""

from trunkline.scenario import schedule
from trunkline.scenario.flow import Udp
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import ResolvedScenario
from trunkline.scenario.scenario_files import ScenarioFileError


def read_schedules(scenario: ResolvedScenario, problems: Problems) -> None:
    """Read the schedule of every flow that has one."""
    folder = scenario.written._origin.folder
    for name, flow in scenario.flows.items():
        if not isinstance(flow, Udp) or flow.arrivals != "schedule" or flow.schedule is None:
            continue
        try:
            scenario.schedules[flow.schedule] = schedule.read_schedule(flow.schedule, folder)
        except ScenarioFileError as error:
            problems.add("file", ("flows", name, "schedule"), str(error), given=flow.schedule)

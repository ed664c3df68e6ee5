"""Classes of port configurations: by name, queues with defaults."""

from trunkline.scenario.base import merged
from trunkline.scenario.port import Class, Port, Queue
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import Resolved

__all__ = ["classes"]


def classes(scenario: Resolved, problems: Problems) -> None:
    """Works out the classes of every port configuration, and of links without one."""
    default = scenario.written.defaults.queue
    for name, port in [(None, Port()), *scenario.ports.items()]:
        alone = Class(queue=merged(port.queue or Queue(), default))
        if port.per == "flow":
            scenario.classes[name] = {own: alone for own, _ in scenario.names} or {"default": alone}
        elif not port.classes:
            scenario.classes[name] = {"default": alone}
        else:
            scenario.classes[name] = {
                each: said.model_copy(update={"queue": merged(said.queue, default)})
                for each, said in port.classes.items()
            }

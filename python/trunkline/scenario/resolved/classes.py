"""Classes of port configurations: by name, queues with defaults."""

from collections.abc import Mapping

from trunkline.scenario.base import merge_defaults
from trunkline.scenario.flow_queue import FLOW_SCHEDULERS, FlowQueues, make_flow_queues
from trunkline.scenario.port import PortConfiguration
from trunkline.scenario.problems import Problems
from trunkline.scenario.queue import QueueOptions
from trunkline.scenario.resolved.resolved import ResolvedScenario
from trunkline.scenario.scheduler import CLASS_OF_SCHEDULER
from trunkline.scenario.scheduler_classes import PortClass


def resolve_classes(scenario: ResolvedScenario, problems: Problems) -> None:
    """Works out the classes of every port configuration, and of links without one."""
    default = scenario.written.defaults.queue
    for name, port in [(None, PortConfiguration()), *scenario.ports.items()]:
        scheduler = port.scheduler or "fifo"
        port_classes: Mapping[str, PortClass] = port.classes
        if not port_classes or port.per == "flow":
            only_class = CLASS_OF_SCHEDULER[scheduler].model_construct(
                queue=port.queue or QueueOptions()
            )
            flows = [*(flow_name for flow_name, _ in scenario.flow_names), *scenario.message_flows]
            names = flows if port.per == "flow" and flows else ["default"]
            port_classes = dict.fromkeys(names, only_class)
        scenario.classes[name] = {
            each: port_class.model_copy(
                update={
                    "queue": _complete_queue(merge_defaults(port_class.queue, default), scheduler)
                }
            )
            for each, port_class in port_classes.items()
        }


def _complete_queue(queue: QueueOptions, scheduler: str) -> QueueOptions:
    """A queue, with absent keys from its flow queueing, or that of the port."""
    flows: FlowQueues | None = queue.flows
    if scheduler in FLOW_SCHEDULERS or (scheduler == "cake" and flows is None):
        flows = make_flow_queues(scheduler)
    if flows is None:
        return queue
    flow_queue_defaults = {"flows": flows, "limit": flows.limit, "aqm": flows.aqm}
    written_keys = queue.model_fields_set - {"flows"}
    return queue.model_copy(
        update={key: each for key, each in flow_queue_defaults.items() if key not in written_keys}
    )

"""Classes of port configurations: by name, queues with defaults."""

from collections.abc import Mapping

from trunkline.scenario.base import merged
from trunkline.scenario.flow_queue import FLOW_SCHEDULERS, FlowQueues, flows_of
from trunkline.scenario.port import Port
from trunkline.scenario.problems import Problems
from trunkline.scenario.queue import Queue
from trunkline.scenario.resolved.resolved import Resolved
from trunkline.scenario.scheduler import CLASS_OF
from trunkline.scenario.shares import Class


def classes(scenario: Resolved, problems: Problems) -> None:
    """Works out the classes of every port configuration, and of links without one."""
    default = scenario.written.defaults.queue
    for name, port in [(None, Port()), *scenario.ports.items()]:
        scheduler = port.scheduler or "fifo"
        said: Mapping[str, Class] = port.classes
        if not said or port.per == "flow":
            alone = CLASS_OF[scheduler].model_construct(queue=port.queue or Queue())
            flows = [*(own for own, _ in scenario.names), *scenario.message_flows]
            names = flows if port.per == "flow" and flows else ["default"]
            said = dict.fromkeys(names, alone)
        scenario.classes[name] = {
            each: its.model_copy(update={"queue": _whole(merged(its.queue, default), scheduler)})
            for each, its in said.items()
        }


def _whole(queue: Queue, scheduler: str) -> Queue:
    """A queue with what its flow queueing, or that of the port, says where it says nothing."""
    flows: FlowQueues | None = queue.flows
    if scheduler in FLOW_SCHEDULERS or (scheduler == "cake" and flows is None):
        flows = flows_of(scheduler)
    if flows is None:
        return queue
    meant = {"flows": flows, "limit": flows.limit, "aqm": flows.aqm}
    said = queue.model_fields_set - {"flows"}
    return queue.model_copy(update={key: each for key, each in meant.items() if key not in said})

"""Queues: a limit, and an AQM that judges."""

from trunkline.scenario.aqm import Aqm, DropTail
from trunkline.scenario.base import Element
from trunkline.scenario.fields import Switch, default
from trunkline.scenario.flow_queue import AnyFlowQueues
from trunkline.scenario.queue_limit import QueueLimit, QueueLimitField


class QueueOptions(Element):
    """A queue and who judges its packets."""

    limit: QueueLimitField = default(
        QueueLimit(packets=100),
        "Maximum length: `100 packets`, `64 kB` on the wire, a list of both, or `none`. 0 packets:"
        " none waits.",
    )
    counts_in_service: Switch = default(
        False, "Whether limit and AQM count the packet being transmitted too."
    )
    aqm: Aqm = default(
        DropTail(), "Active queue management; with `flows`, that of each flow's queue."
    )
    flows: AnyFlowQueues | None = default(
        None, "Flow queueing: a queue for each flow behind the limit."
    )

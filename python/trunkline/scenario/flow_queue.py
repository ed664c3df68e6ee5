"""Flow queueing: a queue for each flow that a port can tell apart, by one class for each kind."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator

from trunkline.scenario.aqm import Aqm, Cobalt, Codel, DropTail, Pie
from trunkline.scenario.base import CompiledKeys, Element
from trunkline.scenario.fields import PlainInteger, QuantityField, ShortForm, default
from trunkline.scenario.queue_limit import QueueLimit
from trunkline.scenario.units import BYTES, PACKETS

QueueCount = Annotated[int, PlainInteger("a number of queues", 1, 65_535)] | Literal["flow"]
PacketCount = Annotated[int, QuantityField(PACKETS, 1, 2**31 - 1)]


CAKE_SET_SIZE = 8  # Queues among which a flow of CAKE may find an empty one.


class FlowQueues(Element):
    """Keys that all kinds share; their `kind` distinguishes them."""

    limit: ClassVar[QueueLimit] = QueueLimit(packets=10_240)
    """Limit of all queues together where none is set."""
    aqm: ClassVar[Aqm] = DropTail()
    """AQM of each queue; other parameters of its kind may be set."""
    new_first: ClassVar[bool] = True
    """Whether flows that were idle go first."""
    overflow: ClassVar[Literal["arrival", "tail", "head"]] = "arrival"
    """Packet to drop when all queues together exceed the limit."""

    queues: QueueCount = default(
        1024, "Queues that flows are hashed to; `flow`: each flow has its own."
    )
    labelled: Literal["label", "5-tuple"] = default(
        "label",
        "Key of labelled packets: their label stacks, as in routers, or the flows "
        "behind the labels.",
    )
    quantum: Annotated[int, QuantityField(BYTES, 1, 2**31 - 1)] = default(
        1514, "Bytes that a flow may send in its turn."
    )

    def compile_keys(self, *without: str, link_rate: int = 0) -> CompiledKeys:
        """Compile its parameters for the engine."""
        return {
            "queues": None if self.queues == "flow" else self.queues,
            "labelled": "five-tuple" if self.labelled == "5-tuple" else self.labelled,
            "quantum_bytes": self.quantum,
            "new_first": self.new_first,
            "flow_limit_packets": getattr(self, "flow_limit", None),
            "overflow": self.overflow,
            "batch": getattr(self, "batch", 1),
        }


class FqCodel(FlowQueues):
    """FQ-CoDel (RFC 8290): a CoDel for each flow; flows that were idle go first."""

    aqm = Codel(kind="codel")
    overflow = "head"

    kind: Literal["fq-codel"]
    batch: Annotated[int, QuantityField(PACKETS, 1, 1_000_000)] = default(
        64, "Maximum number of packets dropped at once from the longest queue."
    )


class FqPie(FlowQueues):
    """FQ-PIE: a PIE for each flow; flows that were idle go first."""

    aqm = Pie(kind="pie")

    kind: Literal["fq-pie"]


class Sfq(FlowQueues):
    """Stochastic fairness queueing (McKenney 1990): queues in turn, the longest is cut."""

    limit = QueueLimit(packets=127)
    new_first = False
    overflow = "tail"

    kind: Literal["sfq"]
    flow_limit: PacketCount = default(127, "Maximum number of packets in one queue.")


class Fq(FlowQueues):
    """Fair queueing as Linux's `sch_fq`, without its pacing: flows that were idle go first."""

    limit = QueueLimit(packets=10_000)

    kind: Literal["fq"]
    queues: QueueCount = default("flow", "Queues; `flow`: one for each flow.")
    flow_limit: PacketCount = default(100, "Maximum number of packets in one queue.")


class Cake(FlowQueues):
    """Flow queueing of CAKE: flows of a host share, and queues are found in sets of eight."""

    limit = QueueLimit(bytes=4_000_000)
    aqm = Cobalt(kind="cobalt")
    overflow = "head"

    kind: Literal["cake"]
    queues: Annotated[int, PlainInteger("a number of queues", CAKE_SET_SIZE, 65_528)] = default(
        1024, "Queues that flows are hashed to, a multiple of 8."
    )
    hosts: Literal["flows", "source", "destination", "both"] = default(
        "both",
        "Hosts that get equal shares, whatever the number of their flows; `both`: a flow counts by"
        " the busier of its two; `flows`: flows alone count.",
    )

    def compile_keys(self, *without: str, link_rate: int = 0) -> CompiledKeys:
        """Compile its parameters for the engine."""
        return super().compile_keys() | {"ways": CAKE_SET_SIZE, "hosts": self.hosts}


_FLOW_QUEUE_KINDS: dict[str, type[FlowQueues]] = {
    "fq-codel": FqCodel,
    "fq-pie": FqPie,
    "sfq": Sfq,
    "fq": Fq,
    "cake": Cake,
}
FLOW_SCHEDULERS = ("fq-codel", "fq-pie", "sfq", "fq")
"""Kinds that, as the scheduler of a port, stand for their defaults."""


def make_flow_queues(kind: str) -> FlowQueues:
    """Make the flow queueing that a word stands for."""
    return _FLOW_QUEUE_KINDS[kind].model_validate({"kind": kind})


def _expand_kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


AnyFlowQueues = Annotated[
    Annotated[FqCodel | FqPie | Sfq | Fq | Cake, Discriminator("kind")],
    ShortForm(_expand_kind, {"enum": list(_FLOW_QUEUE_KINDS)}),
]
"""Any flow queueing; `flows: fq-codel` is short for `flows: {kind: fq-codel}`."""

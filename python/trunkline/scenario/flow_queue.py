"""Flow queueing: a queue for each flow that a port can tell apart, by one class for each kind."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from trunkline.scenario.aqm import Aqm, Codel, Compiled, DropTail, Pie
from trunkline.scenario.base import Element
from trunkline.scenario.fields import Quantity, Short, Whole
from trunkline.scenario.limit import Limit
from trunkline.scenario.units import BYTES, PACKETS

__all__ = ["FLOW_SCHEDULERS", "Flows", "flows_of"]

Queues = Annotated[int, Whole("a number of queues", 1, 65_535)] | Literal["flow"]
Held = Annotated[int, Quantity(PACKETS, 1, 2**31 - 1)]


class FlowQueues(Element):
    """What the kinds have in common."""

    queues: Queues = Field(
        default=1024,
        description="Queues that flows are hashed to; `flow`: each flow has one of its own.",
    )
    labelled: Literal["label", "5-tuple"] = Field(
        default="label",
        description="What labelled packets are told apart by: their label stacks, as routers do, "
        "or the flows behind the labels.",
    )
    quantum: Annotated[int, Quantity(BYTES, 1, 2**31 - 1)] = Field(
        default=1514, description="Bytes that a flow may send in its turn."
    )

    def limit(self) -> Limit:
        """Limit of all queues together where none is set."""
        return Limit(packets=10_240)

    def aqm(self) -> Aqm:
        """AQM of each queue where none is set."""
        return DropTail()

    def judges(self, aqm: Aqm) -> bool:
        """Whether it goes with an AQM."""
        return type(aqm) is type(self.aqm())

    def order(self) -> Compiled:
        """What tells the kind from others."""
        raise NotImplementedError

    def compiled(self) -> Compiled:
        """Its parameters as the engine reads them."""
        return {
            "queues": None if self.queues == "flow" else self.queues,
            "labelled": "five-tuple" if self.labelled == "5-tuple" else self.labelled,
            "quantum_bytes": self.quantum,
        } | self.order()


class FqCodel(FlowQueues):
    """FQ-CoDel (RFC 8290): a CoDel for each flow; flows that were idle go first."""

    kind: Literal["fq-codel"]
    batch: Annotated[int, Quantity(PACKETS, 1, 1_000_000)] = Field(
        default=64, description="Most packets dropped at once from the longest queue."
    )

    def aqm(self) -> Aqm:
        """AQM of each queue where none is set."""
        return Codel(kind="codel")

    def order(self) -> Compiled:
        """What tells the kind from others."""
        return {
            "new_first": True,
            "flow_limit_packets": None,
            "overflow": "head",
            "batch": self.batch,
        }


class FqPie(FlowQueues):
    """FQ-PIE: a PIE for each flow; flows that were idle go first."""

    kind: Literal["fq-pie"]

    def aqm(self) -> Aqm:
        """AQM of each queue where none is set."""
        return Pie(kind="pie")

    def order(self) -> Compiled:
        """What tells the kind from others."""
        return {
            "new_first": True,
            "flow_limit_packets": None,
            "overflow": "arrival",
            "batch": 1,
        }


class Sfq(FlowQueues):
    """Stochastic fairness queueing (McKenney 1990): queues in turn, the longest is cut."""

    kind: Literal["sfq"]
    flow_limit: Held = Field(default=127, description="Most packets in one queue.")

    def limit(self) -> Limit:
        """Limit of all queues together where none is set."""
        return Limit(packets=127)

    def order(self) -> Compiled:
        """What tells the kind from others."""
        return {
            "new_first": False,
            "flow_limit_packets": self.flow_limit,
            "overflow": "tail",
            "batch": 1,
        }


class Fq(FlowQueues):
    """Fair queueing as Linux's `sch_fq`, without its pacing: flows that were idle go first."""

    kind: Literal["fq"]
    queues: Queues = Field(default="flow", description="Queues; `flow`: one for each flow.")
    flow_limit: Held = Field(default=100, description="Most packets in one queue.")

    def limit(self) -> Limit:
        """Limit of all queues together where none is set."""
        return Limit(packets=10_000)

    def order(self) -> Compiled:
        """What tells the kind from others."""
        return {
            "new_first": True,
            "flow_limit_packets": self.flow_limit,
            "overflow": "arrival",
            "batch": 1,
        }


_KINDS: dict[str, type[FlowQueues]] = {
    "fq-codel": FqCodel,
    "fq-pie": FqPie,
    "sfq": Sfq,
    "fq": Fq,
}
FLOW_SCHEDULERS = tuple(_KINDS)
"""Kinds; as the scheduler of a port, each stands for its defaults."""


def flows_of(kind: str) -> FlowQueues:
    """The flow queueing that a word stands for."""
    return _KINDS[kind].model_validate({"kind": kind})


def _named(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


Flows = Annotated[
    Annotated[FqCodel | FqPie | Sfq | Fq, Discriminator("kind")],
    Short(_named, {"enum": list(FLOW_SCHEDULERS)}),
]
"""Any flow queueing; `flows: fq-codel` is short for `flows: {kind: fq-codel}`."""

"""The scenario as types: one class per section of the file.

Every key is described here and nowhere else: the JSON Schema and the reference page are made
from these classes.
"""

import unicodedata
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler

from trunkline.scenario import parameters, text
from trunkline.scenario.base import Element
from trunkline.scenario.conditioner import Conditioner
from trunkline.scenario.demands import Demand, Traffic
from trunkline.scenario.diagnostic import Diagnostic, ScenarioError, render
from trunkline.scenario.diffserv import DiffServ
from trunkline.scenario.fields import (
    Factor,
    Name,
    PositiveTime,
    Quantity,
    Rate,
    Share,
    Short,
    Switch,
    Time,
    Whole,
    Word,
    invalid,
    kind,
)
from trunkline.scenario.flow import EchoOptions, Flow, TcpOptions, UdpOptions
from trunkline.scenario.path import Path, Trunk
from trunkline.scenario.places import Origin
from trunkline.scenario.port import Port
from trunkline.scenario.probe import Probe
from trunkline.scenario.problems import Problems
from trunkline.scenario.queue import Queue
from trunkline.scenario.recovery import Failure, Protection, Rerouting
from trunkline.scenario.routing import Routing
from trunkline.scenario.signalling import Event, Requests, Signalling
from trunkline.scenario.sla import Sla
from trunkline.scenario.te import LinkTe, Te
from trunkline.scenario.units import BYTES

FORMAT = 1
"""Version of the language that this program reads."""

Mtu = Annotated[int, Quantity(BYTES, 68, 2**31 - 1)]
LinkHeader = Annotated[int, Quantity(BYTES, 0, 1000)]
LARGEST = 65_535 + 4 * 4
"""The largest IP packet under a full stack of four labels [B]."""


Coordinate = Annotated[float, Field(allow_inf_nan=False)]


class Processing(Element):
    """Time from a packet's arrival at a node to the port that it leaves by."""

    fixed: Time = Field(default=0, description="Of every packet that the node forwards.")
    ip_lookup: Time = Field(
        default=0, description="Of each look-up of an IP destination, that of an ingress LSR too."
    )
    label_lookup: Time = Field(default=0, description="Of each look-up of a label.")


def _processing(value: Any) -> Any:
    return value if isinstance(value, dict | Processing) else {"fixed": value}


class Node(Element):
    """A node: host, router or label-switching router; it is what the scenario makes of it."""

    position: tuple[Coordinate, Coordinate] | None = Field(
        default=None, description="Place in pictures: x to the right, y upward."
    )
    processing: Annotated[
        Processing, Short(_processing, {"type": "string", "examples": ["1 ms"]})
    ] = Field(
        default=Processing(),
        description="What it takes to forward a packet; a time alone is `fixed`.",
    )

    @property
    def takes_time(self) -> bool:
        """Whether it takes time to forward a packet."""
        its = self.processing
        return bool(its.fixed or its.ip_lookup or its.label_lookup)


class Lost(Element):
    """A data packet that a link loses."""

    flow: Word = Field(description="Its flow; a TCP flow that is one connection, or a UDP flow.")
    segment: Annotated[int, Whole("the number of a segment", 0, 2**31)] = Field(
        description="Number of the segment or datagram in its flow, from 0."
    )
    times: Annotated[int, Whole("a number of losses", 1, 1000)] = Field(
        default=1, description="How many times: 1 is the first copy that comes."
    )


class LinkOptions(Element):
    """Keys of each direction of a link, and of `defaults: link`."""

    rate: Rate | None = Field(default=None, description="Capacity.")
    delay: Time = Field(default=0, description="Propagation delay.")
    mtu: Mtu = Field(
        default=LARGEST,
        description="Largest packet, label stack included, link header not; absent: all fit.",
    )
    metric: Annotated[int, Whole("a metric", 1, 2**32)] = Field(
        default=1, description="Cost for shortest-path routing."
    )
    header: LinkHeader = Field(
        default=0, description="Link-layer bytes added to each packet; they use capacity."
    )
    loss: Share = Field(
        default=0.0, description="Share of packets lost on the wire, each by itself."
    )
    lose: tuple[Lost, ...] = Field(
        default=(),
        description="Packets that are lost on the wire by script, for tests and teaching.",
    )
    port: Word | None = Field(
        default=None,
        description="Port configuration that feeds it; absent: one drop-tail FIFO of 100 packets.",
    )
    conditioner: Word | None = Field(
        default=None, description="Conditioner at the near end, before the port's classifier."
    )
    ingress: Word | None = Field(
        default=None, description="Conditioner at the far end, before packets are forwarded."
    )
    account: Switch = Field(
        default=False,
        description="Count what the port is offered and drops by flow, DSCP, colour, class and "
        "drop precedence.",
    )
    te: LinkTe = Field(default=LinkTe(), description="What it offers to traffic engineering.")


class Link(LinkOptions):
    """A link in both directions."""

    between: tuple[Word, Word] | None = Field(
        default=None, description="Its ends; absent: the name is `A-B`."
    )
    forward: LinkOptions | None = Field(
        default=None, description="What differs from the first end to the second."
    )
    backward: LinkOptions | None = Field(
        default=None, description="What differs from the second end to the first."
    )


class Run(Element):
    """Length and seed of the run."""

    duration: PositiveTime = Field(description="Simulated time.")
    warm_up: Time = Field(default=0, description="Counters start here.")
    seed: Annotated[int, Whole("a seed", 0, 2**64 - 1)] = Field(
        default=1, description="Seed of all random streams."
    )
    trace: Switch = Field(default=False, description="Record every packet's events.")
    events_per_instant: Annotated[int, Whole("a number of events", 1000, 2**62)] = Field(
        default=10_000_000,
        description="Maximum number of events at one instant before the run is stopped as a "
        "zero-time loop.",
    )


class Defaults(Element):
    """Keys that elements take when they do not set them."""

    link: LinkOptions | None = Field(default=None, description="For every link.")
    queue: Queue | None = Field(default=None, description="For every queue.")
    tcp: TcpOptions | None = Field(default=None, description="For every TCP flow.")
    udp: UdpOptions | None = Field(default=None, description="For every UDP flow.")
    echo: EchoOptions | None = Field(default=None, description="For every echo flow.")
    diffserv: DiffServ | None = Field(
        default=None,
        description="For every path: the map of E-LSPs that have none of their own is the "
        "pre-configured one (RFC 3270 section 3.2.1).",
    )


def _format(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise invalid(
            "format", "the version must be a whole number", given=kind(value), allowed="1"
        )
    if value > FORMAT:
        raise invalid("format", f"format {value}, this version reads up to {FORMAT}")
    return value


def _nodes(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    for index, each in enumerate(value):
        if isinstance(each, dict | list | tuple) or each is None:
            raise invalid("type", "a node is a name", given=kind(each), at=(index,))
    return {str(each): {} for each in value}


_NOTHING: dict[str, Any] = {"type": "null"}
_NODE_NAMES: dict[str, Any] = {"type": "array", "items": {"type": ["string", "integer"]}}


def _empty(value: Any) -> Any:
    return {} if value is None else value


Parameter = bool | int | float | str | None


class Sections(Element):
    """The sections of a scenario file; `trunkline.scenario.Scenario` is what users have."""

    trunkline: Annotated[int, BeforeValidator(_format)] = Field(
        default=FORMAT, description="Version of the language: 1."
    )
    name: Name | None = Field(default=None, description="Name; absent: that of the file.")
    parameters: dict[str, Parameter] = Field(
        default={}, description="Values used elsewhere as `$name` or in `${...}`."
    )
    defaults: Defaults = Field(default=Defaults(), description="Keys taken where not set.")
    nodes: Annotated[
        dict[Name, Annotated[Node, Short(_empty, _NOTHING)]], Short(_nodes, _NODE_NAMES)
    ] = Field(description="Nodes: a list of names, or a mapping to their keys.")
    links: dict[Name, Annotated[Link, Short(_empty, _NOTHING)]] = Field(
        default={}, description="Links by name; `A-B` joins nodes A and B."
    )
    ports: dict[Name, Port] = Field(default={}, description="Port configurations by name.")
    conditioners: dict[Name, Conditioner] = Field(default={}, description="Conditioners by name.")
    paths: dict[Name, Path] = Field(default={}, description="Label-switched paths by name.")
    trunks: dict[Name, Trunk] = Field(default={}, description="Trunks by name.")
    flows: dict[Name, Flow] = Field(default={}, description="Flows by name.")
    demands: dict[Name, Demand] = Field(
        default={}, description="Load offered between nodes, by name; tables of it as well."
    )
    traffic: dict[Name, Traffic] = Field(
        default={}, description="What a demand of a class becomes, by class."
    )
    te: Te = Field(default=Te(), description="Rules of traffic engineering.")
    scale: Factor = Field(
        default=1.0,
        description="Factor of all rates, those of links and demands included; delays and packets "
        "stay. Queueing times grow by its inverse.",
    )
    failures: dict[Name, Failure] = Field(
        default={}, description="Failures of links and nodes by name."
    )
    protections: dict[Name, Protection] = Field(
        default={}, description="Protections of paths by name."
    )
    rerouting: Annotated[Rerouting, Short(_empty, _NOTHING)] | None = Field(
        default=None, description="IP routing that follows failures; absent: routes stay."
    )
    signalling: Signalling = Field(
        default=Signalling(), description="How paths are set up: from the start, or by RSVP-TE."
    )
    events: tuple[Event, ...] = Field(
        default=(), description="What operators do with signalled paths, at their times."
    )
    requests: dict[Name, Requests] = Field(
        default={}, description="Random requests for paths, by name."
    )
    routing: Routing = Field(default=Routing(), description="How routers route.")
    probes: tuple[Probe, ...] = Field(default=(), description="What to record over time.")
    slas: dict[Name, Sla] = Field(
        default={}, description="Service level agreements by name, judged after the run."
    )
    run: Run = Field(description="Length and seed.")

    _warnings: list[Diagnostic] = PrivateAttr(default_factory=list)
    _document: Any = PrivateAttr(default=None)
    _origin: Origin = PrivateAttr(default=Origin())
    _source: str = PrivateAttr(default="")
    _head: str = PrivateAttr(default="")
    _resolved: Any = PrivateAttr(default=None)

    def __eq__(self, other: object) -> bool:
        """Whether another scenario says the same, wherever it was read."""
        return isinstance(other, Sections) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    @property
    def warnings(self) -> list[Diagnostic]:
        """What the loader found doubtful, sorted by place."""
        return self._warnings

    def render_warnings(self) -> str:
        """Its warnings as text, each with its line of the file; empty without any."""
        origin = self._origin
        return render(self._warnings, origin.content.split("\n"), origin.file)

    @property
    def text(self) -> str:
        """The text it was loaded from; with overrides or built in Python, its dump.

        A dump with overrides has the file's head of comments and says what was set.
        """
        return self._source or self._head + self.dump()

    def dump(self) -> str:
        """The scenario as YAML that loads to an equal scenario, parameters worked out.

        Returns
        -------
        str
            Only keys that were set.
        """
        return text.block({"trunkline": FORMAT} | self.to_document())

    @model_validator(mode="wrap")
    @classmethod
    def _substituted(
        cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        """Validates a scenario built in Python: parameters are worked out before."""
        if (info.context or {}).get("substituted") or isinstance(value, Sections):
            return handler(value)
        problems = Problems()
        meant = parameters.substitute(value, problems)
        duplicates(meant, problems)
        if problems.errors:
            raise ScenarioError([each.diagnostic for each in problems.found])
        scenario = handler(meant)
        scenario._document = value
        return scenario


def duplicates(document: Any, problems: Problems) -> None:
    """Reports nodes that are listed twice; mappings cannot hold one key twice."""
    nodes = document.get("nodes") if isinstance(document, dict) else None
    if not isinstance(nodes, list):
        return
    first: dict[str, int] = {}
    for index, node in enumerate(nodes):
        name = unicodedata.normalize("NFKC", str(node))
        if name in first:
            problems.add(
                "duplicate-name",
                ("nodes", index),
                f"node {node} is listed twice",
                related=((("nodes", first[name]), "first here"),),
            )
        first.setdefault(name, index)

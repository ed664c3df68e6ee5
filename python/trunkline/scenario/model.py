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

from trunkline.scenario import parameters, yaml_text
from trunkline.scenario.base import Element
from trunkline.scenario.conditioner import Conditioner
from trunkline.scenario.demands import Demand, TrafficTemplate
from trunkline.scenario.diagnostic import Diagnostic, ScenarioError, render_diagnostics
from trunkline.scenario.diffserv import DiffServ
from trunkline.scenario.fields import (
    ElementName,
    Factor,
    Name,
    NameReference,
    PathName,
    PlainInteger,
    PositiveTime,
    QuantityField,
    Rate,
    Share,
    ShortForm,
    Switch,
    Time,
    default,
    describe_value,
    make_invalid_error,
)
from trunkline.scenario.flow import EchoOptions, Flow, TcpOptions, UdpOptions
from trunkline.scenario.lesson import Lesson
from trunkline.scenario.path import LabelSwitchedPath, Trunk
from trunkline.scenario.port import PortConfiguration
from trunkline.scenario.probe import Probe
from trunkline.scenario.problems import Problems
from trunkline.scenario.queue import QueueOptions
from trunkline.scenario.recovery import Failure, MaintenanceWindow, Protection, Rerouting
from trunkline.scenario.routing import RoutingOptions, StaticRoute
from trunkline.scenario.signalling import OperatorEvent, RandomRequests, SignallingOptions
from trunkline.scenario.sla import Sla
from trunkline.scenario.source_positions import DocumentOrigin
from trunkline.scenario.te import LinkTeOptions, TeOptions
from trunkline.scenario.units import BYTES

LANGUAGE_VERSION = 1  # Version of the language that this program reads.

MtuBytes = Annotated[int, QuantityField(BYTES, 68, 2**31 - 1)]
LinkHeaderBytes = Annotated[int, QuantityField(BYTES, 0, 1000)]
MAX_PACKET_BYTES = 65_535 + 4 * 4  # The largest IP packet under a full stack of four labels [B].


Coordinate = Annotated[float, Field(allow_inf_nan=False)]


class Processing(Element):
    """Time from a packet's arrival at a node to the port that it leaves by."""

    fixed: Time = default(0, "Of every packet that needs a look-up.")
    ip_lookup: Time = default(
        0, "Of each look-up of an IP destination, that of an ingress LSR too."
    )
    label_lookup: Time = default(0, "Of each look-up of a label.")


def _expand_processing(value: Any) -> Any:
    return value if isinstance(value, dict | Processing) else {"fixed": value}


class Node(Element):
    """A node: host, router or label-switching router; the scenario decides its role."""

    position: tuple[Coordinate, Coordinate] | None = default(
        None, "Place in pictures: x to the right, y upward."
    )
    processing: Annotated[
        Processing, ShortForm(_expand_processing, {"type": "string", "examples": ["1 ms"]})
    ] = default(Processing(), "Time to forward a packet; a time alone is `fixed`.")
    routes: tuple[StaticRoute, ...] = default((), "Static routes.")

    @property
    def has_delay(self) -> bool:
        """Whether it takes time to forward a packet."""
        processing = self.processing
        return bool(processing.fixed or processing.ip_lookup or processing.label_lookup)


class ScriptedLoss(Element):
    """A data packet that a link loses."""

    flow: NameReference = Field(
        description="Its flow; a TCP flow that is one connection, or a UDP flow."
    )
    segment: Annotated[int, PlainInteger("the number of a segment", 0, 2**31)] = Field(
        description="Number of the segment or datagram in its flow, from 0."
    )
    times: Annotated[int, PlainInteger("a number of losses", 1, 1000)] = default(
        1, "How many times: 1 is the first copy that comes."
    )


class Reordering(Element):
    """Packets of a link that arrive late, so that others overtake them."""

    share: Share = Field(description="Share of the packets, each by itself.")
    by: PositiveTime = Field(description="How much later than the others they arrive.")


class LinkOptions(Element):
    """Keys of each direction of a link, and of `defaults: link`."""

    rate: Rate | None = default(None, "Capacity.")
    delay: Time = default(0, "Propagation delay.")
    mtu: MtuBytes = default(
        MAX_PACKET_BYTES, "Largest packet, label stack included, link header not; absent: all fit."
    )
    metric: Annotated[int, PlainInteger("a metric", 1, 2**32)] = default(
        1, "Cost for shortest-path routing."
    )
    header: LinkHeaderBytes = default(
        0, "Link-layer bytes added to each packet; they use capacity."
    )
    loss: Share = default(0.0, "Share of packets lost on the wire, each by itself.")
    lose: tuple[ScriptedLoss, ...] = default(
        (), "Packets that are lost on the wire by script, for tests and teaching."
    )
    reorder: Reordering | None = default(None, "Packets that arrive late: others overtake them.")
    port: NameReference | None = default(
        None, "Port configuration that feeds it; absent: one drop-tail FIFO of 100 packets."
    )
    conditioner: NameReference | None = default(
        None, "Conditioner at the near end, before the port's classifier."
    )
    ingress: NameReference | None = default(
        None, "Conditioner at the far end, before packets are forwarded."
    )
    account: Switch = default(
        False,
        "Count what the port is offered and drops by flow, DSCP, colour, class and drop "
        "precedence.",
    )
    te: LinkTeOptions = default(LinkTeOptions(), "Its attributes for traffic engineering.")


class Link(LinkOptions):
    """A link in both directions."""

    between: tuple[NameReference, NameReference] | None = default(
        None, "Its ends; absent: the name is `A-B`."
    )
    forward: LinkOptions | None = default(None, "Keys that differ towards the second end.")
    backward: LinkOptions | None = default(None, "Keys that differ towards the first end.")


class Run(Element):
    """Length and seed of the run."""

    duration: PositiveTime = Field(description="Simulated time.")
    warm_up: Time = default(0, "Counters start here.")
    seed: Annotated[int, PlainInteger("a seed", 0, 2**64 - 1)] = default(
        1, "Seed of all random streams."
    )
    trace: Switch = default(False, "Record every packet's events.")
    events_per_instant: Annotated[int, PlainInteger("a number of events", 1000, 2**62)] = default(
        10_000_000,
        "Maximum number of events at one instant before the run is stopped as a zero-time loop.",
    )


class Defaults(Element):
    """Keys that elements take when they do not set them."""

    link: LinkOptions | None = default(None, "For every link.")
    queue: QueueOptions | None = default(None, "For every queue.")
    tcp: TcpOptions | None = default(None, "For every TCP flow.")
    udp: UdpOptions | None = default(None, "For every UDP flow.")
    echo: EchoOptions | None = default(None, "For every echo flow.")
    diffserv: DiffServ | None = default(
        None,
        "For every path: the map of E-LSPs without a map is the pre-configured one "
        "(RFC 3270 section 3.2.1).",
    )


def _validate_version(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise make_invalid_error(
            "format", "the version must be a whole number", given=describe_value(value), allowed="1"
        )
    if value > LANGUAGE_VERSION:
        raise make_invalid_error(
            "format", f"format {value}, this version reads up to {LANGUAGE_VERSION}"
        )
    return value


def _expand_nodes(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    for index, each in enumerate(value):
        if isinstance(each, dict | list | tuple) or each is None:
            raise make_invalid_error(
                "type", "a node is a name", given=describe_value(each), at=(index,)
            )
    return {str(each): {} for each in value}


_NULL_SCHEMA: dict[str, Any] = {"type": "null"}
_NODE_NAMES_SCHEMA: dict[str, Any] = {"type": "array", "items": {"type": ["string", "integer"]}}


def _expand_null(value: Any) -> Any:
    return {} if value is None else value


ParameterValue = bool | int | float | str | None


class ScenarioSections(Element):
    """The sections of a scenario file; `trunkline.scenario.Scenario` is for users."""

    trunkline: Annotated[int, BeforeValidator(_validate_version)] = default(
        LANGUAGE_VERSION, "Version of the language: 1."
    )
    name: Name | None = default(None, "Name; absent: that of the file.")
    parameters: dict[str, ParameterValue] = default(
        {}, "Values used elsewhere as `$name` or in `${...}`."
    )
    defaults: Defaults = default(Defaults(), "Keys taken where not set.")
    nodes: Annotated[
        dict[ElementName, Annotated[Node, ShortForm(_expand_null, _NULL_SCHEMA)]],
        ShortForm(_expand_nodes, _NODE_NAMES_SCHEMA),
    ] = Field(description="Nodes: a list of names, or a mapping to their keys.")
    links: dict[ElementName, Annotated[Link, ShortForm(_expand_null, _NULL_SCHEMA)]] = default(
        {}, "Links by name; `A-B` joins nodes A and B."
    )
    ports: dict[Name, PortConfiguration] = default({}, "Port configurations by name.")
    conditioners: dict[Name, Conditioner] = default({}, "Conditioners by name.")
    paths: dict[PathName, LabelSwitchedPath] = default({}, "Label-switched paths by name.")
    trunks: dict[Name, Trunk] = default({}, "Trunks by name.")
    flows: dict[ElementName, Flow] = default({}, "Flows by name.")
    demands: dict[ElementName, Demand] = default(
        {}, "Load offered between nodes, by name; tables of it as well."
    )
    traffic: dict[Name, TrafficTemplate] = default({}, "Flow of a demand of a class, by class.")
    te: TeOptions = default(TeOptions(), "Rules of traffic engineering.")
    scale: Factor = default(
        1.0,
        "Factor of all rates, those of links and demands included; delays and packets stay. "
        "Queueing times grow by its inverse.",
    )
    failures: dict[Name, Failure] = default({}, "Failures of links and nodes by name.")
    maintenance: dict[Name, MaintenanceWindow] = default(
        {}, "Planned outages of links by name, with the drain before each."
    )
    protections: dict[Name, Protection] = default({}, "Protections of paths by name.")
    rerouting: Annotated[Rerouting, ShortForm(_expand_null, _NULL_SCHEMA)] | None = default(
        None, "IP routing that follows failures; absent: routes stay."
    )
    signalling: SignallingOptions = default(
        SignallingOptions(), "How paths are set up: from the start, or by RSVP-TE."
    )
    events: tuple[OperatorEvent, ...] = default(
        (), "Actions of operators on signalled paths, with times."
    )
    requests: dict[Name, RandomRequests] = default({}, "Random requests for paths, by name.")
    routing: RoutingOptions = default(RoutingOptions(), "How routers route.")
    probes: tuple[Probe, ...] = default((), "Values to record over time.")
    slas: dict[Name, Sla] = default({}, "Service level agreements by name, judged after the run.")
    lesson: Lesson | None = default(
        None, "Text and tasks of the page that `trunkline share` writes."
    )
    run: Run = Field(description="Length and seed.")

    _warnings: list[Diagnostic] = PrivateAttr(default_factory=list)
    _document: Any = PrivateAttr(default=None)
    _origin: DocumentOrigin = PrivateAttr(default=DocumentOrigin())
    _source: str = PrivateAttr(default="")
    _head_comment: str = PrivateAttr(default="")
    _resolved: Any = PrivateAttr(default=None)

    def __eq__(self, other: object) -> bool:
        """Whether another scenario says the same, wherever it was read."""
        return isinstance(other, ScenarioSections) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    @property
    def warnings(self) -> list[Diagnostic]:
        """Warnings of the loader, sorted by place."""
        return self._warnings

    def render_warnings(self) -> str:
        """Render its warnings as text, each with its line of the file; empty without any."""
        origin = self._origin
        return render_diagnostics(self._warnings, origin.content.split("\n"), origin.file)

    @property
    def text(self) -> str:
        """The text it was loaded from; with overrides or built in Python, its dump.

        A dump with overrides has the file's head of comments and lists the overrides.
        """
        return self._source or self._head_comment + self.dump()

    def dump(self) -> str:
        """The scenario as YAML that loads to an equal scenario, parameters worked out.

        Returns: Only keys that were set.
        """
        return yaml_text.block({"trunkline": LANGUAGE_VERSION} | self.to_document())

    @model_validator(mode="wrap")
    @classmethod
    def _substitute_before_validation(
        cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        """Validates a scenario built in Python: parameters are worked out before."""
        if (info.context or {}).get("substituted") or isinstance(value, ScenarioSections):
            return handler(value)
        problems = Problems()
        substituted = parameters.substitute_parameters(value, problems)
        report_duplicate_nodes(substituted, problems)
        if problems.has_errors:
            raise ScenarioError([each.diagnostic for each in problems.findings])
        scenario = handler(substituted)
        scenario._document = value
        return scenario


def report_duplicate_nodes(document: Any, problems: Problems) -> None:
    """Report nodes that are listed twice; mappings cannot hold one key twice."""
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

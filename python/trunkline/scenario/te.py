"""Traffic engineering: what links offer, what paths ask for, and the rules between them."""

from typing import Annotated, Literal

from pydantic import Field

from trunkline.scenario.base import Element
from trunkline.scenario.fields import (
    Factor,
    NameReference,
    NameReferences,
    PlainInteger,
    Rate,
    Time,
)

CLASS_TYPE_NAMES = ("CT0", "CT1", "CT2", "CT3", "CT4", "CT5", "CT6", "CT7")
ClassType = Literal["CT0", "CT1", "CT2", "CT3", "CT4", "CT5", "CT6", "CT7"]
LspPriority = Annotated[int, PlainInteger("a priority", 0, 7)]


class LinkTeOptions(Element):
    """What a direction of a link tells about itself for traffic engineering."""

    metric: Annotated[int, PlainInteger("a metric", 1, 2**32)] | None = Field(
        default=None, description="TE metric (RFC 3630 section 2.5.5); absent: the link's metric."
    )
    reservable: Factor = Field(
        default=1.0,
        description="Maximum reservable bandwidth over the capacity (RFC 3630 section 2.5.7); "
        "`120 %` is over-subscription.",
    )
    colours: NameReferences = Field(
        default=(), description="Administrative groups (RFC 3209 section 4.7.4)."
    )
    risks: NameReferences = Field(
        default=(), description="Shared risk link groups (RFC 4202 section 2.3)."
    )


class RouteConstraints(Element):
    """What the route of a path with `route: auto` must satisfy."""

    setup: LspPriority = Field(
        default=7, description="Setup priority: 0 displaces before 7 (RFC 3209 section 4.7.1)."
    )
    hold: LspPriority = Field(
        default=7, description="Holding priority; numerically at most the setup priority."
    )
    minimise: Literal["igp", "te", "delay"] = Field(
        default="igp", description="Metric of which the route has the least."
    )
    include_any: NameReferences = Field(
        default=(), description="Each link has one of these colours."
    )
    include_all: NameReferences = Field(
        default=(), description="Each link has all of these colours."
    )
    exclude: NameReferences = Field(default=(), description="No link has one of these colours.")
    via: NameReferences = Field(default=(), description="Nodes to pass, in this order.")
    max_hops: Annotated[int, PlainInteger("a number of links", 1, 255)] | None = Field(
        default=None, description="Maximum number of links."
    )
    max_delay: Time | None = Field(default=None, description="Greatest sum of link delays.")


class CapacityModuleOptions(Element):
    """A module of the catalogue from which `te grow` upgrades links, such as a line card."""

    rate: Rate = Field(description="Capacity that one adds to a link, in both directions.")
    cost: Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)] = Field(
        description="Cost of one, for both ends, in a unit of your own."
    )
    links: NameReferences = Field(default=(), description="Links that it fits; absent: all.")
    most: Annotated[int, PlainInteger("a number of modules", 1, 1000)] = Field(
        default=100, description="Largest number of them that one link gets."
    )


class TeOptions(Element):
    """Rules of traffic engineering in this network."""

    srgb: Annotated[int, PlainInteger("a label", 16, 2**20 - 1)] = Field(
        default=16_000,
        description="First label of nodes for paths with `segments` (SRGB, RFC 8402 section 2); "
        "that of a node is this plus its place in `nodes`.",
    )

    model: Literal["none", "mam", "rdm", "mar"] = Field(
        default="none",
        description="Bandwidth constraints model of class types: maximum allocation (RFC 4125), "
        "Russian dolls (RFC 4127), maximum allocation with reservation (RFC 4126).",
    )
    class_types: dict[ClassType, NameReferences] = Field(
        default={}, description="Classes of demands by class type (RFC 4124); all others are CT0."
    )
    constraints: dict[ClassType, Factor] = Field(
        default={},
        description="Bandwidth constraint of each class type over the maximum reservable "
        "bandwidth; with a model.",
    )
    threshold: Factor | None = Field(
        default=None,
        description="With `mar`: what a class type above its constraint leaves free for the "
        "others, over the maximum reservable bandwidth (RFC 4126 section 4).",
    )
    order: Literal["priority", "listed"] = Field(
        default="priority",
        description="Paths are placed by setup priority, then bandwidth from the largest, then "
        "name; or as they are listed.",
    )
    preemption: Literal["lowest-priority-first", "fewest", "least-bandwidth"] = Field(
        default="lowest-priority-first",
        description="Which weaker paths a stronger one displaces (RFC 4829).",
    )
    modules: dict[NameReference, CapacityModuleOptions] = Field(
        default={}, description="Catalogue of modules that upgrade links, by name."
    )
    unplaced: Literal["error", "igp"] = Field(
        default="error",
        description="A path that cannot be placed is an error, or its packets follow IP routing.",
    )

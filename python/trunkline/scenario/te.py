"""Traffic engineering: attributes of links, constraints of paths, and the rules of placement."""

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
    default,
)

CLASS_TYPE_NAMES = ("CT0", "CT1", "CT2", "CT3", "CT4", "CT5", "CT6", "CT7")
ClassType = Literal["CT0", "CT1", "CT2", "CT3", "CT4", "CT5", "CT6", "CT7"]
LspPriority = Annotated[int, PlainInteger("a priority", 0, 7)]


class LinkTeOptions(Element):
    """Attributes of a direction of a link for traffic engineering."""

    metric: Annotated[int, PlainInteger("a metric", 1, 2**32)] | None = default(
        None, "TE metric (RFC 3630 section 2.5.5); absent: the link's metric."
    )
    reservable: Factor = default(
        1.0,
        "Maximum reservable bandwidth over the capacity (RFC 3630 section 2.5.7); `120 %` is "
        "over-subscription.",
    )
    colours: NameReferences = default((), "Administrative groups (RFC 3209 section 4.7.4).")
    risks: NameReferences = default((), "Shared risk link groups (RFC 4202 section 2.3).")


class RouteConstraints(Element):
    """Constraints of a path with `route: auto`."""

    setup: LspPriority = default(
        7, "Setup priority: 0 displaces before 7 (RFC 3209 section 4.7.1)."
    )
    hold: LspPriority = default(7, "Holding priority; numerically at most the setup priority.")
    minimise: Literal["igp", "te", "delay"] = default(
        "igp", "Metric of which the route has the least."
    )
    include_any: NameReferences = default((), "Each link has one of these colours.")
    include_all: NameReferences = default((), "Each link has all of these colours.")
    exclude: NameReferences = default((), "No link has one of these colours.")
    via: NameReferences = default((), "Nodes to pass, in this order.")
    max_hops: Annotated[int, PlainInteger("a number of links", 1, 255)] | None = default(
        None, "Maximum number of links."
    )
    max_delay: Time | None = default(None, "Greatest sum of link delays.")


class CapacityModuleOptions(Element):
    """A module of the catalogue from which `te grow` upgrades links, such as a line card."""

    rate: Rate = Field(description="Capacity that one adds to a link, in both directions.")
    cost: Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)] = Field(
        description="Cost of one, for both ends, in a unit of your own."
    )
    links: NameReferences = default((), "Links that it fits; absent: all.")
    most: Annotated[int, PlainInteger("a number of modules", 1, 1000)] = default(
        100, "Largest number of them that one link gets."
    )


class TeOptions(Element):
    """Rules of traffic engineering in this network."""

    srgb: Annotated[int, PlainInteger("a label", 16, 2**20 - 1)] = default(
        16_000,
        "First label of nodes for paths with `segments` (SRGB, RFC 8402 section 2); that of a node"
        " is this plus its place in `nodes`.",
    )

    model: Literal["none", "mam", "rdm", "mar"] = default(
        "none",
        "Bandwidth constraints model of class types: maximum allocation (RFC 4125), Russian dolls "
        "(RFC 4127), maximum allocation with reservation (RFC 4126).",
    )
    class_types: dict[ClassType, NameReferences] = default(
        {}, "Classes of demands by class type (RFC 4124); all others are CT0."
    )
    constraints: dict[ClassType, Factor] = default(
        {},
        "Bandwidth constraint of each class type over the maximum reservable bandwidth; with a "
        "model.",
    )
    threshold: Factor | None = default(
        None,
        "With `mar`: bandwidth that a class type above its constraint leaves to others, over the "
        "maximum reservable bandwidth (RFC 4126 section 4).",
    )
    order: Literal["priority", "listed"] = default(
        "priority",
        "Paths are placed by setup priority, then bandwidth from the largest, then name; or in "
        "the order of the list.",
    )
    preemption: Literal["lowest-priority-first", "fewest", "least-bandwidth"] = default(
        "lowest-priority-first", "Which weaker paths a stronger one displaces (RFC 4829)."
    )
    modules: dict[NameReference, CapacityModuleOptions] = default(
        {}, "Catalogue of modules that upgrade links, by name."
    )
    unplaced: Literal["error", "igp"] = default(
        "error", "A path that cannot be placed is an error, or its packets follow IP routing."
    )

"""Label-switched paths, and the trunks that ride them."""

from typing import Annotated, Literal

from pydantic import Field

from trunkline.scenario.base import Element
from trunkline.scenario.diffserv import DiffServ
from trunkline.scenario.dscp import Dscp
from trunkline.scenario.fields import (
    NameReference,
    NameReferences,
    OneOrMany,
    PlainInteger,
    Rate,
    Switch,
    default,
)
from trunkline.scenario.te import ClassType, RouteConstraints

FIRST_LABEL = 16  # First label that is not reserved (RFC 3032 section 2.1).


class LabelSwitchedPath(RouteConstraints):
    """A label-switched path: its route is explicit, or computed from constraints."""

    route: NameReferences = default(
        (),
        "Nodes in order; between two nodes the name of a link chooses among several. `auto`: "
        "computed, with `from` and `to`.",
    )
    segments: NameReferences = default(
        (),
        "In place of a route: a segment routing policy (RFC 8402). Nodes, to each of which packets"
        " follow IP routing, and links, which they take from the node before; the last ends the "
        "path.",
    )
    from_: NameReference | None = Field(
        default=None, alias="from", description="With `auto` and with `segments`: first node."
    )
    to: NameReference | None = default(None, "With `auto`: last node.")
    bandwidth: Rate | None = default(
        None, "Bandwidth to reserve; absent: the sum of the demands of its trunks."
    )
    class_type: ClassType | None = default(
        None, "Class type of its reservation (RFC 4124); absent: that of its demands."
    )
    disjoint_from: dict[NameReference, Literal["link", "node", "risk"]] = default(
        {},
        "Other paths, with what the route does not share with them: links, nodes between the ends,"
        " shared risk link groups. Two that name each other are placed together.",
    )
    through: NameReferences = default(
        (),
        "Paths that this one rides as tunnels, each between two nodes that follow each other in "
        "the route.",
    )
    labels: tuple[Annotated[int, PlainInteger("a label", 0, 2**20 - 1)], ...] | None = default(
        None,
        "Incoming label at each node from the second on that gets one; absent: the lowest free "
        "ones from 16.",
    )
    php: Switch = default(True, "The last node but one takes the label off (RFC 3031 3.16).")
    explicit_null: Switch = default(False, "The last hop carries label 0 (RFC 3032 section 2.1).")
    ttl: Literal["uniform", "pipe", "short-pipe"] = default(
        "uniform",
        "Whether hops inside count for the TTL; pipe and short-pipe are alike (RFC 3443).",
    )
    diffserv: DiffServ | None = default(
        None, "Traffic classes; absent: the first three bits of the DSCP at the push."
    )
    account: Switch = default(
        False,
        "Account for delay, loss and order of the data packets that ride it, in the table `paths`.",
    )

    def count_labels(self, nodes: int) -> int:
        """Count the labels that it needs: one for each node after the first that sees its label.

        With penultimate-hop popping the last node sees none, with explicit null it sees label 0.
        """
        return max(0, nodes - 2 if self.php or self.explicit_null else nodes - 1)


class Trunk(Element):
    """Flows that ride a path together."""

    path: NameReference = Field(
        description="Path of the data packets; the trunk begins at its first node. `auto`: each "
        "demand gets a path of its own, with the demand's name and a computed route."
    )
    flows: NameReferences = default((), "Flows it carries, or `all`.")
    demands: NameReferences = default((), "Demands it carries, or `all`.")
    split: Annotated[int, PlainInteger("a number of paths", 1, 64)] = default(
        1, "With `path: auto`: paths that share each demand equally."
    )
    constraints: RouteConstraints | None = default(
        None, "With `path: auto`: constraints of the routes."
    )
    reverse: NameReference | None = default(
        None, "Path of the acknowledgements; absent: routed by IP."
    )
    dscp: OneOrMany[Dscp] | None = default(
        None,
        "Only packets that have one of these where the path begins; absent: all that no other "
        "trunk of the flow takes.",
    )

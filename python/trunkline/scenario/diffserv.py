"""Differentiated Services on label-switched paths (RFC 3270): kinds, maps, tunnelling models."""

from typing import Annotated, Literal

from trunkline.scenario.base import Element, merge_defaults
from trunkline.scenario.dscp import DSCP_NAMES, Dscp
from trunkline.scenario.fields import PlainInteger, Switch, default

DSCP_COUNT = 64
TC_COUNT = 8

TrafficClass = Annotated[int, PlainInteger("a traffic class", 0, 7)]

SchedulingClass = Literal[
    "DF", "CS1", "CS2", "CS3", "CS4", "CS5", "CS6", "CS7", "AF1", "AF2", "AF3", "AF4", "EF"
]

SCHEDULING_CLASSES: dict[str, dict[int, int]] = {
    "DF": {0: 0},
    **{f"CS{n}": {8 * n: 0} for n in range(1, 8)},
    **{f"AF{x}": {DSCP_NAMES[f"AF{x}{y}"]: y for y in (1, 2, 3)} for x in range(1, 5)},
    "EF": {DSCP_NAMES["EF"]: 0},
}
"""TC by DSCP in an L-LSP of each scheduling class (RFC 3270 section 4.4.1)."""


class DiffServ(Element):
    """DiffServ of a path (RFC 3270)."""

    kind: Literal["e-lsp", "l-lsp"] = default(
        "e-lsp",
        "`e-lsp`: the TC selects the PHB. `l-lsp`: the label selects the scheduling class, TC the "
        "drop precedence.",
    )
    map: dict[Dscp, TrafficClass] | None = default(
        None,
        "e-lsp: TC by DSCP; of several DSCPs with one TC the TC means the first. "
        "Absent: TC is the first three bits of the DSCP.",
    )
    scheduling_class: SchedulingClass | None = default(
        None, "l-lsp: the class that its label selects, e.g. AF1."
    )
    model: Literal["uniform", "pipe", "short-pipe"] = default(
        "short-pipe",
        "At the end of the path: `uniform` writes the PHB of the TC into what is below; `pipe` "
        "leaves that alone and forwards by the TC once more; `short-pipe` forwards by what is "
        "below (RFC 3270 section 2.6).",
    )
    linux_tc_zero: Switch = default(
        False, "TC 0 at the push and at every swap, as Linux routers write it."
    )

    def merge_with_default(self, default: "DiffServ") -> "DiffServ":
        """Fill absent keys from another; an L-LSP takes no map."""
        if self.kind == "e-lsp":
            return merge_defaults(self, default)
        common = default.model_fields_set & {"model", "linux_tc_zero"}
        inherited = {key: getattr(default, key) for key in common - self.model_fields_set}
        return self.model_copy(update=inherited)

    def get_tc_by_dscp(self) -> dict[int, int] | None:
        """TC by DSCP; None where TC is the first three bits."""
        if self.kind == "l-lsp":
            return SCHEDULING_CLASSES.get(self.scheduling_class or "", {})
        return self.map

    def list_dscps_by_tc(self) -> list[int | None]:
        """DSCP of the PHB of each TC; None where it stands for none."""
        result: list[int | None] = [None] * TC_COUNT
        for dscp, tc in (self.get_tc_by_dscp() or {}).items():
            if result[tc] is None:
                result[tc] = dscp
        return result

    def list_tcs_by_dscp(self) -> list[int]:
        """TC of each DSCP; DSCPs outside the map get that of DF, else 0."""
        tc_by_dscp = self.get_tc_by_dscp()
        if tc_by_dscp is None:
            return [dscp >> 3 for dscp in range(DSCP_COUNT)]
        return [tc_by_dscp.get(dscp, tc_by_dscp.get(0, 0)) for dscp in range(DSCP_COUNT)]

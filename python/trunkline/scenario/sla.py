"""Service level agreements: bounds for flows and aggregates (RFC 2475 section 1.2).

An SLA is the contract; a scenario has its measurable part, the service level
specification (SLS, RFC 3260 section 2.1). It is judged after the run and never changes it.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from trunkline.scenario.base import Element
from trunkline.scenario.dscp import Dscp, get_dscp_name
from trunkline.scenario.fields import (
    NameReferences,
    Rate,
    Share,
    Time,
    default,
    describe_value,
    is_numeric,
    make_invalid_error,
)


def _validate_mos(value: Any) -> float:
    if isinstance(value, bool) or not is_numeric(value) or isinstance(value, str):
        raise make_invalid_error(
            "type", "a mean opinion score is a number such as 3.6", given=describe_value(value)
        )
    if not 1 <= value <= 4.5:
        raise make_invalid_error("range", "a mean opinion score must be from 1 to 4.5", given=value)
    return float(value)


MosScore = Annotated[
    float,
    BeforeValidator(_validate_mos),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "minimum": 1, "maximum": 4.5}, {"type": "string"}]}
    ),
]

VOICE_ADMIT_DSCP = 44
"""The code point that scenarios may call VA (RFC 5865); tables use its name in the registry."""


class UpperBounds(Element):
    """Measures that may not be greater."""

    delay_mean: Time | None = default(None, "Mean one-way delay.")
    delay_p50: Time | None = default(None, "Median one-way delay.")
    delay_p90: Time | None = default(None, "90th percentile.")
    delay_p95: Time | None = default(None, "95th percentile.")
    delay_p99: Time | None = default(None, "99th percentile.")
    delay_p999: Time | None = default(None, "99.9th percentile.")
    delay_max: Time | None = default(None, "Greatest one-way delay.")
    delay_range: Time | None = default(None, "Greatest less least one-way delay.")
    jitter: Time | None = default(None, "Interarrival jitter (RFC 3550 section 6.4.1).")
    loss: Share | None = default(None, "Packets lost over packets sent.")
    rtt_mean: Time | None = default(None, "Mean round-trip time of an echo flow.")
    rtt_p50: Time | None = default(None, "Median of it.")
    rtt_p95: Time | None = default(None, "95th percentile of it.")
    rtt_p99: Time | None = default(None, "99th percentile of it.")
    rtt_max: Time | None = default(None, "Greatest round-trip time.")
    echo_loss: Share | None = default(None, "Requests without a reply in time (RFC 6673).")
    start_up: Time | None = default(
        None, "Time from a player's first request to its first picture."
    )
    stall: Share | None = default(
        None, "Time that a player stood still over the time it was watched."
    )
    fct_mean: Time | None = default(None, "Mean completion time of transfers.")
    fct_p50: Time | None = default(None, "Median of it.")
    fct_p90: Time | None = default(None, "90th percentile of it.")
    fct_p95: Time | None = default(None, "95th percentile of it.")
    fct_p99: Time | None = default(None, "99th percentile of it.")
    fct_max: Time | None = default(None, "Greatest completion time.")
    page_mean: Time | None = default(
        None, "Mean time of a page, from its request to its last byte."
    )
    page_p50: Time | None = default(None, "Median of it.")
    page_p90: Time | None = default(None, "90th percentile of it.")
    page_p95: Time | None = default(None, "95th percentile of it.")
    page_p99: Time | None = default(None, "99th percentile of it.")
    page_max: Time | None = default(None, "Greatest time of a page.")


class LowerBounds(Element):
    """Measures that may not be less."""

    goodput: Rate | None = default(None, "Application bits handed over in order, each once.")
    throughput: Rate | None = default(None, "IP bits delivered.")
    mos: MosScore | None = default(None, "Mean opinion score of a call (ITU-T G.107), 1 to 4.5.")


class Sla(Element):
    """A service level agreement: bounds that flows, or all of a DSCP together, must keep."""

    flow: NameReferences | None = default(
        None, "Flows; each of them, and each replica, must keep every bound."
    )
    dscp: Dscp | None = default(None, "Instead of flows: all that send with this DSCP, together.")
    at_most: UpperBounds = default(UpperBounds(), "Upper bounds.")
    at_least: LowerBounds = default(LowerBounds(), "Lower bounds.")


@dataclass(frozen=True, slots=True)
class SlaBound:
    """One bound of an agreement, in terms of the results."""

    sla: str  # The agreement's name.
    # Where the measure stands.
    table: Literal["flows", "aggregates", "calls", "echoes", "videos", "completions"]
    rows: tuple[str, ...]  # Rows there; each must keep the bound.
    measure: str  # The measure as the scenario calls it.
    column: str  # Its column.
    unit: Literal["s", "1", "bit/s", "MOS"]  # Unit of column and value.
    at: Literal["most", "least"]  # Which side.
    value: float  # The bound.
    sizes: Literal["", "all", "pages"] = ""  # Which rows of completions: of transfers or of pages.


def get_row_of_dscp(dscp: int) -> str:
    """Return the name that the table of aggregates has for a code point."""
    return "VOICE-ADMIT" if dscp == VOICE_ADMIT_DSCP else str(get_dscp_name(dscp))

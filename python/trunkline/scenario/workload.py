"""Workloads: transfers that come and go, and the pages that users fetch."""

from typing import Annotated, Any, Literal

from pydantic import Field

from trunkline.scenario.base import Element
from trunkline.scenario.fields import (
    Factor,
    NameReference,
    OneOrMany,
    PlainInteger,
    PositiveTime,
    QuantityField,
    Rate,
    RateOrShare,
    ShortForm,
    Switch,
    Table,
    Time,
    default,
)
from trunkline.scenario.units import BYTES

MAX_TRANSFER_BYTES = 2**50
TransferBytes = Annotated[int, QuantityField(BYTES, 1, MAX_TRANSFER_BYTES)]
DEFAULT_BINS_BYTES = (10_000, 100_000, 1_000_000, 10_000_000)
"""Upper ends of the bins of sizes by default [B]."""

PublishedSizes = Literal[
    "websearch",
    "data-mining",
    "hadoop",
    "storage",
    "3gpp-main",
    "3gpp-embedded",
]
"""Distributions from the literature; `published_sizes.py` holds them."""


class ParetoSizes(Element):
    """Pareto sizes between two bounds."""

    shape: Factor = Field(description="Exponent of the tail; the smaller, the heavier.")
    min: TransferBytes = Field(description="Minimum size.")
    max: TransferBytes = Field(description="Largest size: a larger draw is drawn again.")


class LognormalSizes(Element):
    """Lognormal sizes; mean and standard deviation are those before the bounds apply."""

    mean: TransferBytes = Field(description="Mean size.")
    sd: TransferBytes = Field(description="Standard deviation.")
    min: TransferBytes = default(1, "Minimum size.")
    max: TransferBytes = default(MAX_TRANSFER_BYTES, "Largest size: draws outside are drawn again.")


class WeibullSizes(Element):
    """Weibull sizes."""

    shape: Factor = Field(description="Exponent; below 1 the tail is heavier than exponential.")
    scale: TransferBytes = Field(description="Size that a share of 1/e exceeds.")


class TransferSize(Element):
    """Sizes of transfers: application data; exactly one key."""

    fixed: TransferBytes | None = default(None, "All alike.")
    published: PublishedSizes | None = default(None, "A published distribution.")
    exponential: TransferBytes | None = default(None, "Exponential with this mean.")
    pareto: ParetoSizes | None = default(None, "Pareto between bounds.")
    lognormal: LognormalSizes | None = default(None, "Lognormal.")
    weibull: WeibullSizes | None = default(None, "Weibull.")
    cdf: Table | None = default(
        None,
        "Distribution function: CSV file under the scenario's folder with columns size and share; "
        "straight lines between its points.",
    )


def _expand_size(value: Any) -> Any:
    if isinstance(value, dict | TransferSize):
        return value
    # A number or `$` is a size; any other word is meant as the name of a distribution.
    word = isinstance(value, str) and value.strip()[:1].isalpha()
    named = word or value in ("3gpp-main", "3gpp-embedded")
    return {"published" if named else "fixed": value}


TransferSizeField = Annotated[
    TransferSize, ShortForm(_expand_size, {"type": "string", "examples": ["100 kB", "websearch"]})
]


class _TransferOptions(Element):
    """Connections of transfers, and the detail of their records."""

    connections: Literal["new", "kept"] = default(
        "new",
        "new: one for each transfer, object, chunk and request; kept: they stay open for the next, "
        "one of a flow of transfers (an application that writes and pauses; transfers queue), one "
        "of a player, as many of a user as objects are fetched at a time.",
    )

    bins: OneOrMany[TransferBytes] = default(
        DEFAULT_BINS_BYTES, "Upper ends of the bins of sizes that results have, rising."
    )
    record: Switch = default(False, "Record each transfer in the table `transfers`.")


class TransferWorkload(_TransferOptions):
    """Transfers that arrive whatever the network does, each a connection unless they are kept.

    How many comes from `load` or from `every`.
    """

    arrivals: Literal["poisson", "periodic", "on-off", "schedule"] = default(
        "poisson", "How transfers follow each other; periodic: at equal times from the start on."
    )
    load: RateOrShare | None = default(
        None,
        "Mean rate that they offer, headers included: in IP bits, or as a share of a link's rate, "
        "the link's own header included.",
    )
    of: NameReference | None = default(
        None, "Link by direction (`R1->R2`) that a share of load is meant of."
    )
    every: PositiveTime | None = default(
        None, "Instead of load: mean time from one transfer to the next."
    )
    size: TransferSizeField | None = default(None, "Application data of a transfer.")
    mean_on: PositiveTime | None = default(None, "on-off: mean of the exponential on-time.")
    mean_off: PositiveTime | None = default(None, "on-off: mean of the exponential off-time.")
    schedule: Table | None = default(
        None, "schedule: CSV file under the scenario's folder with columns time and size."
    )


class PageWorkload(_TransferOptions):
    """Users at the flow's destination who fetch pages from its source, one after another.

    A page is a request, the main object, parsing, and embedded objects with a request each. Each
    object has its own connection unless they are kept; so has each request, in a flow of the same
    name with `.requests` behind it. With `objects: 0` and `connections: kept` these are requests
    and responses over one connection, with `reading` for the time to think.
    """

    users: Annotated[int, PlainInteger("a number of users", 1, 1_000_000)] = default(
        1, "Users, each with one page at a time."
    )
    parallel: Annotated[int, PlainInteger("a number of connections", 1, 1000)] = default(
        6, "Embedded objects a user fetches at the same time."
    )
    request: TransferBytes = default(328, "Application data of a request.")
    main: TransferSizeField = default(
        TransferSize(published="3gpp-main"), "Size of the main object."
    )
    embedded: TransferSizeField = default(
        TransferSize(published="3gpp-embedded"), "Size of an embedded object."
    )
    objects: Annotated[int, PlainInteger("a number of objects", 0, 10_000)] | None = default(
        None, "Embedded objects of each page; absent: 3GPP's Pareto law, 5.64 on average."
    )
    reading: Time = default(
        30_000_000_000, "Mean of the exponential time between a page and the next."
    )
    parsing: Time = default(
        130_000_000, "Mean of the exponential time between the main object and the embedded ones."
    )


class VideoWorkload(_TransferOptions):
    """Players at the flow's destination that fetch a film from its source in chunks.

    Each chunk has a request, in a flow of the same name with `.requests` behind it, and a
    connection of its own unless they are kept; its bit rate is chosen when it is asked for.
    """

    players: Annotated[int, PlainInteger("a number of players", 1, 1_000_000)] = default(
        1, "Players."
    )
    ladder: OneOrMany[Rate] = Field(
        default=(400_000, 800_000, 1_500_000, 3_000_000, 6_000_000),
        min_length=1,
        description="Bit rates that there are, rising.",
    )
    chunk: PositiveTime = default(4_000_000_000, "Film in a chunk.")
    buffer: PositiveTime = default(30_000_000_000, "Film that a player holds; two chunks or more.")
    start: PositiveTime | None = default(
        None,
        "Film in the buffer with which it begins to play, and plays on after a stall; absent: one "
        "chunk.",
    )
    rule: Literal["rate", "buffer"] = default(
        "rate",
        "rate: the highest below the harmonic mean of the last five throughputs; buffer: a line "
        "over the film in the buffer (BBA-0).",
    )
    reservoir: Time | None = default(None, "buffer: the lowest rate up to here; absent: a quarter.")
    cushion: PositiveTime | None = default(
        None, "buffer: from the reservoir to the highest rate; absent: half of the buffer."
    )
    spread: Time = default(0, "Players begin at uniform random times below this.")
    request: TransferBytes = default(328, "Application data of a request.")

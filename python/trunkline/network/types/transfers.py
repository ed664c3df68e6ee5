"""Transfers of flows in the compiled network."""

from typing import Literal, NotRequired, TypedDict


class FixedSize(TypedDict):  # All transfers alike.
    bytes: int


FixedSizeVariant = TypedDict("FixedSizeVariant", {"fixed": FixedSize})


class ExponentialSize(TypedDict):  # Exponential sizes.
    mean_bytes: float


ExponentialSizeVariant = TypedDict("ExponentialSizeVariant", {"exponential": ExponentialSize})


class ParetoSize(TypedDict):  # Pareto sizes.
    shape: float
    least_bytes: float
    most_bytes: float
    cut: NotRequired[bool]
    less: NotRequired[float]


ParetoSizeVariant = TypedDict("ParetoSizeVariant", {"pareto": ParetoSize})


class LognormalSize(TypedDict):  # Lognormal sizes.
    mu: float
    sigma: float
    least_bytes: float
    most_bytes: float


LognormalSizeVariant = TypedDict("LognormalSizeVariant", {"lognormal": LognormalSize})


class WeibullSize(TypedDict):  # Weibull sizes.
    shape: float
    scale_bytes: float


WeibullSizeVariant = TypedDict("WeibullSizeVariant", {"weibull": WeibullSize})


class TableSize(TypedDict):  # Sizes by a distribution function.
    bytes: list[float]
    shares: list[float]


TableSizeVariant = TypedDict("TableSizeVariant", {"table": TableSize})


SizeLaw = (
    FixedSizeVariant
    | ExponentialSizeVariant
    | ParetoSizeVariant
    | LognormalSizeVariant
    | WeibullSizeVariant
    | TableSizeVariant
)


class FixedTimeVariant(TypedDict):  # One time.
    fixed: int


class ExponentialTimeVariant(TypedDict):  # Exponential times.
    exponential: float


TimeLaw = FixedTimeVariant | ExponentialTimeVariant


class PoissonGaps(TypedDict):  # A Poisson process.
    mean_ns: float


PoissonGapsVariant = TypedDict("PoissonGapsVariant", {"poisson": PoissonGaps})


class PeriodicGaps(TypedDict):  # All gaps alike.
    gap_ns: float


PeriodicGapsVariant = TypedDict("PeriodicGapsVariant", {"periodic": PeriodicGaps})


class OnOffGaps(TypedDict):  # A Poisson process that is switched on and off.
    mean_ns: float
    mean_on_ns: float
    mean_off_ns: float


OnOffGapsVariant = TypedDict("OnOffGapsVariant", {"on-off": OnOffGaps})


class ScheduleGaps(TypedDict):  # Replay of a list.
    times_ns: list[int]
    sizes_bytes: list[int]


ScheduleGapsVariant = TypedDict("ScheduleGapsVariant", {"schedule": ScheduleGaps})


class TransferArrivals(TypedDict):  # Transfers that arrive by themselves.
    gaps: PoissonGapsVariant | PeriodicGapsVariant | OnOffGapsVariant | ScheduleGapsVariant
    sizes: SizeLaw


TransferArrivalsVariant = TypedDict("TransferArrivalsVariant", {"arrivals": TransferArrivals})


class PageUsers(TypedDict):  # Users who fetch pages.
    users: int
    parallel: int
    main: SizeLaw
    embedded: SizeLaw
    objects: SizeLaw
    reading: TimeLaw
    parsing: TimeLaw


class PageTransfers(TypedDict):  # Pages, and the flow of their requests.
    users: PageUsers
    requests: int
    request_bytes: int


PageTransfersVariant = TypedDict("PageTransfersVariant", {"pages": PageTransfers})


class BufferRule(TypedDict):  # A line over the film in the buffer.
    reservoir_ns: int
    cushion_ns: int


BufferRuleVariant = TypedDict("BufferRuleVariant", {"buffer": BufferRule})


class VideoPlayers(TypedDict):  # Players that fetch films.
    players: int
    chunk_ns: int
    ladder_bit_s: list[int]
    buffer_ns: int
    start_ns: int
    rule: Literal["rate"] | BufferRuleVariant
    spread_ns: int


class VideoTransfers(TypedDict):  # Films, and the flow of their requests.
    players: VideoPlayers
    requests: int
    request_bytes: int


VideoTransfersVariant = TypedDict("VideoTransfersVariant", {"video": VideoTransfers})


class Transfers(TypedDict):  # Transfers that come and go.
    opened: (
        Literal["requests"] | TransferArrivalsVariant | PageTransfersVariant | VideoTransfersVariant
    )
    bins_bytes: list[int]
    record: bool
    kept: NotRequired[bool]

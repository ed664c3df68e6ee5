"""Transfers of flows in the compiled network."""

from typing import Literal, NotRequired, TypedDict


class FixedSize(TypedDict):
    """All transfers alike."""

    bytes: int


class FixedSizeVariant(TypedDict):
    """The word for one size, with its keys."""

    fixed: FixedSize


class ExponentialSize(TypedDict):
    """Exponential sizes."""

    mean_bytes: float


class ExponentialSizeVariant(TypedDict):
    """The word for exponential sizes, with its keys."""

    exponential: ExponentialSize


class ParetoSize(TypedDict):
    """Pareto sizes."""

    shape: float
    least_bytes: float
    most_bytes: float
    cut: NotRequired[bool]
    less: NotRequired[float]


class ParetoSizeVariant(TypedDict):
    """The word for Pareto sizes, with its keys."""

    pareto: ParetoSize


class LognormalSize(TypedDict):
    """Lognormal sizes."""

    mu: float
    sigma: float
    least_bytes: float
    most_bytes: float


class LognormalSizeVariant(TypedDict):
    """The word for lognormal sizes, with its keys."""

    lognormal: LognormalSize


class WeibullSize(TypedDict):
    """Weibull sizes."""

    shape: float
    scale_bytes: float


class WeibullSizeVariant(TypedDict):
    """The word for Weibull sizes, with its keys."""

    weibull: WeibullSize


class TableSize(TypedDict):
    """Sizes by a distribution function."""

    bytes: list[float]
    shares: list[float]


class TableSizeVariant(TypedDict):
    """The word for sizes of a table, with its keys."""

    table: TableSize


SizeLaw = (
    FixedSizeVariant
    | ExponentialSizeVariant
    | ParetoSizeVariant
    | LognormalSizeVariant
    | WeibullSizeVariant
    | TableSizeVariant
)


class FixedTimeVariant(TypedDict):
    """One time."""

    fixed: int


class ExponentialTimeVariant(TypedDict):
    """Exponential times."""

    exponential: float


TimeLaw = FixedTimeVariant | ExponentialTimeVariant


class PoissonGaps(TypedDict):
    """A Poisson process."""

    mean_ns: float


class PoissonGapsVariant(TypedDict):
    """The word for a Poisson process, with its keys."""

    poisson: PoissonGaps


class OnOffGaps(TypedDict):
    """A Poisson process that is switched on and off."""

    mean_ns: float
    mean_on_ns: float
    mean_off_ns: float


OnOffGapsVariant = TypedDict("OnOffGapsVariant", {"on-off": OnOffGaps})


class ScheduleGaps(TypedDict):
    """Replay of a list."""

    times_ns: list[int]
    sizes_bytes: list[int]


class ScheduleGapsVariant(TypedDict):
    """The word for a list, with its keys."""

    schedule: ScheduleGaps


class TransferArrivals(TypedDict):
    """Transfers that arrive by themselves."""

    gaps: PoissonGapsVariant | OnOffGapsVariant | ScheduleGapsVariant
    sizes: SizeLaw


class TransferArrivalsVariant(TypedDict):
    """The word for arrivals, with its keys."""

    arrivals: TransferArrivals


class PageUsers(TypedDict):
    """Users who fetch pages."""

    users: int
    parallel: int
    main: SizeLaw
    embedded: SizeLaw
    objects: SizeLaw
    reading: TimeLaw
    parsing: TimeLaw


class PageTransfers(TypedDict):
    """Pages, and the flow of their requests."""

    users: PageUsers
    requests: int
    request_bytes: int


class PageTransfersVariant(TypedDict):
    """The word for pages, with its keys."""

    pages: PageTransfers


class BufferRule(TypedDict):
    """A line over the film in the buffer."""

    reservoir_ns: int
    cushion_ns: int


class BufferRuleVariant(TypedDict):
    """The word for the rule by the buffer, with its keys."""

    buffer: BufferRule


class VideoPlayers(TypedDict):
    """Players that fetch films."""

    players: int
    chunk_ns: int
    ladder_bit_s: list[int]
    buffer_ns: int
    start_ns: int
    rule: Literal["rate"] | BufferRuleVariant
    spread_ns: int


class VideoTransfers(TypedDict):
    """Films, and the flow of their requests."""

    players: VideoPlayers
    requests: int
    request_bytes: int


class VideoTransfersVariant(TypedDict):
    """The word for films, with its keys."""

    video: VideoTransfers


class Transfers(TypedDict):
    """Transfers that come and go."""

    opened: (
        Literal["requests"] | TransferArrivalsVariant | PageTransfersVariant | VideoTransfersVariant
    )
    bins_bytes: list[int]
    record: bool

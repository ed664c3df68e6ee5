"""Transfers of flows in the compiled network."""

from typing import Literal, NotRequired, TypedDict


class FixedSize(TypedDict):
    """All transfers alike."""

    bytes: int


class FixedSizeVariant(TypedDict):
    """The variant for one size: its tag and its keys."""

    fixed: FixedSize


class ExponentialSize(TypedDict):
    """Exponential sizes."""

    mean_bytes: float


class ExponentialSizeVariant(TypedDict):
    """The variant for exponential sizes: its tag and its keys."""

    exponential: ExponentialSize


class ParetoSize(TypedDict):
    """Pareto sizes."""

    shape: float
    least_bytes: float
    most_bytes: float
    cut: NotRequired[bool]
    less: NotRequired[float]


class ParetoSizeVariant(TypedDict):
    """The variant for Pareto sizes: its tag and its keys."""

    pareto: ParetoSize


class LognormalSize(TypedDict):
    """Lognormal sizes."""

    mu: float
    sigma: float
    least_bytes: float
    most_bytes: float


class LognormalSizeVariant(TypedDict):
    """The variant for lognormal sizes: its tag and its keys."""

    lognormal: LognormalSize


class WeibullSize(TypedDict):
    """Weibull sizes."""

    shape: float
    scale_bytes: float


class WeibullSizeVariant(TypedDict):
    """The variant for Weibull sizes: its tag and its keys."""

    weibull: WeibullSize


class TableSize(TypedDict):
    """Sizes by a distribution function."""

    bytes: list[float]
    shares: list[float]


class TableSizeVariant(TypedDict):
    """The variant for sizes of a table: its tag and its keys."""

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
    """The variant for a Poisson process: its tag and its keys."""

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
    """The variant for a list: its tag and its keys."""

    schedule: ScheduleGaps


class TransferArrivals(TypedDict):
    """Transfers that arrive by themselves."""

    gaps: PoissonGapsVariant | OnOffGapsVariant | ScheduleGapsVariant
    sizes: SizeLaw


class TransferArrivalsVariant(TypedDict):
    """The variant for arrivals: its tag and its keys."""

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
    """The variant for pages: its tag and its keys."""

    pages: PageTransfers


class BufferRule(TypedDict):
    """A line over the film in the buffer."""

    reservoir_ns: int
    cushion_ns: int


class BufferRuleVariant(TypedDict):
    """The variant for the rule by the buffer: its tag and its keys."""

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
    """The variant for films: its tag and its keys."""

    video: VideoTransfers


class Transfers(TypedDict):
    """Transfers that come and go."""

    opened: (
        Literal["requests"] | TransferArrivalsVariant | PageTransfersVariant | VideoTransfersVariant
    )
    bins_bytes: list[int]
    record: bool

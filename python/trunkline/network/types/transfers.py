"""Transfers of flows in the compiled network."""

from typing import Literal, NotRequired, TypedDict


class FixedSize(TypedDict):
    """All transfers alike."""

    bytes: int


class OfFixedSize(TypedDict):
    """The word for one size, with its keys."""

    fixed: FixedSize


class ExponentialSize(TypedDict):
    """Exponential sizes."""

    mean_bytes: float


class OfExponentialSize(TypedDict):
    """The word for exponential sizes, with its keys."""

    exponential: ExponentialSize


class ParetoSize(TypedDict):
    """Pareto sizes."""

    shape: float
    least_bytes: float
    most_bytes: float
    cut: NotRequired[bool]
    less: NotRequired[float]


class OfParetoSize(TypedDict):
    """The word for Pareto sizes, with its keys."""

    pareto: ParetoSize


class LognormalSize(TypedDict):
    """Lognormal sizes."""

    mu: float
    sigma: float
    least_bytes: float
    most_bytes: float


class OfLognormalSize(TypedDict):
    """The word for lognormal sizes, with its keys."""

    lognormal: LognormalSize


class WeibullSize(TypedDict):
    """Weibull sizes."""

    shape: float
    scale_bytes: float


class OfWeibullSize(TypedDict):
    """The word for Weibull sizes, with its keys."""

    weibull: WeibullSize


class TableSize(TypedDict):
    """Sizes by a distribution function."""

    bytes: list[float]
    shares: list[float]


class OfTableSize(TypedDict):
    """The word for sizes of a table, with its keys."""

    table: TableSize


SizeLaw = (
    OfFixedSize | OfExponentialSize | OfParetoSize | OfLognormalSize | OfWeibullSize | OfTableSize
)


class OfFixedTime(TypedDict):
    """One time."""

    fixed: int


class OfExponentialTime(TypedDict):
    """Exponential times."""

    exponential: float


TimeLaw = OfFixedTime | OfExponentialTime


class PoissonGaps(TypedDict):
    """A Poisson process."""

    mean_ns: float


class OfPoissonGaps(TypedDict):
    """The word for a Poisson process, with its keys."""

    poisson: PoissonGaps


class OnOffGaps(TypedDict):
    """A Poisson process that is switched on and off."""

    mean_ns: float
    mean_on_ns: float
    mean_off_ns: float


OfOnOffGaps = TypedDict("OfOnOffGaps", {"on-off": OnOffGaps})


class ScheduleGaps(TypedDict):
    """Replay of a list."""

    times_ns: list[int]
    sizes_bytes: list[int]


class OfScheduleGaps(TypedDict):
    """The word for a list, with its keys."""

    schedule: ScheduleGaps


class Open(TypedDict):
    """Transfers that arrive by themselves."""

    gaps: OfPoissonGaps | OfOnOffGaps | OfScheduleGaps
    sizes: SizeLaw


class OfOpen(TypedDict):
    """The word for arrivals, with its keys."""

    arrivals: Open


class Users(TypedDict):
    """Users who fetch pages."""

    users: int
    parallel: int
    main: SizeLaw
    embedded: SizeLaw
    objects: SizeLaw
    reading: TimeLaw
    parsing: TimeLaw


class Pages(TypedDict):
    """Pages, and the flow of their requests."""

    users: Users
    requests: int
    request_bytes: int


class OfPages(TypedDict):
    """The word for pages, with its keys."""

    pages: Pages


class BufferRule(TypedDict):
    """A line over the film in the buffer."""

    reservoir_ns: int
    cushion_ns: int


class OfBufferRule(TypedDict):
    """The word for the rule by the buffer, with its keys."""

    buffer: BufferRule


class Players(TypedDict):
    """Players that fetch films."""

    players: int
    chunk_ns: int
    ladder_bit_s: list[int]
    buffer_ns: int
    start_ns: int
    rule: Literal["rate"] | OfBufferRule
    spread_ns: int


class Video(TypedDict):
    """Films, and the flow of their requests."""

    players: Players
    requests: int
    request_bytes: int


class OfVideo(TypedDict):
    """The word for films, with its keys."""

    video: Video


class Transfers(TypedDict):
    """Transfers that come and go."""

    opened: Literal["requests"] | OfOpen | OfPages | OfVideo
    bins_bytes: list[int]
    record: bool

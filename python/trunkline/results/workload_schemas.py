"""Tables of user experience: calls, films, transfers and pages."""

from typing import Final

from trunkline.results.fields import (
    Field,
    define_base_count,
    define_count,
    define_derived,
    define_mean,
    define_name,
    define_seconds,
)

CALLS: Final = (
    define_name("flow", "flow with `call`"),
    define_name("codec", "its codec"),
    define_count("packets_late", "packets that arrived after their time of playout"),
    define_derived(
        "late_ratio", "`packets_late` over packets delivered and dropped; null without any"
    ),
    define_derived("loss_ratio", "dropped and late packets over the same; null without any"),
    define_derived(
        "mouth_to_ear_s", "packetization, look-ahead and playout: the delay of each word"
    ),
    define_derived("delay_impairment", "Id of the E-model, by the formula that the call names"),
    define_derived(
        "equipment_impairment", "Ie,eff of the E-model; null where the codec has no factors"
    ),
    define_derived(
        "r_factor", "R of the E-model (ITU-T G.107); null where the codec has no factors"
    ),
    define_derived("mos", "mean opinion score of R, 1 to 4.5; null where the codec has no factors"),
)

_NULL_FOR_ICMP = "null with `protocol: icmp`, which does not measure it"


def _define_times(prefix: str, subject: str, timed: str) -> tuple[Field, ...]:
    shares = (("p50", "median"), ("p95", "95th percentile"), ("p99", "99th percentile"))
    return (
        define_mean(f"{prefix}_mean_ns", f"mean {subject}", timed),
        define_count(f"{prefix}_min_ns", f"minimum {subject}", timed),
        define_count(f"{prefix}_max_ns", f"maximum {subject}", timed),
        *(
            define_count(f"{prefix}_{name}_ns", f"{share} of the {subject}", timed)
            for name, share in shares
        ),
        define_mean(
            f"{prefix}_jitter_ns", "jitter of it (RFC 3550 section 6.4.1)", f"{prefix}_compared"
        ),
    )


_ECHO_BASES = (
    define_base_count(
        "requests_timed", f"requests whose one-way delay was measured; {_NULL_FOR_ICMP}"
    ),
    define_base_count(
        "replies_timed", f"replies in time whose one-way delay was measured; {_NULL_FOR_ICMP}"
    ),
    define_base_count(
        "rtt_compared", "replies in time with one before them, which the jitter compares"
    ),
    define_base_count(
        "there_compared",
        f"requests with one before them, which the jitter compares; {_NULL_FOR_ICMP}",
    ),
    define_base_count(
        "back_compared",
        f"replies with one before them, which their jitter compares; {_NULL_FOR_ICMP}",
    ),
)
_ECHO_TIMES = (
    *_define_times("rtt", "round-trip time", "replies"),
    *_define_times("there", "one-way delay of requests", "requests_timed"),
    *_define_times("back", "one-way delay of replies in time", "replies_timed"),
)

ECHOES: Final = (
    define_name("flow", "flow with `agent: echo`"),
    define_name("protocol", "`icmp` or `udp`"),
    define_count("requests", "requests sent"),
    define_count("replies", "replies that arrived within the timeout"),
    define_count("replies_late", "replies that arrived after the timeout"),
    define_count("lost", "requests or replies dropped, and late replies"),
    define_count("lost_there", f"requests dropped; {_NULL_FOR_ICMP}"),
    define_count("lost_back", f"replies dropped; {_NULL_FOR_ICMP}"),
    define_count("reordered", "replies that arrived after the reply to a later request (RFC 4737)"),
    define_count("reordered_there", f"requests that arrived after a later one; {_NULL_FOR_ICMP}"),
    define_count("reordered_back", f"replies that arrived after one sent later; {_NULL_FOR_ICMP}"),
    *_ECHO_BASES,
    *_ECHO_TIMES,
    *define_seconds(*_ECHO_TIMES),
    define_derived("loss_ratio", "`lost` over it and `replies` (RFC 6673)", "lost", "replies"),
    define_derived(
        "loss_there_ratio", f"`lost_there` over the requests not under way; {_NULL_FOR_ICMP}"
    ),
    define_derived(
        "loss_back_ratio", f"`lost_back` over the replies not under way; {_NULL_FOR_ICMP}"
    ),
)

_PLAYBACK_TIMES = (
    define_count("began_ns", "when the player requested its first chunk; null before it"),
    define_count("start_up_ns", "time from `began_ns` to the first picture; null before it"),
    define_count(
        "stalled_ns", "time that it stalled after the first picture, until its flow stops"
    ),
)

VIDEOS: Final = (
    define_name("flow", "flow with `video` or `media`"),
    define_count("player", "number of the player, from 0"),
    *_PLAYBACK_TIMES,
    define_count(
        "stalls", "times that its buffer ran empty; of media, that the picture stood still"
    ),
    define_count("chunks", "chunks that arrived; of media, frames shown"),
    define_count("switches", "chunks, or frames, with another bit rate than the one before"),
    *define_seconds(*_PLAYBACK_TIMES),
    define_derived(
        "stall_ratio", "time stalled over the time since the first picture; null before"
    ),
    define_derived("bit_rate_bit_s", "mean bit rate of the chunks or frames", "chunks"),
)

_NULL_IF_UNFINISHED = "null where it is not complete"
_TRANSFER_TIMES = (
    define_count("start_ns", "when it was begun"),
    define_count("finish_ns", f"when its last byte arrived; {_NULL_IF_UNFINISHED}"),
)

TRANSFERS: Final = (
    define_name("flow", "flow of transfers with `record: true`"),
    define_count("size_bytes", "application data"),
    *_TRANSFER_TIMES,
    *define_seconds(*_TRANSFER_TIMES),
    define_derived("fct_s", f"flow completion time: from start to finish; {_NULL_IF_UNFINISHED}"),
    define_derived(
        "slowdown", f"`fct_s` over the least possible time alone; {_NULL_IF_UNFINISHED}"
    ),
)

_COMPLETION_TIMES = (
    define_mean("fct_mean_ns", "mean completion time", "finished"),
    define_count("fct_min_ns", "least", "finished"),
    define_count("fct_max_ns", "greatest", "finished"),
    *(
        define_count(f"fct_p{share}_ns", f"{share}th percentile", "finished")
        for share in (50, 90, 95, 99)
    ),
)

COMPLETIONS: Final = (
    define_name("flow", "flow of transfers, pages or requests"),
    define_name("sizes", "`all` transfers, a bin of their sizes (`to 10 kB`), or `pages`"),
    define_count("started", "transfers or pages begun in the measured time"),
    define_count("finished", "started ones that were complete at the end"),
    define_count("unfinished", "started ones that were not complete: left out of all times here"),
    define_count("finished_bytes", "application data of the complete ones"),
    define_count("objects", "transfers; for pages, their objects"),
    define_base_count("slowdowns", "complete transfers whose least time is known; 0 for pages"),
    *_COMPLETION_TIMES,
    *define_seconds(*_COMPLETION_TIMES),
    define_derived("slowdown_mean", "mean completion time over the least alone", "slowdowns"),
    *(
        define_derived(f"slowdown_p{share}", f"{share}th percentile of it", "slowdowns")
        for share in (50, 90, 95, 99)
    ),
)

COMPLETION_TIMES: Final = (
    Field("flow", "str", "derived", "flow of transfers"),
    Field("sizes", "str", "derived", "as in `completions`"),
    Field("upper_ns", "i64", "derived", "upper end of the bucket: 64 to an octave"),
    Field("count", "i64", "derived", "transfers or pages complete after a time in the bucket"),
)

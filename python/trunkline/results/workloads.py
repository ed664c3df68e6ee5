"""Tables of what people feel: calls, films, transfers and pages."""

from typing import Final

from trunkline.results.fields import Field, count, derived, mean, name, twins

CALLS: Final = (
    name("flow", "flow with `call`"),
    name("codec", "its codec"),
    count("packets_late", "packets that arrived after they should have been played"),
    derived("late_ratio", "those over the delivered and the dropped; null without any"),
    derived("loss_ratio", "dropped and late over the same; null without any"),
    derived("mouth_to_ear_s", "packetization, look-ahead and playout: the delay of each word"),
    derived("delay_impairment", "Id of the E-model, by the formula that the call names"),
    derived("equipment_impairment", "Ie,eff of the E-model; null where the codec has no factors"),
    derived("r_factor", "R of the E-model (ITU-T G.107); null where the codec has no factors"),
    derived("mos", "mean opinion score of R, 1 to 4.5; null where the codec has no factors"),
)

_NO_REPLY = "null where no reply came in time"
_STAMPED = "null with `protocol: icmp`, which does not tell it"


def _times(of: str, about: str, null: str) -> tuple[Field, ...]:
    shares = (("p50", "median"), ("p95", "95th percentile"), ("p99", "99th percentile"))
    return (
        mean(f"{of}_mean_ns", f"mean {about}; {null}"),
        count(f"{of}_min_ns", f"minimum {about}; {null}"),
        count(f"{of}_max_ns", f"maximum {about}; {null}"),
        *(count(f"{of}_{name}_ns", f"{share} of the {about}; {null}") for name, share in shares),
        mean(f"{of}_jitter_ns", f"jitter of it (RFC 3550 section 6.4.1); {null}"),
    )


_ECHO_TIMES = (
    *_times("rtt", "round-trip time", _NO_REPLY),
    *_times("there", "one-way delay of requests", _STAMPED),
    *_times("back", "one-way delay of replies in time", _STAMPED),
)

ECHOES: Final = (
    name("flow", "flow with `agent: echo`"),
    name("protocol", "`icmp` or `udp`"),
    count("requests", "requests sent"),
    count("replies", "replies that came within the timeout"),
    count("replies_late", "replies that came after it"),
    count("lost", "requests or replies dropped, and late replies"),
    count("lost_there", f"requests dropped; {_STAMPED}"),
    count("lost_back", f"replies dropped; {_STAMPED}"),
    count("reordered", "replies that came after that of a later request (RFC 4737)"),
    count("reordered_there", f"requests that arrived after a later one; {_STAMPED}"),
    count("reordered_back", f"replies that arrived after one sent later; {_STAMPED}"),
    *_ECHO_TIMES,
    *twins(*_ECHO_TIMES),
    derived("loss_ratio", "`lost` over it and `replies` (RFC 6673); null without any"),
    derived("loss_there_ratio", f"`lost_there` over the requests not under way; {_STAMPED}"),
    derived("loss_back_ratio", f"`lost_back` over the replies not under way; {_STAMPED}"),
)

_VIEWED = (
    count("began_ns", "when the player asked for its first chunk; null before it"),
    count("start_up_ns", "from then to the first picture; null before it"),
    count("stalled_ns", "time that it stood still after that, dry, until its flow stops"),
)

VIDEOS: Final = (
    name("flow", "flow with `video`"),
    count("player", "number of the player, from 0"),
    *_VIEWED,
    count("stalls", "times that it ran dry"),
    count("chunks", "chunks that are there"),
    count("switches", "chunks of another bit rate than the one before"),
    *twins(*_VIEWED),
    derived("stall_ratio", "time stood still over the time since the first picture; null before"),
    derived("bit_rate_bit_s", "mean bit rate of the chunks; null without any"),
)

_UNFINISHED = "null where it is not complete"
_NONE_COMPLETE = "null where none is complete"
_OF_ENDS = (
    count("start_ns", "when it was begun"),
    count("finish_ns", f"when its last byte arrived; {_UNFINISHED}"),
)

TRANSFERS: Final = (
    name("flow", "flow of transfers with `record: true`"),
    count("size_bytes", "application data"),
    *_OF_ENDS,
    *twins(*_OF_ENDS),
    derived("fct_s", f"flow completion time: from start to finish; {_UNFINISHED}"),
    derived("slowdown", f"that over the least time it can take alone; {_UNFINISHED}"),
)

_COMPLETION_TIMES = (
    mean("fct_mean_ns", f"mean completion time; {_NONE_COMPLETE}"),
    count("fct_min_ns", f"least; {_NONE_COMPLETE}"),
    count("fct_max_ns", f"greatest; {_NONE_COMPLETE}"),
    *(
        count(f"fct_p{share}_ns", f"{share}th percentile; {_NONE_COMPLETE}")
        for share in (50, 90, 95, 99)
    ),
)

COMPLETIONS: Final = (
    name("flow", "flow of transfers, pages or requests"),
    name("sizes", "`all` transfers, a bin of their sizes (`to 10 kB`), or `pages`"),
    count("started", "transfers or pages begun in the measured time"),
    count("finished", "those of them that were complete at the end"),
    count("unfinished", "those that were not: left out of all times here"),
    count("finished_bytes", "application data of the complete"),
    count("objects", "transfers; of pages, their objects"),
    *_COMPLETION_TIMES,
    *twins(*_COMPLETION_TIMES),
    derived("slowdown_mean", "mean completion time over the least alone; null for pages"),
    *(
        derived(f"slowdown_p{share}", f"{share}th percentile of it; null for pages")
        for share in (50, 90, 95, 99)
    ),
)

COMPLETION_TIMES: Final = (
    Field("flow", "str", "derived", "flow of transfers"),
    Field("sizes", "str", "derived", "as in `completions`"),
    Field("upper_ns", "i64", "derived", "upper end of the bucket: 64 to an octave"),
    Field("count", "i64", "derived", "transfers or pages complete after a time in the bucket"),
)

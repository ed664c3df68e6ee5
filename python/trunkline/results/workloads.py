"""Tables of what people feel: calls, films, transfers and pages."""

from __future__ import annotations

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

_VIEWED = (
    count("began_ns", "when the player asked for its first chunk"),
    count("start_up_ns", "from then to the first picture; null before it"),
    count("stalled_ns", "time that it stood still after that, dry"),
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

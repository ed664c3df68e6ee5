"""Columns of each table that a terminal shows."""

from typing import Final

DISPLAYED_COLUMNS: Final[dict[str, tuple[str, str, str]]] = {
    "flows": (
        "flow dscp",
        "goodput_bit_s throughput_bit_s loss_ratio delay_mean_s delay_p99_s jitter_s "
        "retransmissions",
        "delay: mean, one way, and its 99th percentile; jitter: RFC 3550; resent: TCP segments",
    ),
    "aggregates": (
        "dscp",
        "flows offered_bit_s throughput_bit_s goodput_bit_s loss_ratio delay_mean_s delay_p99_s "
        "jitter_s",
        "a row: the flows of one DSCP; delay and p99: of all their packets together",
    ),
    "fairness": (
        "of name",
        "flows jain_index demand_share least_demand_share jain_of_demand starved_max_s "
        "starved_mean_s",
        "Jain: of goodput; starved: greatest time in which a flow got nothing, and mean",
    ),
    "calls": (
        "flow codec",
        "mouth_to_ear_s late_ratio loss_ratio r_factor mos",
        "loss: dropped or too late; R and MOS: ITU-T G.107",
    ),
    "echoes": (
        "flow",
        "loss_ratio reordered rtt_min_s rtt_mean_s rtt_p99_s rtt_max_s there_mean_s back_mean_s",
        "round trips of replies within the timeout; there and back: mean, one way",
    ),
    "videos": (
        "flow",
        "player start_up_s stalls stall_ratio bit_rate_bit_s switches",
        "stalled: of the time since the first picture; bit rate: mean of chunks or frames",
    ),
    "completions": (
        "flow sizes",
        "started unfinished fct_mean_s fct_p50_s fct_p95_s fct_p99_s slowdown_mean",
        "times of the complete: mean and percentiles; slowdown: over the least time alone",
    ),
    "ports": (
        "link class",
        "utilisation packets_offered packets_dropped loss_ratio wait_mean_s queue_mean_packets "
        "queue_max_packets",
        "offered, dropped, queue (mean, max): packets; wait: mean",
    ),
    "paths": ("path", "packets throughput_bit_s", ""),
    "lsps": (
        "path",
        "asked up moved down refused preempted setup_mean_s out_s",
        "set-up: mean time from the wish to the first Resv; out: asked for and not up",
    ),
    "control": ("link protocol message", "messages bytes", ""),
}
"""For each table: columns with names, measures, and those that follow as sentences."""

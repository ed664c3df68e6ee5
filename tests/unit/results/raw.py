"""Raw tables as an engine returns them, small enough to check by hand."""

from __future__ import annotations

import struct
from typing import Any

CODES = {"i64": "q", "f64": "d", "u32": "I", "u8": "B"}


def column(kind: str, *values: float) -> tuple[str, bytes]:
    """A raw column: its kind and little-endian bytes."""
    return kind, struct.pack(f"<{len(values)}{CODES[kind]}", *values)


def network() -> dict[str, Any]:
    """Two nodes, a link each way, two flows of one class and one of another; 8 s measured."""
    return {
        "name": "small",
        "nodes": [{"name": "A"}, {"name": "B"}],
        "links": [
            {"name": "A->B", "rate_bit_s": 1_000_000, "port": 0},
            {"name": "B->A", "rate_bit_s": 2_000_000, "port": 1},
        ],
        "ports": [
            {"classes": [{"name": "voice"}, {"name": "rest"}]},
            {"classes": [{"name": "all"}]},
        ],
        "flows": [
            {
                "name": "call",
                "src": 0,
                "dst": 1,
                "dscp": 46,
                "fec": 0,
                "agent": {"protocol": "udp"},
            },
            {"name": "web", "src": 1, "dst": 0, "dscp": 0, "fec": 0, "agent": {"protocol": "tcp"}},
            {"name": "idle", "src": 1, "dst": 0, "dscp": 0, "fec": 0, "agent": {"protocol": "tcp"}},
        ],
        "paths": [{"name": "high", "links": [0]}],
        "ftn": [],
        "probes": [
            {"measure": "cwnd", "target": 1, "class": None},
            {"measure": "queue-packets", "target": 0, "class": 1},
        ],
        "run": {"duration_ns": 10_000_000_000, "warmup_ns": 2_000_000_000},
    }


def tables() -> dict[str, dict[str, tuple[str, bytes]]]:
    """A run of that network."""
    delays = {
        "delay_mean_ns": column("f64", 2e6, 4e6, float("nan")),
        "delay_min_ns": column("i64", 1_000_000, 3_000_000, -1),
        "delay_max_ns": column("i64", 5_000_000, 9_000_000, -1),
        "delay_p50_ns": column("i64", 2_000_000, 4_000_000, -1),
        "delay_p90_ns": column("i64", 4_000_000, 8_000_000, -1),
        "delay_p95_ns": column("i64", 4_500_000, 8_500_000, -1),
        "delay_p99_ns": column("i64", 4_900_000, 8_900_000, -1),
        "delay_p999_ns": column("i64", 5_000_000, 9_000_000, 0),
        "jitter_ns": column("f64", 1e5, 2e5, float("nan")),
    }
    return {
        "flows": {
            "flow": column("u32", 0, 1, 2),
            "packets_sent": column("i64", 100, 50, 0),
            "bytes_sent": column("i64", 20_000, 75_000, 0),
            "packets_delivered": column("i64", 90, 49, 0),
            "bytes_delivered": column("i64", 18_000, 73_500, 0),
            "goodput_bytes": column("i64", 15_480, 71_540, 0),
            "packets_dropped": column("i64", 10, 1, 0),
            "packets_copied": column("i64", 0, 0, 0),
            "retransmissions": column("i64", 0, 1, 0),
            "timeouts": column("i64", 0, 0, 0),
            "fast_retransmits": column("i64", 0, 1, 0),
            "acks_sent": column("i64", 0, 49, 0),
            "acks_dropped": column("i64", 0, 2, 0),
            "packets_ce": column("i64", 0, 0, 0),
            "reordered": column("i64", 0, 3, 0),
            "packets_timed": column("i64", 90, 49, 0),
            "delays_compared": column("i64", 89, 48, 0),
            "start_ns": column("i64", 0, 250_000_000, 0),
            "finished_ns": column("i64", -1, 7_500_000_000, -1),
            **delays,
        },
        "ports": {
            "link": column("u32", 0, 0, 1),
            "class": column("u8", 0, 1, 0),
            "packets_offered": column("i64", 100, 51, 0),
            "bytes_offered": column("i64", 22_400, 3_060, 0),
            "packets_sent": column("i64", 90, 49, 0),
            "bytes_sent": column("i64", 20_000, 2_940, 0),
            "packets_dropped": column("i64", 10, 2, 0),
            "packets_marked": column("i64", 0, 0, 0),
            "packets_waited": column("i64", 90, 49, 0),
            "wait_mean_ns": column("f64", 1e6, 2e6, float("nan")),
            "wait_max_ns": column("i64", 3_000_000, 4_000_000, 0),
            "queue_mean_packets": column("f64", 0.5, 0.25, 0),
            "queue_max_packets": column("i64", 20, 3, 0),
        },
        "paths": {
            "path": column("u32", 0),
            "packets": column("i64", 90),
            "bytes": column("i64", 18_000),
        },
        "drops": {
            "flow": column("u32", 0, 1, 1),
            "reverse": column("u8", 0, 1, 0),
            "link": column("i64", 0, 0, -1),
            "node": column("u32", 0, 0, 1),
            "class": column("u32", 0, 1, 65535),
            "precedence": column("u8", 0, 2, 0),
            "cause": column("u8", 0, 1, 0),
            "packets": column("i64", 10, 2, 1),
            "bytes": column("i64", 2_000, 80, 1_500),
        },
        "series": {
            "probe": column("u32", 0, 1, 0, 1),
            "time_ns": column("i64", 10**9, 10**9, 2 * 10**9, 2 * 10**9),
            "value": column("f64", 2, 0, 4, 7),
        },
        "summary": {
            "events": column("i64", 1000),
            "packet_hops": column("i64", 139),
            "packets_sent": column("i64", 199),
            "packets_delivered": column("i64", 186),
            "packets_dropped": column("i64", 13),
            "packets_inside_before": column("i64", 4),
            "packets_inside_after": column("i64", 4),
            "packets_peak": column("i64", 21),
        },
    }

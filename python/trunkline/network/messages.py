"""The flow that counts the messages of a protocol between neighbours."""

from typing import Any

IP_HEADER_BYTES = 20


def make_message_flow(name: str, *, dscp: int, ttl: int) -> dict[str, Any]:
    """Make a flow of messages."""
    return {
        "name": name,
        "src": 0,
        "dst": 1,
        "start_ns": 0,
        "stop_ns": None,
        "start_jitter_ns": 0,
        "dscp": dscp,
        "ttl": ttl,
        "fec": 0,
        "fec_reverse": 0,
        "agent": {"protocol": "control", "header_bytes": IP_HEADER_BYTES},
    }

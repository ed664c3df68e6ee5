"""The packet engine, written in Rust."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "CAUSES",
    "COLOURS",
    "ECN",
    "FLOW_MEASURES",
    "LDP_KINDS",
    "LINK_MEASURES",
    "OSPF_KINDS",
    "PACKET_EVENTS",
    "RSVP_KINDS",
    "SIGNALLING_EVENTS",
    "TIMELINE_EVENTS",
    "guest_agent",
    "rewrite",
    "routes",
    "run",
    "run_stream",
    "version",
    "write_capture",
]

_Tables = dict[str, dict[str, tuple[str, bytes]]]

def run(network: str, seed: int) -> _Tables:
    """Raw tables of one run: column to (kind, little-endian array)."""

def run_stream(
    jobs: Iterable[tuple[str, int]],
    threads: int,
    ended: Callable[[int, str | None, Any], object],
    tick: Callable[[], object] | None = None,
    limit_time_s: float | None = None,
    limit_memory: int | None = None,
    threads_a_run: int = 1,
    few: Callable[[int, str], object] | None = None,
) -> None:
    """Run each (network, seed), ``threads`` at a time, without the interpreter lock.

    Each run may take ``threads_a_run`` threads.

    ``ended`` gets the number of a run, and either None and its tables, or a kind of failure and
    a text. ``few`` gets the number of threads and a reason where fewer than asked for start.
    """

def routes(network: str, to_all: bool = False) -> list[tuple[int, int, int]]:
    """Next hops: node, end of a flow or any node, link; -1 where there is no route."""

def guest_agent() -> bytes | None:
    """Program of the Linux engine's agent; None where there is none for this platform."""

def rewrite(network: str) -> str:
    """A network as the engine reads it, strictly, with every default written out."""

CAUSES: tuple[str, ...]
LDP_KINDS: tuple[str, ...]
OSPF_KINDS: tuple[str, ...]
RSVP_KINDS: tuple[str, ...]
SIGNALLING_EVENTS: tuple[str, ...]
TIMELINE_EVENTS: tuple[str, ...]
PACKET_EVENTS: tuple[str, ...]
COLOURS: tuple[str, ...]
ECN: tuple[str, ...]
FLOW_MEASURES: tuple[str, ...]
LINK_MEASURES: tuple[str, ...]

def version() -> str:
    """Version of engine and package."""

def write_capture(
    path: str,
    application: str,
    comment: str,
    links: Sequence[tuple[str, int, int, int]],
    flows: Sequence[tuple[str, int, int, int, tuple[int, int, int, bool] | None, bool]],
    classes: Sequence[str],
    causes: Sequence[str],
    columns: Mapping[str, bytes],
    messages: Sequence[tuple[int, int, int, int, int, bool, bytes]],
    points: Sequence[tuple[int, bool]],
    snaplen: int,
) -> int:
    """Write a packet trace as pcapng into a new file; the number of packets in it.

    Columns are little-endian 64-bit integers, -1 where one does not apply.
    """

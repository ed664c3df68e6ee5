"""The packet engine, written in Rust."""

from collections.abc import Callable, Sequence

_Tables = dict[str, dict[str, tuple[str, bytes]]]

def run(network: str, seed: int) -> _Tables:
    """Raw tables of one run: column to (kind, little-endian array)."""

def run_many(
    network: str,
    seeds: Sequence[int],
    threads: int,
    progress: Callable[[int], object] | None = None,
) -> list[_Tables]:
    """One run for each seed, ``threads`` at a time, without the interpreter lock."""

def run_grid(
    networks: Sequence[str],
    seeds: Sequence[int],
    threads: int,
    progress: Callable[[int], object] | None = None,
) -> list[_Tables]:
    """Each network with the seed beside it."""

def routes(network: str) -> list[tuple[int, int, int]]:
    """Next hops: node, end of a flow, link; -1 where there is no route."""

def causes() -> list[str]:
    """Names of the causes of drops, by index."""

def timeline_events() -> list[str]:
    """Names of the events in the timeline table, by index."""

def packet_events() -> list[str]:
    """Names of the events in the packets table, by index."""

def version() -> str:
    """Version of engine and package."""

"""The packet engine, written in Rust."""

from collections.abc import Callable

def run(network_json: str, seed: int) -> dict[str, dict[str, tuple[str, bytes]]]:
    """Raw tables of one run: column to (kind, little-endian array)."""

def run_many(
    network_json: str,
    seeds: list[int],
    threads: int,
    progress: Callable[[int], object] | None = None,
) -> list[dict[str, dict[str, tuple[str, bytes]]]]:
    """One run for each seed, ``threads`` at a time, without the interpreter lock."""

def run_grid(
    networks: list[str],
    seeds: list[int],
    threads: int,
    progress: Callable[[int], object] | None = None,
) -> list[dict[str, dict[str, tuple[str, bytes]]]]:
    """One run for each network with the seed beside it; ``progress`` gets the runs done."""

def routes(network_json: str) -> list[tuple[int, int, int]]:
    """Next hops: node, destination, link index or -1."""

def causes() -> list[str]:
    """Names of the causes of drops, by index."""

def version() -> str:
    """Version of engine and package."""

"""The packet engine, written in Rust."""

def run(network_json: str, seed: int) -> dict[str, dict[str, tuple[str, bytes]]]:
    """Raw tables of one run: column to (kind, little-endian array)."""

def run_many(
    network_json: str, seeds: list[int], threads: int
) -> list[dict[str, dict[str, tuple[str, bytes]]]]:
    """One run for each seed, ``threads`` at a time, without the interpreter lock."""

def routes(network_json: str) -> str:
    """Shortest-path forwarding tables, as JSON."""

def causes() -> list[str]:
    """Names of the causes of drops, by index."""

def version() -> str:
    """Version of engine and package."""

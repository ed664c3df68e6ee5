"""Runs of link networks: on threads of this process, and kept in a file, so that they resume."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

import numpy as np

from trunkline.decomposition.wait_distribution import WaitDistribution, read_waits
from trunkline.engine.packet_engine import (
    RUN_LIMITS,
    get_engine_version,
    make_exception,
    stream_runs,
)
from trunkline.results.results import compute_sha256

ClassWaits = dict[int, WaitDistribution]
"""Waits at the port of a link, by its class."""
TakeWaits = Callable[[int, ClassWaits], None]
LINK_JOURNAL_SUFFIX: Final = ".links.jsonl"  # Suffix of the file that keeps the links of a command.


class LinkExecutor(Protocol):
    """Runs link networks, anywhere."""

    def __call__(self, networks: Iterable[str], seed: int, take: TakeWaits) -> None:
        """Run each network, given as JSON, with the seed.

        take: Called with the place of each network among them and its waits, in any order.
        """


def run_on_threads(threads: int | None = None) -> LinkExecutor:
    """Make an executor on threads of this process.

    threads: Links that run at a time; as many as there are cores when left out.
    Raises what `make_exception` makes: A run failed, or reached a limit.
    """

    def execute(networks: Iterable[str], seed: int, take: TakeWaits) -> None:
        def handle_end(number: int, failure: str | None, outcome: Any) -> None:
            if failure is not None:
                raise make_exception(failure, outcome)
            take(number, read_waits(outcome))

        limits = RUN_LIMITS.get()
        stream_runs(
            ((network, seed) for network in networks),
            handle_end,
            threads=threads,
            limit_time_s=limits.time_s,
            limit_memory=limits.memory,
        )

    return execute


class LinkJournal:
    """Links that have run, in a file: a line each, appended as soon as it ends.

    A link is known by a digest of its network, its seed and the engine's version, so links that a
    change of the scenario leaves alone stay known. The part of a line that an interruption leaves
    is ignored.

    path: The file; read only with `resume`, and else written anew with the first link.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self._path = path
        self._known = self._read_links() if resume and path.exists() else {}
        self._file: TextIO | None = None

    def keep_runs(self, execute: LinkExecutor) -> LinkExecutor:
        """Make an executor that runs only links that are not known, and keeps those."""

        def execute_missing(networks: Iterable[str], seed: int, take: TakeWaits) -> None:
            missing: list[tuple[int, str]] = []

            def list_missing() -> Iterator[str]:
                for number, network in enumerate(networks):
                    digest = compute_sha256(f"{get_engine_version()} {seed} {network}")
                    if digest in self._known:
                        take(number, self._known[digest])
                    else:
                        missing.append((number, digest))
                        yield network

            def keep(place: int, waits: ClassWaits) -> None:
                number, digest = missing[place]
                self._add_link(digest, waits)
                take(number, waits)

            execute(list_missing(), seed, keep)

        return execute_missing

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _add_link(self, digest: str, waits: ClassWaits) -> None:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("w", encoding="utf-8", newline="\n")
            for known_digest, known_waits in self._known.items():
                self._write_line(known_digest, known_waits)
        self._known[digest] = waits
        self._write_line(digest, waits)

    def _write_line(self, digest: str, waits: ClassWaits) -> None:
        assert self._file is not None
        rows = [
            [class_, each.wait_ns.tolist(), each.share.tolist(), each.packets, each.loss]
            for class_, each in waits.items()
        ]
        self._file.write(json.dumps({"link": digest, "waits": rows}) + "\n")
        self._file.flush()

    def _read_links(self) -> dict[str, ClassWaits]:
        links: dict[str, ClassWaits] = {}
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            links[record["link"]] = {
                class_: WaitDistribution(np.array(waits), np.array(shares), packets, loss)
                for class_, waits, shares, packets, loss in record["waits"]
            }
        return links

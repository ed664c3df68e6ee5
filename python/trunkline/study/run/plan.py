"""What is to be run: points, each a compiled network with its seeds and what is measured."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trunkline.engine.sim import binary, version
from trunkline.results.results import sha256
from trunkline.study.errors import Refused

FIXED = ("run", "point", "part", "seed", "hash", "events", "packet_hops")
"""Columns that every study has."""


@dataclass(frozen=True, slots=True)
class Point:
    """One network with all its parameters set.

    Parameters
    ----------
    network_json : str
        Canonical JSON of the compiled network.
    measure : str
        What is measured: see :func:`trunkline.study.run.measure.measure`.
    part : str, default ""
        Which part of the study.
    labels : mapping of str to str
        What tells the point apart: table, row, parameters. Columns of the data set.
    scenario : callable
        Gives the text of the scenario; called only where it is kept.
    keep : int, default 0
        So many of the first seeds keep all tables of their runs.
    draws : str, default ""
        What is drawn again for each seed: see :func:`trunkline.study.language.draws.written`.
    failing : tuple of str, default ()
        Links and nodes that fail in it.
    """

    network_json: str
    seeds: Sequence[int]
    measure: str
    part: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    scenario: Callable[[], str] = str
    keep: int = 0
    draws: str = ""
    failing: tuple[str, ...] = ()

    def network(self, seed: int) -> str:
        """The compiled network with the draws of a seed in it."""
        if not self.draws:
            return self.network_json
        from trunkline.study.language.draws import drawn

        return drawn(self.network_json, self.draws, seed)

    def to_json(self, measures: Sequence[str]) -> dict[str, Any]:
        """As an entry of the manifest."""
        seeds = list(self.seeds)
        first, last = min(seeds), max(seeds)
        whole = seeds == list(range(first, last + 1))
        return {
            "part": self.part,
            "labels": dict(self.labels),
            "network": sha256(self.network_json),
            "seeds": {"from": first, "to": last} if whole else seeds,
            "measure": measures.index(self.measure),
            "keep": self.keep,
            **({"draws": self.draws} if self.draws else {}),
            **({"failing": list(self.failing)} if self.failing else {}),
        }


@dataclass(frozen=True, slots=True)
class Task:
    """One run.

    Parameters
    ----------
    number : int
        Its place in the study.
    place : int
        Number of its point.
    seed : int
        With which seed.
    kept : bool
        All tables are kept.
    """

    number: int
    place: int
    point: Point
    seed: int
    kept: bool

    @property
    def network_json(self) -> str:
        """The compiled network with the draws of the seed in it."""
        return self.point.network(self.seed)


class Plan:
    """All runs of a study, in order.

    Parameters
    ----------
    points : sequence of Point
        In the order of the data set.
    share : (int, int, str), optional
        If these are every so-many-th point of a study: number, from 1, and count, and a digest of
        all its networks.

    Raises
    ------
    Refused
        There is no point, or a label has the name of a column that every study has.
    """

    def __init__(
        self,
        name: str,
        title: str,
        points: Sequence[Point],
        *,
        share: tuple[int, int, str] | None = None,
    ) -> None:
        self.name, self.title, self.share = name, title, share
        self.points = tuple(points)
        self.measures = list(dict.fromkeys(point.measure for point in self.points))
        self.labels = list(dict.fromkeys(label for p in self.points for label in p.labels))
        if not self.points or not all(point.seeds for point in self.points):
            raise Refused(f"study {name} has no runs")
        for label in self.labels:
            if label in FIXED:
                raise Refused(f"study {name}: {label!r} cannot be the name of a parameter")

    def part(self, number: int, count: int) -> Plan:
        """Every so-many-th point, for a shard that finds the number of its runs by itself.

        Raises
        ------
        Refused
            There are fewer points than shards.
        """
        if count > len(self.points):
            raise Refused(
                f"shard {number} of {count}: study {self.name} has {len(self.points)} points, and "
                "where each finds the number of its runs, points are shared out"
            )
        mine = self.points[number - 1 :: count]
        networks = sha256("".join(sha256(point.network_json) for point in self.points))
        return Plan(self.name, self.title, mine, share=(number, count, networks))

    def __len__(self) -> int:
        return sum(len(point.seeds) for point in self.points)

    def tasks(self) -> Iterator[Task]:
        """Every run, points first, then seeds."""
        number = 0
        for place, point in enumerate(self.points):
            for nth, seed in enumerate(point.seeds):
                yield Task(number, place, point, seed, nth < point.keep)
                number += 1

    def to_json(self) -> dict[str, Any]:
        """As the manifest holds it, with a sequence of points: the same plan gives the same."""
        return {
            "format": 1,
            "study": self.name,
            "title": self.title,
            "version": version(),
            "engine": _engine(),
            "runs": len(self),
            "measures": self.measures,
            "points": _Entries(self.points, self.measures),
            **({"share": list(self.share)} if self.share else {}),
        }


class _Entries(Sequence[dict[str, Any]]):
    """Points as the manifest holds them, made when asked for: a million of them take 1.5 GB."""

    def __init__(self, points: Sequence[Point], measures: Sequence[str]) -> None:
        self._points, self._measures = points, measures

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, place: Any) -> Any:
        return self._points[place].to_json(self._measures)


@functools.cache
def _engine() -> str:
    """Which build of the engine this is: two of one version need not give the same results."""
    return hashlib.sha256(binary().read_bytes()).hexdigest()[:12]


def differences(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """What a stored plan and one that would go on with it do not agree on."""
    found = [
        f"{key}: {stored.get(key)} then, {wanted.get(key)} now"
        for key in ("format", "study", "version", "engine", "runs")
        if stored.get(key) != wanted.get(key)
    ]
    if stored.get("measures") != wanted.get("measures"):
        found.append("what is measured")
    mine, theirs = wanted["points"], stored.get("points", [])
    if len(mine) != len(theirs):
        found.append(f"points: {len(theirs)} then, {len(mine)} now")
    for now, then in zip(mine, theirs, strict=False):
        what = [key for key in now if key != "measure" and now[key] != then.get(key)]
        if what:
            words = {"network": "scenario"}
            listed = ", ".join(words.get(key, key) for key in what)
            found.append(f"point {_named(then)}: {listed}")
    return found


def _named(point: Mapping[str, Any]) -> str:
    said = [str(point.get("part", "")), *point.get("labels", {}).values()]
    return ", ".join(text for text in said if text) or "as it is"

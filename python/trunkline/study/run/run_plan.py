"""Plan of a study: points, each a compiled network with its seeds and its measure."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from trunkline.engine.packet_engine import get_engine_file, get_engine_version
from trunkline.results.results import compute_sha256
from trunkline.study.errors import StudyError
from trunkline.study.run.run_measures import add_controls

if TYPE_CHECKING:
    from trunkline.stats.control_variates import OfferedMean

FIXED_COLUMNS = ("run", "point", "part", "seed", "hash", "events", "packet_hops")
"""Columns that every study has."""


@dataclass(frozen=True, slots=True)
class StudyPoint:
    """One network with all its parameters set."""

    network_json: str  # Canonical JSON of the compiled network.
    seeds: Sequence[int]
    measure: str  # Its measure: see :func:`trunkline.study.run.run_measures.build_measure`.
    part: str = ""  # Which part of the study.
    # Labels of the point: table, row, parameters. Columns of the data set.
    labels: Mapping[str, str] = field(default_factory=dict)
    # Gives the text of the scenario; called only where it is kept.
    scenario: Callable[[], str] = str
    keep: int = 0  # So many of the first seeds keep all tables of their runs.
    # Values that each seed draws anew: see `random_draws.serialise_draws`.
    draws: str = ""
    failing: tuple[str, ...] = ()  # Links and nodes that fail in it.

    def draw_network_json(self, seed: int) -> str:
        """The compiled network with the draws of a seed in it."""
        if not self.draws:
            return self.network_json
        from trunkline.study.language.random_draws import apply_draws

        return apply_draws(self.network_json, self.draws, seed)

    def read_fixed_means(
        self, read_means: Callable[[str], Mapping[str, OfferedMean]]
    ) -> Mapping[str, OfferedMean]:
        """Read the offered means of the flows that no seed draws anew."""
        means = read_means(self.network_json)
        if not means or not self.draws:
            return means
        drawn = {flow["name"]: flow for flow in json.loads(self.draw_network_json(1))["flows"]}
        flows = {flow["name"]: flow for flow in json.loads(self.network_json)["flows"]}
        return {name: mean for name, mean in means.items() if flows[name] == drawn[name]}

    def to_json(self, measures: Sequence[str]) -> dict[str, Any]:
        """Build an entry of the manifest."""
        seeds = list(self.seeds)
        first, last = min(seeds), max(seeds)
        is_consecutive = seeds == list(range(first, last + 1))
        return {
            "part": self.part,
            "labels": dict(self.labels),
            "network": compute_sha256(self.network_json),
            "seeds": {"from": first, "to": last} if is_consecutive else seeds,
            "measure": measures.index(self.measure),
            "keep": self.keep,
            **({"draws": self.draws} if self.draws else {}),
            **({"failing": list(self.failing)} if self.failing else {}),
        }


@dataclass(frozen=True, slots=True)
class RunTask:
    """One run."""

    number: int  # Its place in the study.
    point_number: int  # Number of its point.
    point: StudyPoint
    seed: int  # With which seed.
    is_kept: bool  # All tables are kept.

    @property
    def network_json(self) -> str:
        """The compiled network with the draws of the seed in it."""
        return self.point.draw_network_json(self.seed)


class RunPlan:
    """All runs of a study, in order.

    points: In the order of the data set.
    share: If these are every so-many-th point of a study: number, from 1, and count, and a digest
        of all its networks.
    Raises StudyError: There is no point, or a label has the name of a column that every study has.
    """

    def __init__(
        self,
        name: str,
        title: str,
        points: Sequence[StudyPoint],
        *,
        share: tuple[int, int, str] | None = None,
    ) -> None:
        self.name, self.title, self.share = name, title, share
        self.points = tuple(points)
        self.measures = list(dict.fromkeys(point.measure for point in self.points))
        self.labels = list(dict.fromkeys(label for p in self.points for label in p.labels))
        if not self.points or not all(point.seeds for point in self.points):
            raise StudyError(f"study {name} has no runs")
        for label in self.labels:
            if label in FIXED_COLUMNS:
                raise StudyError(f"study {name}: {label!r} cannot be the name of a parameter")

    def select_shard(self, number: int, count: int) -> RunPlan:
        """Select every so-many-th point, for a shard that finds the number of its runs by itself.

        Raises StudyError: There are fewer points than shards.
        """
        if count > len(self.points):
            raise StudyError(
                f"shard {number} of {count}: study {self.name} has {len(self.points)} points, and "
                "where each finds the number of its runs, points are shared out"
            )
        own_points = self.points[number - 1 :: count]
        networks = compute_sha256(
            "".join(compute_sha256(point.network_json) for point in self.points)
        )
        return RunPlan(self.name, self.title, own_points, share=(number, count, networks))

    def add_controls(self, read_means: Callable[[str], Mapping[str, OfferedMean]]) -> RunPlan:
        """Add control variates to the measures of all points whose sources have a known mean.

        Flows that each seed draws anew have none.

        read_means: Reads the offered means of a compiled network from its JSON.
        Raises StudyError: No point has such a source.
        """
        points = [
            replace(point, measure=add_controls(point.measure, point.read_fixed_means(read_means)))
            for point in self.points
        ]
        if points == list(self.points):
            raise StudyError(
                f"study {self.name} has no source whose mean count is known: Poisson arrivals, "
                "exponential gaps or on-off, of datagrams or of transfers"
            )
        return RunPlan(self.name, self.title, points, share=self.share)

    def set_run_counts(self, counts: Sequence[int]) -> RunPlan:
        """Give each point so many seeds, 1, 2, ...

        counts: At least 1, one for each point.
        """
        points = [
            replace(point, seeds=tuple(range(1, count + 1)))
            for point, count in zip(self.points, counts, strict=True)
        ]
        return RunPlan(self.name, self.title, points, share=self.share)

    def __len__(self) -> int:
        return sum(len(point.seeds) for point in self.points)

    def iterate_tasks(self) -> Iterator[RunTask]:
        """Yield every run, points first, then seeds."""
        number = 0
        for place, point in enumerate(self.points):
            for seed_index, seed in enumerate(point.seeds):
                yield RunTask(number, place, point, seed, seed_index < point.keep)
                number += 1

    def to_json(self) -> dict[str, Any]:
        """Build it for the manifest, with a sequence of points: equal plans give equal text."""
        return {
            "format": 1,
            "study": self.name,
            "title": self.title,
            "version": get_engine_version(),
            "engine": _compute_engine_digest(),
            "runs": len(self),
            "measures": self.measures,
            "points": _ManifestPoints(self.points, self.measures),
            **({"share": list(self.share)} if self.share else {}),
        }


class _ManifestPoints(Sequence[dict[str, Any]]):
    """Points as the manifest holds them, made when asked for: a million of them take 1.5 GB."""

    def __init__(self, points: Sequence[StudyPoint], measures: Sequence[str]) -> None:
        self._points, self._measures = points, measures

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, place: Any) -> Any:
        return self._points[place].to_json(self._measures)


@functools.cache
def _compute_engine_digest() -> str:
    """Compute which build of the engine this is: two of one version may give other results."""
    return hashlib.sha256(get_engine_file().read_bytes()).hexdigest()[:12]


def list_differences(stored: Mapping[str, Any], planned: Mapping[str, Any]) -> list[str]:
    """List the differences between a stored plan and one that would continue it."""
    found = [
        f"{key}: {stored.get(key)} then, {planned.get(key)} now"
        for key in ("format", "study", "version", "engine", "runs")
        if stored.get(key) != planned.get(key)
    ]
    if stored.get("measures") != planned.get("measures"):
        found.append("what is measured")
    planned_points, stored_points = planned["points"], stored.get("points", [])
    if len(planned_points) != len(stored_points):
        found.append(f"points: {len(stored_points)} then, {len(planned_points)} now")
    for planned_point, stored_point in zip(planned_points, stored_points, strict=False):
        changed_keys = [
            key
            for key in planned_point
            if key != "measure" and planned_point[key] != stored_point.get(key)
        ]
        if changed_keys:
            key_labels = {"network": "scenario"}
            listed = ", ".join(key_labels.get(key, key) for key in changed_keys)
            found.append(f"point {_describe_point(stored_point)}: {listed}")
    return found


def _describe_point(point: Mapping[str, Any]) -> str:
    texts = [str(point.get("part", "")), *point.get("labels", {}).values()]
    return ", ".join(text for text in texts if text) or "as stated"

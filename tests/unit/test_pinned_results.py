"""Every shipped example and study gives the results that ``tests/pinned-results.csv`` lists.

A line a run: what is run, its point, the simulated time, the threads, the seed, the results hash,
which is of names and integers, and a hash of all other columns: averages, shares, distributions.
``./dev python -m pytest tests/unit/test_pinned_results.py --pin`` rewrites the table; a line
that changes goes under "Changes that alter results" in CHANGELOG.md, with the reason.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import pytest

import trunkline as tl
from trunkline import network, study
from trunkline.engine import simulate
from trunkline.results import SCHEMAS, Results
from trunkline.study.language.point_scenarios import load_point_scenario
from trunkline.study.language.random_draws import apply_draws, serialise_draws

PINNED = Path(__file__).resolve().parents[1] / "pinned-results.csv"
EXAMPLES = sorted(Path(tl.__file__).parent.glob("examples/*.yaml"))
SHORT = {"avallone2003": 8.0, "bhani1999": 1.5, "seddigh1999": 60.0}
"""Simulated seconds of studies of which a run as shipped takes long; warm-up shrinks as much."""
ENGINE_BUSINESS = {("summary", "events"), ("summary", "packets_peak")}
"""What depends on how the engine works and on its threads, not on the network."""
MARK_COUNTS = {
    ("flows", "packets_ce"),
    ("ports", "packets_marked"),
    *(("marks", field.name) for field in SCHEMAS["marks"]),
}
"""Counts that came after the pins: `tests/unit/results/test_marks.py` holds them to the trace."""
ON_THREADS = {"protected-ring": (2, 4), "diffserv-over-mpls": (2, 4), "hello": (2,)}


Hashes = tuple[str, str]
"""The results hash, and that of all other columns."""


@dataclass(frozen=True)
class Run:
    """What is run, as the table has it before the hash."""

    what: str
    point: str
    duration_s: float
    threads: int
    seed: int = 1


def shorten_run(network_json: str, duration_s: float | None) -> str:
    """A network whose run, with its warm-up, takes at most so long."""
    document = json.loads(network_json)
    run = document["run"]
    share = min(1.0, (duration_s or 1e9) * 1e9 / run["duration_ns"])
    run |= {key: int(run[key] * share) for key in ("duration_ns", "warmup_ns")}
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def hash_other_columns(
    results: Results, left_out: set[tuple[str, str]] = ENGINE_BUSINESS | MARK_COUNTS
) -> str:
    """SHA-256 over the columns that the results hash leaves out, but for some.

    A platform may round the last bit of an average otherwise: nine digits are compared.
    """
    digest = hashlib.sha256()
    for name, table in results.tables.items():
        for field in table.fields:
            if field.in_hash or (name, field.name) in left_out:
                continue
            digest.update(f"{name}.{field.name}\n".encode())
            for value in table[field.name]:
                text = f"{value:.9g}" if isinstance(value, float) else str(value)
                digest.update(f"{text}\n".encode())
    return digest.hexdigest()


def _run(what: str, point: str, network_json: str, threads: int) -> tuple[Run, Hashes]:
    duration = json.loads(network_json)["run"]["duration_ns"] / 1e9
    results = simulate(network_json, seeds=[1], threads=threads)[0]
    return Run(what, point, duration, threads), (results.hash(), hash_other_columns(results))


def _of_example(file: Path) -> Iterator[tuple[Run, Hashes]]:
    compiled = network.compile(tl.load(file)).to_json()
    for threads in (1, *ON_THREADS.get(file.stem, ())):
        yield _run(file.stem, "", compiled, threads)


def _of_study(name: str) -> Iterator[tuple[Run, Hashes]]:
    """The last point of each table."""
    found_value = study.find_study(name)
    for table in found_value.list_tables():
        document = [
            one for one in found_value.draws if one.cases is None or table.base in one.cases
        ]
        draws = serialise_draws(name, document)
        label, values = list(table.points.items())[-1]
        compiled = network.compile(load_point_scenario(found_value, table, values)).to_json()
        compiled = shorten_run(
            apply_draws(compiled, draws, 1) if draws else compiled, SHORT.get(name)
        )
        yield _run(name, f"{table.name}: {label}", compiled, 1)


@functools.cache
def _pinned() -> dict[Run, Hashes]:
    with PINNED.open(newline="") as file:
        return {
            Run(
                row["what"],
                row["point"],
                float(row["duration_s"]),
                int(row["threads"]),
                int(row["seed"]),
            ): (row["hash"], row["other_columns"])
            for row in csv.DictReader(file)
        }


def _rewrite(what: str, found: dict[Run, Hashes]) -> None:
    """Replace the lines of an example or a study."""
    kept = (
        {run: found_value for run, found_value in _pinned().items() if run.what != what}
        if PINNED.exists()
        else {}
    )
    lines = sorted((kept | found).items(), key=lambda line: (line[0].what, line[0].threads))
    with PINNED.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*(field.name for field in fields(Run)), "hash", "other_columns"])
        table.writerows([*astuple(run), *found_value] for run, found_value in lines)
    _pinned.cache_clear()


def _hold(what: str, found: dict[Run, Hashes], rewrite: bool) -> None:
    if rewrite:
        _rewrite(what, found)
    assert found == {run: found_value for run, found_value in _pinned().items() if run.what == what}


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_gives_its_pinned_results_on_any_number_of_threads(
    file: Path, request: pytest.FixtureRequest
) -> None:
    found = dict(_of_example(file))
    assert len(set(found.values())) == 1
    _hold(file.stem, found, request.config.getoption("--pin"))


@pytest.mark.parametrize("name", study.list_study_names())
def test_the_last_point_of_each_table_of_a_study_gives_its_pinned_results(
    name: str, request: pytest.FixtureRequest
) -> None:
    _hold(name, dict(_of_study(name)), request.config.getoption("--pin"))


def test_nothing_is_pinned_that_is_no_longer_shipped() -> None:
    assert {run.what for run in _pinned()} == {
        *(file.stem for file in EXAMPLES),
        *study.list_study_names(),
    }


def test_every_column_is_in_one_of_the_two_hashes() -> None:
    """A jitter of 1/17 for RFC 3550's 1/16 passed when only names and integers were pinned."""
    results = tl.run(tl.load(EXAMPLES[0]))
    hashed = {
        (name, field.name)
        for name, table in results.tables.items()
        for field in table.fields
        if field.in_hash
    }
    jitter = ("flows", "jitter_s")
    assert jitter not in hashed
    assert jitter not in ENGINE_BUSINESS
    before = hash_other_columns(results)
    assert before == hash_other_columns(tl.run(tl.load(EXAMPLES[0])))

"""Small scenarios compile and run to the hashes that ``tests/pinned-scenarios.csv`` lists.

They are the examples, `tests/keys` (which sets every key of the language), each feature of
`test_features_together.py`, the scenarios that tests of this folder have as constants, each for
half a second, and those of `pinned_mechanisms.py`. Whether they are right other tests judge, by
sources outside this project. These notice what changes where nobody looks: of each mechanism every
branch that its run takes, in a few milliseconds.
``./dev python -m pytest tests/unit/test_pinned_scenarios.py -n0 --pin`` rewrites the table. A
change of the language alters networks, one of a mechanism results, which `CHANGELOG.md` then says.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import re
from pathlib import Path

import pytest

from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.scenario import ScenarioError, load
from trunkline.trace import write_capture

from .pinned_mechanisms import MECHANISMS
from .test_features_together import FEATURES, dump_point_scenario
from .test_pinned_results import ENGINE_BUSINESS, hash_other_columns, shorten_run

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
PINNED = TESTS / "pinned-scenarios.csv"
FEATURES_FILE = TESTS / "unit" / "test_features_together.py"
CONSTANT = re.compile(r'^([A-Z_]+) = """(?:\\(?=\n))?(\n.*?)"""$', re.M | re.S)
MAX_DURATION_S = 0.5
Pin = tuple[str, str, str]
"""Hashes of a scenario's text, of its network and of its results."""


@functools.cache
def list_scenarios(place: Path) -> dict[str, str]:
    """Texts of the scenarios of a file, by name."""
    content = place.read_text("utf-8")
    if place.suffix == ".yaml":
        return {"all": content}
    texts = {name: text for name, text in CONSTANT.findall(content) if "\ntrunkline: 1\n" in text}
    if place == FEATURES_FILE:
        texts |= {name: dump_point_scenario(name) for name in sorted(FEATURES)}
    return texts


PLACES = [
    place
    for place in [
        *sorted(ROOT.glob("python/trunkline/examples/*.yaml")),
        *sorted(TESTS.glob("keys/*.yaml")),
        *sorted([*TESTS.glob("*.py"), *TESTS.glob("unit/**/*.py")]),
    ]
    if list_scenarios(place)
]


def make_pin(
    source: Path | str, text: str, max_duration_s: float | None, folder: Path | None = None
) -> Pin | None:
    """Compile and run a scenario; None if it is part of one, or wrong on purpose.

    folder: For a capture of the run, whose packets are then pinned too.
    """
    try:
        scenario = load(source)
    except ScenarioError:
        return None
    network = compile(scenario)
    results = simulate(shorten_run(network.to_json(), max_duration_s), seeds=[1], threads=1)[0]
    hashes = results.hash() + hash_other_columns(results, ENGINE_BUSINESS)
    if folder is not None:
        file = folder / "all.pcapng"
        write_capture(results, network.data, file)
        content = file.read_bytes()
        # The first block has the version of the program.
        hashes += hashlib.sha256(content[int.from_bytes(content[4:8], "little") :]).hexdigest()
    return hash_text(text), network.hash()[:32], hash_text(hashes)


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@functools.cache
def read_pinned() -> dict[str, Pin]:
    with PINNED.open(newline="") as stream:
        return {
            row["scenario"]: (row["text"], row["network"], row["results"])
            for row in csv.DictReader(stream)
        }


def hold(start: str, found: dict[str, Pin | None], rewrite: bool) -> None:
    """Compare the scenarios of a file with their pins, or replace its lines."""
    made = {f"{start}: {name}": pin for name, pin in found.items() if pin is not None}
    if rewrite:
        kept = read_pinned() if PINNED.exists() else {}
        lines = {name: pin for name, pin in kept.items() if not name.startswith(f"{start}: ")}
        with PINNED.open("w", newline="") as stream:
            table = csv.writer(stream, lineterminator="\n")
            table.writerow(["scenario", "text", "network", "results"])
            table.writerows([name, *pin] for name, pin in sorted((lines | made).items()))
        read_pinned.cache_clear()
    # A scenario that is new, or was changed, is pinned with the next `--pin`.
    pinned = read_pinned()
    same = {name for name, pin in made.items() if pinned.get(name, ("",))[0] == pin[0]}
    assert {name: made[name] for name in same} == {name: pinned[name] for name in same}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.stem)
def test_scenarios_compile_and_run_to_their_pins(
    place: Path, request: pytest.FixtureRequest
) -> None:
    found = {
        name: make_pin(place if place.suffix == ".yaml" else text, text, MAX_DURATION_S)
        for name, text in list_scenarios(place).items()
    }
    hold(place.relative_to(ROOT).as_posix(), found, request.config.getoption("--pin"))


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, make in MECHANISMS.items() for name in make()]
)
def test_mechanisms_run_to_their_pins(kind: str, name: str, request: pytest.FixtureRequest) -> None:
    text = MECHANISMS[kind]()[name]
    pin = make_pin(text, text, None)
    assert pin is not None
    hold(f"{kind}, {name}", {"all": pin}, request.config.getoption("--pin"))


def test_nearly_all_scenarios_are_pinned() -> None:
    pinned = {pin[0] for pin in read_pinned().values()}
    texts = [text for place in PLACES for text in list_scenarios(place).values()]
    mechanisms = [text for make in MECHANISMS.values() for text in make().values()]
    # A third of the constants are parts of scenarios.
    assert sum(hash_text(text) in pinned for text in texts) > 0.6 * len(texts) > 100
    assert sum(hash_text(text) in pinned for text in mechanisms) > 0.9 * len(mechanisms)

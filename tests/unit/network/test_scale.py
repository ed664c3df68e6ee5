"""`scale` is a factor of all rates, whatever key holds them (docs/reference/demands.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trunkline.network import compile
from trunkline.scenario import load

REQUIRED_OPEN_FILES = sorted((Path(__file__).parents[2] / "keys").glob("*.yaml"))


def leaves(value: Any, path: tuple[object, ...] = ()) -> Iterator[tuple[tuple[object, ...], Any]]:
    """Every number and word of a network, by its path."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, (*path, key))
    else:
        yield path, value


def is_rate(path: tuple[object, ...]) -> bool:
    return any(isinstance(part, str) and part.endswith("bit_s") for part in path)


@pytest.mark.parametrize(
    "file", REQUIRED_OPEN_FILES, ids=[file.stem for file in REQUIRED_OPEN_FILES]
)
def test_every_rate_of_every_key_is_scaled(file: Path) -> None:
    scenario = load(file)
    full_network = compile(scenario.model_copy(update={"scale": 1.0})).data
    half = dict(leaves(compile(scenario.model_copy(update={"scale": 0.5})).data))
    rates = {path: value for path, value in leaves(full_network) if is_rate(path) and value}
    assert rates
    for path, rate in rates.items():
        assert half[path] == pytest.approx(rate / 2, abs=1), path

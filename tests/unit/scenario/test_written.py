"""What is written loads and means the same: every key of the language, once at least.

``tests/keys`` holds scenarios that set each key to a value that is not its default. A key that they
lack fails `test_each_key_has_a_value_in_tests_keys`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from trunkline.network import compile
from trunkline.planning import write_explicit_scenario
from trunkline.scenario import Scenario, load
from trunkline.scenario.aqm import DropTail
from trunkline.scenario.base import Element
from trunkline.scenario.flow import Tcp, Udp
from trunkline.scenario.queue import QueueOptions
from trunkline.scenario.yaml_text import block, format_one_line, parse_yaml

KEYS = Path(__file__).parents[2] / "keys"
FILES = sorted(KEYS.glob("*.yaml"))


def again(text: str, tmp_path: Path) -> Scenario:
    """The scenario that a text holds, beside the tables that those of `KEYS` name."""
    for table in KEYS.rglob("*.csv"):
        target = tmp_path / table.relative_to(KEYS)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(table.read_bytes())
    (tmp_path / "again.yaml").write_text(text, "utf-8")
    return load(tmp_path / "again.yaml")


def elements(kind: Any) -> Iterator[type[Element]]:
    """Classes of elements that an annotation names."""
    for part in typing.get_args(kind):
        yield from elements(part)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind  # type: ignore[misc]


def language() -> set[tuple[type[Element], str]]:
    """Every key with the class that declares it."""
    seen: set[type[Element]] = set()
    waiting: list[type[Element]] = [Scenario]
    while waiting:
        kind = waiting.pop()
        if kind not in seen:
            seen.add(kind)
            for field in kind.model_fields.values():
                waiting += elements(field.annotation)
    return {declared(kind, name) for kind in seen for name in kind.model_fields}


def declared(kind: type[Element], name: str) -> tuple[type[Element], str]:
    """The class that declares a key of another that inherits it."""
    return next(
        found_value for found_value in kind.__mro__ if name in inspect.get_annotations(found_value)
    ), name


def set_keys(value: Any) -> Iterator[tuple[type[Element], str]]:
    """Keys that are set to something else than their default, or that have one value only."""
    if isinstance(value, Element):
        kind = type(value)
        for name in value.model_fields_set:
            found_value, field = getattr(value, name), kind.model_fields[name]
            one_value = typing.get_origin(field.annotation) is Literal
            if found_value != field.get_default(call_default_factory=True) or one_value:
                yield declared(kind, name)
            yield from set_keys(found_value)
    elif isinstance(value, dict):
        for each in value.values():
            yield from set_keys(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from set_keys(each)


def test_each_key_has_a_value_in_tests_keys() -> None:
    found = {key for file in FILES for key in set_keys(load(file))}
    # Of `trunkline` there is one value yet.
    lacking = {f"{kind.__name__}.{key}" for kind, key in language() - found} - {
        "ScenarioSections.trunkline"
    }
    assert not lacking, "put these keys into a scenario of tests/keys"


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_dump_loads_to_the_same_network_and_is_dumped_alike(file: Path, tmp_path: Path) -> None:
    scenario = load(file)
    text = scenario.dump()
    read = again(text, tmp_path)
    assert read == scenario
    assert compile(read).hash() == compile(scenario).hash()
    assert read.dump() == text


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_routes_written_out_load_to_the_same_network(file: Path, tmp_path: Path) -> None:
    scenario = load(file)
    assert (
        compile(again(write_explicit_scenario(scenario), tmp_path)).hash()
        == compile(scenario).hash()
    )


def test_an_example_names_no_file_that_a_copy_of_it_lacks() -> None:
    for file in sorted(files("trunkline").joinpath("examples").iterdir(), key=str):
        if file.name.endswith(".yaml"):
            # A text, unlike a file, may name no other files.
            assert load(f"{file.read_text('utf-8')}\n").nodes


@pytest.mark.parametrize(
    "text",
    ["1e5", "1.5e3", "1e400", "12", "010", "1_000", "0x1F", "no", "~", "null", "<<", "=", "1:30"],
)
def test_text_that_looks_like_a_number_or_a_word_stays_text(text: str) -> None:
    """YAML 1.1 reads 1e5 as text and YAML 1.2 as a number: who writes for both quotes it."""
    for write in (block, format_one_line):
        assert parse_yaml(write({"a": text, "b": [text]}), "test")[0] == {"a": text, "b": [text]}


def test_elements_built_in_python_say_their_kind() -> None:
    scenario = Scenario(
        nodes={"A": {}, "B": {}},
        links={"A-B": {"rate": 10**6}},
        ports={"p": {"queue": QueueOptions(aqm=DropTail())}},
        flows={"t": Tcp(from_="A", to="B"), "u": Udp(from_="A", to="B", rate=1000)},
        run={"duration": 10**9},
    )
    assert load(scenario.dump()) == scenario

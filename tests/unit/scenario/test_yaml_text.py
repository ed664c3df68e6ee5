"""YAML with places and limits."""

import time
from pathlib import Path
from typing import Any

import pytest

import trunkline.scenario.yaml_text as text_module
from trunkline.scenario import ScenarioError, load
from trunkline.scenario.yaml_text import MAX_BYTES, parse_yaml


def value(text: str) -> Any:
    return parse_yaml(text, "test")[0]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("no", "no"),
        ("off", "off"),
        ("1:30", "1:30"),
        ("010", "010"),
        ("0o17", "0o17"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("2026-11-21", "2026-11-21"),
        ("1e6", 1e6),
        ("12", 12),
        ("-3", -3),
        ("1.5", 1.5),
        ("true", True),
        ("~", None),
        ("'12'", "12"),
        ('"true"', "true"),
    ],
)
def test_scalars_follow_the_core_schema_of_yaml_1_2(text: str, meant: object) -> None:
    found = value(f"x: {text}")["x"]
    assert found == meant
    assert type(found) is type(meant)


def test_merge_keys_give_way_to_own_keys_and_the_first_source_wins() -> None:
    merged = value("a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc: {<<: [*a, *b], y: 3}")["c"]
    assert merged == {"y": 3, "x": 1, "z": 2}


def test_every_value_knows_its_place() -> None:
    document = value("a:\n  - 1\n  - {b: two}\n")
    inner = document["a"][1]
    assert (document.key_places["a"].line, document.key_places["a"].column) == (1, 1)
    assert (document["a"].value_places[0].line, document["a"].value_places[0].column) == (2, 5)
    assert (inner.value_places["b"].line, inner.value_places["b"].column) == (3, 9)
    assert inner.value_places["b"].length == 3


def test_an_alias_bomb_costs_less_than_a_second() -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 30)]
    begin = time.process_time()
    with pytest.raises(ScenarioError) as caught:
        load("\n".join(lines) + "\n")
    assert time.process_time() - begin < 1
    assert caught.value.diagnostics[0].code == "limit"


@pytest.mark.parametrize("opening", ["[", "- ", "{a: ", "? "])
def test_a_hundred_thousand_levels_are_refused(opening: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load("x:\n  " + opening * 100_000 + "\n")
    assert caught.value.diagnostics[0].code in ("limit", "syntax", "type")


def test_aliases_cannot_nest_deeper_than_text_can() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 80)]
    with pytest.raises(ScenarioError, match="nested deeper than 64"):
        load("\n".join(lines) + "\n")


def test_a_file_above_the_limit_is_not_parsed(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(ScenarioError, match="larger than 10000000 bytes"):
        load(file)


def test_nodes_are_counted_while_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "MAX_NODES", 1000)
    with pytest.raises(ScenarioError, match="more than 1000 nodes"):
        load("x: [" + "1," * 10_000 + "\n")  # not even closed: it is not read to its end


def test_a_byte_order_mark_is_no_character(tmp_path: Path) -> None:
    file = tmp_path / "bom.yaml"
    file.write_bytes(b"\xef\xbb\xbftrunkline: 1\nnodes: [A]\nrun: {duration: 1 s}\n")
    assert load(file).name == "bom"

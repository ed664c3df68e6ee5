"""Whatever is loaded, the answer is a scenario or a ScenarioError."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from trunkline.network import compile
from trunkline.scenario import CODES, Scenario, ScenarioError, load
from trunkline.scenario.diagnostic import Place
from trunkline.scenario.parameters import replaced
from trunkline.scenario.yaml_text import parse_yaml

EXAMPLES = sorted(
    each.read_text(encoding="utf-8")
    for folder in (files("trunkline").joinpath("examples"), Path(__file__).parents[2] / "keys")
    for each in folder.iterdir()
    if each.name.endswith(".yaml")
)
SCALARS = [
    "10 Mbit/s", "1 ms", "1500 B", "3 packets", "10 %", "0", "-1", "1e400", ".nan", "~", "true",
    "$x", "${1 +}", "${2 * x}", "all", "A", "A-B", "EF", "none", "[", "{}", "[]", "&a", "*a", "!!x",
    "<<", "'", '"', "\t", "\0", "é", "\ud7ff", "drop-tail", "red", "{kind: red}", "9" * 500,
]  # fmt: skip


def outcome(source: Any, overrides: dict[str, str] | None = None) -> None:
    error = None
    try:
        scenario = load(source, overrides=overrides or {})
    except ScenarioError as refused:
        error = refused
    if error is not None:
        assert error.diagnostics
        assert {each.code for each in error.diagnostics} <= set(CODES)
        assert all(line.isprintable() for line in error.render().split("\n"))
        return
    assert isinstance(scenario, Scenario)
    assert load(scenario.dump()) == scenario
    assert compile(scenario).to_json()


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    outcome(text + "\n")


@settings(max_examples=300)
@given(
    st.sampled_from(EXAMPLES),
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 40), st.sampled_from(SCALARS)),
        min_size=1,
        max_size=4,
    ),
)
def test_examples_with_pieces_replaced(text: str, edits: list[tuple[float, int, str]]) -> None:
    for where, length, piece in edits:
        at = int(where * len(text))
        text = text[:at] + piece + text[at + length :]
    outcome(text + "\n")


@settings(max_examples=200)
@given(
    st.sampled_from(EXAMPLES),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=3),
)
def test_examples_with_lines_moved(text: str, moves: list[tuple[int, int]]) -> None:
    lines = text.split("\n")
    for source, target in moves:
        lines.insert(target % len(lines), lines.pop(source % len(lines)))
    outcome("\n".join(lines) + "\n")


NAME = st.sampled_from(["A", "B", "C", "A-B", "f", "many", "p", "all", "default", "x"])
LEAF = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(SCALARS),
    NAME,
    st.text(max_size=8),
)
KEYS = st.sampled_from([
    "rate", "delay", "between", "forward", "route", "through", "labels", "path", "flows", "agent",
    "from", "to", "replicate", "size", "queue", "limit", "aqm", "kind", "classes", "classify",
    "class", "dscp", "tc", "weight", "scheduler", "per", "measure", "link", "flow", "every",
    "duration", "seed", "x", "choice", "exponential", "sizes", "min_th", "max_th", "precedences",
])  # fmt: skip
VALUE = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(KEYS, NAME), inner, max_size=4)
    ),
    max_leaves=12,
)
DOCUMENT = st.dictionaries(
    st.sampled_from(
        [
            "trunkline",
            "name",
            "parameters",
            "defaults",
            "nodes",
            "links",
            "ports",
            "paths",
            "trunks",
            "flows",
            "probes",
            "run",
        ]
    ),
    st.one_of(VALUE, st.dictionaries(NAME, VALUE, max_size=4)),
)


@settings(max_examples=300)
@given(DOCUMENT)
def test_any_document_from_python(document: dict[str, Any]) -> None:
    sound = {
        "nodes": ["A", "B"],
        "links": {"A-B": {"rate": "1 Mbit/s"}},
        "run": {"duration": "1 s"},
    }
    outcome(sound | document)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of the scalars of a document."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, (*path, key))
    else:
        yield path


def test_whole_numbers_of_any_length_from_python() -> None:
    """Python writes no decimal number of more than 4,300 digits, and no float holds 10^400."""
    tried = set()
    for text in EXAMPLES:
        document, _ = parse_yaml(text, "")
        for path in leaves(document):
            *rest, last = path
            kind = path[0], last if isinstance(last, str) else (len(path), rest[-1])
            if kind in tried:
                continue
            tried.add(kind)
            number = 10**400 if len(tried) % 2 else -(10**5000)
            with pytest.raises(ScenarioError, match="a number of more than 40 digits"):
                load(replaced(document, list(path), number, Place(1, 1)))
    assert len(tried) > 200


def test_an_override_may_have_an_index_of_any_length() -> None:
    with pytest.raises(ScenarioError, match="neither a parameter nor a path"):
        load(EXAMPLES[0], overrides={f"probes.{'1' * 5000}.every": "1 s"})


@settings(max_examples=200)
@given(
    st.sampled_from(EXAMPLES),
    st.dictionaries(
        st.text(max_size=20), st.one_of(st.text(max_size=20), st.sampled_from(SCALARS))
    ),
)
def test_any_overrides(text: str, overrides: dict[str, str]) -> None:
    outcome(text, overrides)


@settings(max_examples=200)
@given(
    st.sampled_from(EXAMPLES),
    st.sampled_from(
        ["run.seed", "run.duration", "nodes", "links", "flows", "links.R1-R2.rate", "nodes[0]",
         "ports", "run", "name", "flows.tcp.size", "probes", "queue", "load"]
    ),
    st.sampled_from(SCALARS),
)  # fmt: skip
def test_known_overrides_of_any_value(text: str, key: str, value: str) -> None:
    outcome(text, {key: value})


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_prefix_of_an_example(text: str) -> None:
    for end in range(0, len(text), 97):
        outcome(text[:end] + "\n")

"""The contract: the types of a compiled network in Python against the structs of the engine.

``network.types`` is filled with an entry of every kind, which the engine reads strictly and writes
again. Where a key is unknown, or a word, the engine's error lists those it knows: these lists are
compared with the types, so neither side can have a key, a kind or a word that the other has not.
"""

from __future__ import annotations

import copy
import functools
import json
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

import pytest

import trunkline as tl
from trunkline import _core, network, study
from trunkline.network import types as types_of_network
from trunkline.network.compile import NETWORK_FORMAT
from trunkline.network.types import NetworkData, Protection
from trunkline.results.schemas import SCHEMAS
from trunkline.scenario.probe import FLOW_MEASURES, LINK_MEASURES
from trunkline.study.language.point_scenarios import load_point_scenario

EXAMPLES = sorted(Path(tl.__file__).parent.glob("examples/*.yaml"))
LENGTHS = {
    ("Classifier", "rows"): 2,
    ("Profile", "actions"): 3,
    ("Session", "diffserv"): 2,
    ("NodeSegment", "rows"): 2,
    ("LinkTe", "unreserved_bit_s"): 8,
    ("NetworkData", "ecn_in_mpls"): 2,
}
"""Lists whose length is fixed."""
TAGS = ("kind", "protocol")
"""Keys whose word says which keys there are beside it."""

Place = tuple[str | int, ...]


@functools.cache
def hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def is_dict(kind: Any) -> bool:
    return hasattr(kind, "__required_keys__")


@functools.cache
def alternatives(kind: Any) -> list[Any]:
    """The members of a union, those of its members too; a kind alone is its own."""
    if get_origin(kind) is NotRequired:
        return alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return [one for member in get_args(kind) for one in alternatives(member)]
    return [kind]


def every(kind: Any, length: int | None = None) -> list[Any]:
    """Values of a kind that together hold all its keys, words and alternatives."""
    plain = {int: [3], float: [0.5], bool: [True], str: ["x"], type(None): [None]}
    if len(members := alternatives(kind)) > 1:
        return [value for member in members for value in every(member, length)]
    (kind,) = members
    if kind in plain:
        return plain[kind]
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    if get_origin(kind) is list:
        values = every(get_args(kind)[0], length)
        nested = get_origin(get_args(kind)[0]) is list
        return [(values * length)[:length] if length and not nested else values]
    columns = {
        key: every(found_value, LENGTHS.get((kind.__name__, key)))
        for key, found_value in hints(kind).items()
    }
    count = max(map(len, columns.values()), default=1)
    return [
        {key: values[row % len(values)] for key, values in columns.items()} for row in range(count)
    ]


def matching(value: Any, kind: Any) -> Any:
    """The alternative that a value is of, by its keys and the words that choose among them."""
    for one in alternatives(kind):
        if is_dict(one):
            found_value = hints(one)
            known = isinstance(value, dict) and value.keys() <= found_value.keys()
            if (
                known
                and all(
                    value.get(tag) in get_args(found_value[tag])
                    for tag in TAGS
                    if tag in found_value and get_origin(found_value[tag]) is Literal
                )
                and one.__required_keys__ <= value.keys()
            ):
                return one
        elif get_origin(one) is Literal:
            if value in get_args(one):
                return one
        elif isinstance(value, list) if get_origin(one) is list else type(value) is one:
            return one
    return None


def places(value: Any, kind: Any, at: Place = ()) -> Iterator[tuple[Place, Any, Any]]:
    """Every value inside another with its place and the kind it should be of."""
    yield at, value, kind
    one = matching(value, kind)
    if is_dict(one):
        for key, found_value in hints(one).items():
            if key in value:
                yield from places(value[key], found_value, (*at, key))
    elif get_origin(one) is list:
        for index, item in enumerate(value):
            yield from places(item, get_args(one)[0], (*at, index))


def misfits(value: Any) -> list[tuple[Place, Any]]:
    return [
        (at, found_value)
        for at, found_value, kind in places(value, NetworkData)
        if matching(found_value, kind) is None
    ]


def changed(value: Any, at: Place, to: Any) -> Any:
    """The value with something else at one place; what is not on the way there is shared."""
    made = copy.copy(value)
    if at[1:]:
        made[at[0]] = changed(value[at[0]], at[1:], to)
    elif to is ...:
        del made[at[0]]
    else:
        made[at[0]] = to
    return made


def refusal(value: Any) -> str:
    """What the engine says against a network; empty where it reads it."""
    try:
        _core.rewrite(json.dumps(value))
    except ValueError as error:
        return str(error)
    return ""


def listed(refused: str) -> set[str]:
    """Keys or words that the engine lists as known."""
    assert "expected" in refused or "there are no fields" in refused, refused
    return set(re.findall("`([^`]*)`", refused.partition("expected")[2]))


# Another format is refused before any key is looked at.
FILLED = [{**filled, "format": NETWORK_FORMAT} for filled in every(NetworkData)]


def structs() -> Iterator[tuple[Any, Place, Any, Any]]:
    """Every type once: a network that holds it, where, the value and the type."""
    seen = set()
    for filled in FILLED:
        for at, value, kind in places(filled, NetworkData):
            one = matching(value, kind)
            if is_dict(one) and (one, tags(value)) not in seen:
                seen.add((one, tags(value)))
                yield *around(filled, at), value, one


def around(filled: Any, at: Place) -> tuple[Any, Place]:
    """A network with little beside one place, and the place there; it is read in less time."""
    made = {
        key: [] if isinstance(value, list) and ("Network", key) not in LENGTHS else value
        for key, value in filled.items()
    }
    if not at:
        return made, at
    key, found_value = at[0], filled[at[0]]
    if isinstance(found_value, list) and made[key] == []:
        return {**made, key: [found_value[at[1]]]}, (key, 0, *at[2:])
    return {**made, key: found_value}, at


def tags(value: Any) -> tuple[Any, ...]:
    return tuple(value.get(tag) for tag in TAGS if isinstance(value.get(tag), str))


def test_the_engine_reads_and_writes_what_the_types_allow() -> None:
    for filled in FILLED:
        assert misfits(filled) == []
        assert json.loads(_core.rewrite(json.dumps(filled))) == filled


def test_each_struct_of_the_engine_has_the_keys_of_its_type() -> None:
    found = list(structs())
    assert len(found) > 60
    for filled, at, value, one in found:
        refused = refusal(changed(filled, (*at, "?"), 1))
        if one.__name__.endswith("Variant"):  # a word with its keys, as `{on-off: ...}`
            # The same said of text and of what was buffered to find a tag.
            assert re.search("map with a single key|expected value at", refused), refused
            continue
        assert "unknown field" in refused, (one, refused)
        chosen = {tag for tag in TAGS if isinstance(value.get(tag), str) and one is not Protection}
        assert listed(refused) == hints(one).keys() - chosen, one


def test_a_key_may_be_absent_or_null_only_where_the_engine_knows_what_that_means() -> None:
    for filled, at, _, one in structs():
        for key, kind in hints(one).items():
            without = refusal(changed(filled, (*at, key), ...))
            nothing = refusal(changed(filled, (*at, key), None))
            may_be_null = type(None) in alternatives(kind)
            if get_origin(kind) is NotRequired:
                assert without == "", (one, key)
            elif not may_be_null:
                assert "missing field" in without or "expected" in without, (one, key, without)
            assert (nothing == "") == may_be_null, (one, key, nothing)


def test_each_word_is_one_of_the_engine_and_each_of_the_engine_has_a_type() -> None:
    words: dict[Any, set[str]] = {}
    for filled, at, _, one in structs():
        for key, kind in hints(one).items():
            offered = {word for found_value in alternatives(kind) for word in words_of(found_value)}
            if not offered:
                continue
            value = changed(filled, (*at, key), "?")
            if key in TAGS and one is not Protection:
                # The tags of a union are spread over its types.
                parent = refusal(value)
                words.setdefault(frozenset(listed(parent)), set()).update(offered)
            else:
                assert listed(refusal(value)) == offered, (one, key)
    assert words
    for known, offered in words.items():
        assert known == offered


def words_of(kind: Any) -> set[str]:
    if get_origin(kind) is Literal:
        return set(get_args(kind))
    if is_dict(kind) and kind.__name__.endswith("Variant"):
        return set(hints(kind))
    return set()


def fits(written: str) -> None:
    """A compiled network is what its type says, as the engine sees it too."""
    compiled = json.loads(written)
    assert misfits(compiled) == []
    read = json.loads(_core.rewrite(written))
    assert misfits(read) == []
    assert holds(read, compiled)


def holds(total: Any, part: Any) -> bool:
    """Whether all of a part is in the whole."""
    if isinstance(part, dict):
        return all(
            key in total and holds(total[key], found_value) for key, found_value in part.items()
        )
    if isinstance(part, list):
        return len(total) == len(part) and all(map(holds, total, part))
    return bool(total == part)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_compiles_to_the_types(file: Path) -> None:
    fits(network.compile(tl.load(file)).to_json())


@pytest.mark.parametrize("name", study.list_study_names())
def test_each_table_of_a_study_compiles_to_the_types(name: str) -> None:
    found_value = study.find_study(name)
    for table in found_value.list_tables():
        _, values = list(table.points.items())[-1]
        fits(network.compile(load_point_scenario(found_value, table, values)).to_json())


def test_measures_are_those_of_the_engine() -> None:
    measure = hints(types_of_network.Probe)["measure"]
    assert set(get_args(measure)) == {*_core.FLOW_MEASURES, *_core.LINK_MEASURES}
    assert _core.FLOW_MEASURES == FLOW_MEASURES
    assert _core.LINK_MEASURES == LINK_MEASURES


TRANSLATED = {
    "drops": {"reverse"},
    "marks": {"reverse"},
    "colours": {"ingress"},
    "accounts": {"reverse"},
    "signalling": {"process"},
    "control": {"flow", "kind"},
    "messages": {"word"},
    "packets": {
        *("cwr", "ece", "reverse", "sack_1", "sack_2", "sack_3"),
        *("stack_1", "stack_2", "stack_3", "stack_4"),
    },
    "summary": {"packets_copied"},
    "transfers": {"floor_ns"},
    "completions": {
        *("kind", "upper_bytes"),
        *(f"slowdown_p{share}_milli" for share in (50, 90, 95, 99)),
    },
    "completion_times": {"kind", "upper_bytes"},
    "videos": {"rates_bit_s"},
    "echoes": {
        *("replies_sent", "replies_dropped"),
        *(f"{of}_{share}_ns" for of in ("rtt", "back") for share in ("p90", "p999")),
    },
}
"""Columns of the engine that the results show in other words."""
WORKED_OUT = {
    "series": {"precedence"},
    "packets": {"ack_bytes", "label", "labels", "seq_bytes"},
    "summary": {"measured_s"},
    "completions": {"unfinished"},
    "echoes": {
        *("requests", "lost", "lost_there", "lost_back", "reordered_there"),
        *(f"there_{which}_ns" for which in ("mean", "min", "max", "p50", "p95", "p99", "jitter")),
    },
}
"""Columns of the results that the network and other columns give."""


def test_the_columns_of_the_results_are_those_of_the_engine() -> None:
    """Each column of the engine is read, each that is counted comes from it, of the same kind."""
    loaded = tl.load(next(file for file in EXAMPLES if file.stem == "protected-ring"))
    compiled = json.loads(network.compile(loaded).to_json())
    compiled["run"] |= {"trace": True}
    raw = _core.run(json.dumps(compiled), 1)
    assert raw.keys() - {"routes", "labels"} == SCHEMAS.keys() - {"aggregates", "fairness", "lsps"}
    for table, columns in raw.items():
        fields = {field.name: field for field in SCHEMAS.get(table, ())}
        if fields:
            assert columns.keys() - fields.keys() == TRANSLATED.get(table, set()), table
        given = {
            name for name, field in fields.items() if field.origin in ("counted", "averaged")
        } - WORKED_OUT.get(table, set())
        assert given <= columns.keys(), table
        for name in given:
            assert (columns[name][0] == "f64") == (fields[name].kind == "f64"), (table, name)

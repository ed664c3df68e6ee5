"""The JSON Schema of study files: it knows the keys that the reader knows, and no other."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import json_schema_draft7
import pytest

from trunkline.scenario import ScenarioError
from trunkline.scenario.yaml_text import parse_yaml
from trunkline.study import find_study
from trunkline.study.language import catalogue
from trunkline.study.language.json_schema import build_study_schema

SCHEMA = build_study_schema()
# Beside the shipped studies: what none of them says.
SCENARIO = """
trunkline: 1
parameters: {load: 0.5, size: 500 B, rate: 1 Mbit/s}
nodes: [a, b]
links: {a-b: {rate: $rate, delay: 1 ms}}
flows:
  f: {agent: udp, from: a, to: b, rate: "${load * 0.5 Mbit/s}", size: $size, stop: 4 s}
probes: [{flow: all, measure: throughput, every: 1 s}]
run: {duration: 6 s}
"""
OWN = """
study: 1
name: own
title: Own
scenario: s.yaml
grid:
  load: {from: 0.25, to: 0.5, step: 0.25}
  rate: {from: 1 Mbit/s, to: 4 Mbit/s, count: 2, scale: log}
zip: [{a: [1], b: [2]}]
sample: {points: 2, seed: 3, ranges: {size: {from: 100 B, to: 1 kB, step: 100 B, scale: log}}}
columns:
  both: {series: {measure: throughput, targets: max}, of: f, unit: kbit/s, hidden: off, digits: 0}
  worst: {table: flows, measure: delay_p99_s, where: {flow: "*"}, over: max, unit: ms}
  sent: {table: flows, measure: packets_sent, where: {flow: f}, unit: packets}
  all: {series: {measure: throughput, time: all}, of: f, unit: kbit/s}
  half: {value: both / 2, unit: kbit/s}
sentences:
  - {where: section 1, says: it grows, claims: [more]}
  - {where: section 2, says: it is good, because: a matter of taste}
claims: [{name: more, says: more, that: both > 0, unit: kbit/s, table: "1"}]
variants:
  - {name: small, set: {size: 250 B}, runs: 2, tc: {script: t.tc, ports: {}, conditioners: {}}}
stated: [{parameter: a, value: 1, where: there}]
fitted:
  - parameter: b
    value: on
    reason: why
    set: off
    cases: ["1"]
    others: [2]
    prior: {mean: 1 ms, deviation: 1 ms}
fit: {tables: ["1"], set: {run.duration: 1 s}, runs: 3, variants: [small], misfit: off}
readings:
  - {says: other, tables: ["1"], instead: {"1": "1, small"}, columns: {half: half}}
  - {says: another, variant: small, reason: r}
judged: []
pictures:
  over: {kind: over-time, table: "1", columns: {all: f}, title: t, published: x, bins: 2}
  lines: {kind: lines, columns: [half], tables: {"1": a}, mark: 1, published: on, rows: []}
"""


def documents() -> dict[str, tuple[Path | None, dict[str, Any]]]:
    """What each study file says, with its folder."""
    found: dict[str, tuple[Path | None, dict[str, Any]]] = {"own": (None, plain(OWN))}
    for name in catalogue.list_study_names():
        folder = catalogue.STUDIES_FOLDER / name
        found[name] = (folder, plain((folder / "study.yaml").read_text("utf-8")))
    return found


def plain(text: str) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads(json.dumps(parse_yaml(text, "test")[0]))
    return expected


def mappings(value: Any, rule: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any, Any]]:
    """Place of each mapping of a document whose keys are known, the keys, and the mapping."""
    if not isinstance(rule, dict):
        return
    if "$ref" in rule:
        rule = json_schema_draft7.resolve_reference(rule, SCHEMA)
    for union in ("anyOf", "oneOf"):
        for each in rule.get(union, []):
            if each.keys() != {"required"} and json_schema_draft7.is_valid(value, each, SCHEMA):
                yield from mappings(value, each, at)
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from mappings(each, rule.get("items"), (*at, index))
    if isinstance(value, dict):
        known = rule.get("properties", {})
        if known:
            yield at, tuple(known), value
        for key, each in value.items():
            yield from mappings(each, known.get(key, rule.get("additionalProperties")), (*at, key))


DOCUMENTS = documents()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_study_files_are_valid(name: str) -> None:
    assert json_schema_draft7.is_valid(DOCUMENTS[name][1], SCHEMA, SCHEMA)


def test_every_key_of_the_schema_is_one_that_the_reader_takes() -> None:
    """Each stands in a study file that is read without a fault, where unknown keys are faults."""
    known: set[tuple[tuple[str, ...], str]] = set()
    expected: set[tuple[tuple[str, ...], str]] = set()
    for _, document in DOCUMENTS.values():
        for _, keys, value in mappings(document, SCHEMA):
            known |= {(keys, key) for key in keys}
            expected |= {(keys, key) for key in value}
    for rule in SCHEMA["definitions"].values():
        keys = tuple(rule["properties"])
        known |= {(keys, key) for key in keys}
    assert known == expected


def read(name: str, document: dict[str, Any], tmp_path: Path) -> None:
    folder, _ = DOCUMENTS[name]
    target = tmp_path / "study"
    shutil.rmtree(target, ignore_errors=True)
    if folder is not None:
        shutil.copytree(folder, target)
    else:
        target.mkdir()
        (target / "s.yaml").write_text(SCENARIO)
    (target / "study.yaml").write_text(json.dumps(document, indent=1))
    find_study(str(target))


def test_the_study_of_this_test_is_read(tmp_path: Path) -> None:
    read("own", DOCUMENTS["own"][1], tmp_path)


def test_the_reader_knows_the_keys_of_the_schema_in_every_place_and_no_other(
    tmp_path: Path,
) -> None:
    """A key that is not there is refused by both, and the reader lists the keys of the schema."""
    tried: set[tuple[str, ...]] = set()
    for name, (_, document) in DOCUMENTS.items():
        for at, keys, _ in mappings(document, SCHEMA):
            if keys in tried:
                continue
            tried.add(keys)
            wrong = copy.deepcopy(document)
            inner: Any = wrong
            for part in at:
                inner = inner[part]
            inner["odd"] = 1
            assert not json_schema_draft7.is_valid(wrong, SCHEMA, SCHEMA), at
            with pytest.raises(ScenarioError) as caught:
                read(name, wrong, tmp_path)
            lines = [each for each in caught.value.diagnostics if each.code == "unknown-key"]
            assert [set(each.allowed.split(", ")) for each in lines] == [set(keys)], at
            assert lines[0].line > 0
    assert len(tried) > len(SCHEMA["definitions"])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("study: 1", "study: 2"),
        ("scenario: s.yaml", ""),
        ("scenario: s.yaml", "scenario: s.yaml\ncases: {a: {title: t, scenario: s.yaml}}"),
        ("unit: packets", "unit: furlongs"),
        ("measure: throughput", "measure: thruput"),
        ("step: 0.25}", "step: 0.25, count: 2}"),
        ("points: 2,", "points: 0,"),
        ("[{a: [1], b: [2]}]", "[{a: [], b: [2]}]"),
        ("hidden: off", "hidden: perhaps"),
        ("kind: lines", "kind: linse"),
        ("bins: 2", "bins: 2.5"),
    ],
)
def test_a_fault_is_seen_by_schema_and_reader(right: str, wrong: str, tmp_path: Path) -> None:
    assert right in OWN
    document = plain(OWN.replace(right, wrong, 1))
    assert not json_schema_draft7.is_valid(document, SCHEMA, SCHEMA)
    with pytest.raises(ScenarioError):
        read("own", document, tmp_path)


def test_every_key_says_what_it_is() -> None:
    def unsaid(rule: Any, name: str) -> Iterator[str]:
        for key, each in rule.get("properties", {}).items():
            if not each.get("description"):
                yield f"{name}.{key}"

    elements = {"top": SCHEMA, **SCHEMA["definitions"]}
    assert [key for name, rule in elements.items() for key in unsaid(rule, name)] == []
    assert "[ns]" not in json.dumps(SCHEMA)


def test_only_keywords_of_draft_7_are_used_and_no_parameters() -> None:
    assert json_schema_draft7.list_keywords(SCHEMA) <= json_schema_draft7.KNOWN_KEYWORDS
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert r"^\\$" not in json.dumps(SCHEMA)

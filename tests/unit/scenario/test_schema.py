"""The JSON Schema for editors."""

import re
from importlib.resources import files
from typing import Any

import pytest

from trunkline.scenario import schema
from trunkline.scenario.text import parse

SCHEMA: dict[str, Any] = schema()
SCENARIOS = {
    f"{folder}/{each.name}": each.read_text(encoding="utf-8")
    for folder in ("examples", "studies/bhani1999")
    for each in files("trunkline").joinpath(folder).iterdir()
    if each.name.endswith(".yaml") and each.name not in ("study.yaml", "exhibits.yaml")
}
# Keywords of draft 7 that the schema may use: https://json-schema.org/draft-07.
KEYWORDS = {
    "$ref",
    "$schema",
    "additionalProperties",
    "anyOf",
    "const",
    "default",
    "definitions",
    "description",
    "enum",
    "examples",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
}
TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
}  # fmt: skip


def valid(value: Any, rule: dict[str, Any]) -> bool:
    """Validates by the keywords above, after the draft's own text."""
    if "$ref" in rule:
        rule = SCHEMA["definitions"][rule["$ref"].removeprefix("#/definitions/")]
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_a(value, kind) for kind in kinds):
        return False
    if "enum" in rule and value not in rule["enum"]:
        return False
    if "const" in rule and value != rule["const"]:
        return False
    if "anyOf" in rule and not any(valid(value, each) for each in rule["anyOf"]):
        return False
    if "oneOf" in rule and sum(valid(value, each) for each in rule["oneOf"]) != 1:
        return False
    if isinstance(value, str) and not re.search(rule.get("pattern", ""), value):
        return False
    if isinstance(value, int | float) and not (
        rule.get("minimum", value) <= value <= rule.get("maximum", value)
    ):
        return False
    if isinstance(value, list):
        return valid_list(value, rule)
    return valid_mapping(value, rule) if isinstance(value, dict) else True


def is_a(value: Any, kind: str) -> bool:
    if kind in ("integer", "number"):
        numbers = int if kind == "integer" else int | float
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def valid_list(value: list[Any], rule: dict[str, Any]) -> bool:
    if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
        return False
    items = rule.get("items", {})
    rules = items if isinstance(items, list) else [items] * len(value)
    return all(valid(each, its) for each, its in zip(value, rules, strict=False))


def valid_mapping(value: dict[str, Any], rule: dict[str, Any]) -> bool:
    known = rule.get("properties", {})
    if not set(rule.get("required", [])) <= set(value):
        return False
    for key, each in value.items():
        its = known.get(key, rule.get("additionalProperties", True))
        if its is False or (its is not True and not valid(each, its)):
            return False
    return True


@pytest.mark.parametrize("text", SCENARIOS.values(), ids=SCENARIOS)
def test_shipped_scenarios_are_valid(text: str) -> None:
    assert valid(parse(text, "test")[0], SCHEMA)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("rate: 10 Mbit/s", "rate: 10"),
        ("limit: $queue", "limt: $queue"),
        ("warm_up: 10 s", "warm_up: ten"),
        ("agent: tcp", "agent: tpc"),
        ("trunkline: 1", "trunkline: [1]"),
        ("measure: [cwnd, goodput]", "measure: [cwnd, godput]"),
    ],
)
def test_a_fault_in_a_shipped_scenario_is_seen(right: str, wrong: str) -> None:
    text = SCENARIOS["examples/hello.yaml"]
    assert right in text
    assert not valid(parse(text.replace(right, wrong), "test")[0], SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "nodes: {A: , B: {position: [0, 1]}}",
        "ports: {p: {queue: {aqm: drop-tail, limit: none}}}",
        "ports: {p: {queue: {aqm: $aqm, limit: [5 packets, 5 kB]}, classify: [{dscp: EF}]}}",
        "flows: {f: {agent: udp, from: A, to: B, size: {exponential: 500 B}, rate: $r}}",
        "flows: {f: {agent: tcp, from: A, to: B, delayed_ack: off, variant: $variant}}",
        "flows: {f: {agent: tcp, from: A, to: B, replicate: '${2 * n}'}}",
    ],
)
def test_short_forms_and_parameters_are_valid(text: str) -> None:
    document = parse(f"trunkline: 1\nrun: {{duration: 1 s}}\n{text}\n", "test")[0]
    assert valid({"nodes": ["A"]} | document, SCHEMA)


def test_only_keywords_of_draft_7_are_used() -> None:
    def keywords(rule: Any) -> set[str]:
        if isinstance(rule, list):
            return set().union(*(keywords(each) for each in rule))
        if not isinstance(rule, dict):
            return set()
        found = set(rule)
        for key, each in rule.items():
            if key in ("properties", "definitions"):
                found |= set().union(*(keywords(inner) for inner in each.values()))
            elif key not in ("default", "const", "enum", "examples"):
                found |= keywords(each)
        return found

    assert keywords(SCHEMA) <= KEYWORDS
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"

"""The JSON Schema for editors."""

from importlib.resources import files
from typing import Any

import json_schema_draft7
import pytest

from trunkline.scenario import schema
from trunkline.scenario.yaml_text import parse_yaml

SCHEMA: dict[str, Any] = schema()
SCENARIOS = {
    f"{folder}/{each.name}": each.read_text(encoding="utf-8")
    for folder in ("examples", "studies/bhani1999")
    for each in files("trunkline").joinpath(folder).iterdir()
    if each.name.endswith(".yaml") and each.name not in ("study.yaml", "exhibits.yaml")
}


def valid(document: Any) -> bool:
    return json_schema_draft7.is_valid(document, SCHEMA, SCHEMA)


@pytest.mark.parametrize("text", SCENARIOS.values(), ids=SCENARIOS)
def test_shipped_scenarios_are_valid(text: str) -> None:
    assert valid(parse_yaml(text, "test")[0])


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
    assert not valid(parse_yaml(text.replace(right, wrong), "test")[0])


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
    document = parse_yaml(f"trunkline: 1\nrun: {{duration: 1 s}}\n{text}\n", "test")[0]
    assert valid({"nodes": ["A"]} | document)


def test_only_keywords_of_draft_7_are_used() -> None:
    assert json_schema_draft7.list_keywords(SCHEMA) <= json_schema_draft7.KNOWN_KEYWORDS
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"

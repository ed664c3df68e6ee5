"""JSON Schema, draft 7, as far as our schemas use it, after the draft's own text."""

from __future__ import annotations

import re
from typing import Any

# https://json-schema.org/draft-07
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
    "minProperties",
    "minimum",
    "oneOf",
    "pattern",
    "properties",
    "propertyNames",
    "required",
    "title",
    "type",
}
TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
}  # fmt: skip


def valid(value: Any, rule: dict[str, Any], root: dict[str, Any]) -> bool:
    """Whether a value is what a rule of the schema `root` wants."""
    if "$ref" in rule:
        rule = resolved(rule, root)
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_a(value, kind) for kind in kinds):
        return False
    if "enum" in rule and value not in rule["enum"]:
        return False
    if "const" in rule and value != rule["const"]:
        return False
    if "anyOf" in rule and not any(valid(value, each, root) for each in rule["anyOf"]):
        return False
    if "oneOf" in rule and sum(valid(value, each, root) for each in rule["oneOf"]) != 1:
        return False
    if isinstance(value, str) and not re.search(rule.get("pattern", ""), value):
        return False
    if is_a(value, "number") and not (
        rule.get("minimum", value) <= value <= rule.get("maximum", value)
        and (value > rule["exclusiveMinimum"] if "exclusiveMinimum" in rule else True)
    ):
        return False
    if isinstance(value, list):
        return valid_list(value, rule, root)
    return valid_mapping(value, rule, root) if isinstance(value, dict) else True


def resolved(rule: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The rule that a reference stands for."""
    found: dict[str, Any] = root["definitions"][rule["$ref"].removeprefix("#/definitions/")]
    return found


def is_a(value: Any, kind: str) -> bool:
    if kind in ("integer", "number"):
        numbers = int if kind == "integer" else int | float
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def valid_list(value: list[Any], rule: dict[str, Any], root: dict[str, Any]) -> bool:
    if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
        return False
    items = rule.get("items", {})
    rules = items if isinstance(items, list) else [items] * len(value)
    return all(valid(each, its, root) for each, its in zip(value, rules, strict=False))


def valid_mapping(value: dict[str, Any], rule: dict[str, Any], root: dict[str, Any]) -> bool:
    known = rule.get("properties", {})
    if not set(rule.get("required", [])) <= set(value):
        return False
    if len(value) < rule.get("minProperties", 0):
        return False
    if not all(valid(key, rule.get("propertyNames", {}), root) for key in value):
        return False
    for key, each in value.items():
        its = known.get(key, rule.get("additionalProperties", True))
        if its is False or (its is not True and not valid(each, its, root)):
            return False
    return True


def keywords(rule: Any) -> set[str]:
    """Every keyword that a schema uses."""
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

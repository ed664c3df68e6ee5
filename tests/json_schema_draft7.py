"""JSON Schema, draft 7, as far as our schemas use it, after the draft's own text."""

from __future__ import annotations

import re
from typing import Any

# https://json-schema.org/draft-07
KNOWN_KEYWORDS = {
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
PYTHON_TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
}  # fmt: skip


def is_valid(value: Any, rule: dict[str, Any], root: dict[str, Any]) -> bool:
    """Whether a value is what a rule of the schema `root` wants."""
    if "$ref" in rule:
        rule = resolve_reference(rule, root)
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(has_type(value, kind) for kind in kinds):
        return False
    if "enum" in rule and value not in rule["enum"]:
        return False
    if "const" in rule and value != rule["const"]:
        return False
    if "anyOf" in rule and not any(is_valid(value, each, root) for each in rule["anyOf"]):
        return False
    if "oneOf" in rule and sum(is_valid(value, each, root) for each in rule["oneOf"]) != 1:
        return False
    if isinstance(value, str) and not re.search(rule.get("pattern", ""), value):
        return False
    if has_type(value, "number") and not (
        rule.get("minimum", value) <= value <= rule.get("maximum", value)
        and (value > rule["exclusiveMinimum"] if "exclusiveMinimum" in rule else True)
    ):
        return False
    if isinstance(value, list):
        return is_valid_list(value, rule, root)
    return is_valid_mapping(value, rule, root) if isinstance(value, dict) else True


def resolve_reference(rule: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The rule that a reference stands for."""
    found: dict[str, Any] = root["definitions"][rule["$ref"].removeprefix("#/definitions/")]
    return found


def has_type(value: Any, kind: str) -> bool:
    if kind in ("integer", "number"):
        numbers = int if kind == "integer" else int | float
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, PYTHON_TYPES[kind])


def is_valid_list(value: list[Any], rule: dict[str, Any], root: dict[str, Any]) -> bool:
    if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
        return False
    items = rule.get("items", {})
    rules = items if isinstance(items, list) else [items] * len(value)
    return all(
        is_valid(item, item_rule, root) for item, item_rule in zip(value, rules, strict=False)
    )


def is_valid_mapping(value: dict[str, Any], rule: dict[str, Any], root: dict[str, Any]) -> bool:
    properties = rule.get("properties", {})
    if not set(rule.get("required", [])) <= set(value):
        return False
    if len(value) < rule.get("minProperties", 0):
        return False
    if not all(is_valid(key, rule.get("propertyNames", {}), root) for key in value):
        return False
    for key, item in value.items():
        key_rule = properties.get(key, rule.get("additionalProperties", True))
        if key_rule is False or (key_rule is not True and not is_valid(item, key_rule, root)):
            return False
    return True


def list_keywords(rule: Any) -> set[str]:
    """Every keyword that a schema uses."""
    if isinstance(rule, list):
        return set().union(*(list_keywords(each) for each in rule))
    if not isinstance(rule, dict):
        return set()
    found = set(rule)
    for key, each in rule.items():
        if key in ("properties", "definitions"):
            found |= set().union(*(list_keywords(inner) for inner in each.values()))
        elif key not in ("default", "const", "enum", "examples"):
            found |= list_keywords(each)
    return found

"""JSON Schema of the language, for editors."""

from typing import Any

from trunkline.scenario.scenario import Scenario

_DRAFT7_WORDS = {"$defs": "definitions", "prefixItems": "items"}
_PARAMETER_SCHEMA = {"type": "string", "pattern": r"^\$"}
_DESCRIPTIVE_KEYS = ("description", "default", "title")


def schema() -> dict[str, Any]:
    """JSON Schema of a scenario file, in keywords that draft 7 has.

    Returns
    -------
    dict
        Ready for ``json.dumps``.
    """
    document: dict[str, Any] = convert_to_draft7(Scenario.model_json_schema(by_alias=True))
    for element in [document, *document["definitions"].values()]:
        element["properties"] = {
            key: _allow_parameter(each) for key, each in element.get("properties", {}).items()
        }
    document["properties"]["parameters"] = {
        "type": "object",
        "description": document["properties"]["parameters"]["description"],
        "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
    }
    document["required"] = ["trunkline", *document["required"]]
    document["$schema"] = "http://json-schema.org/draft-07/schema#"
    document["title"] = "Trunkline scenario"
    return document


def convert_to_draft7(value: Any) -> Any:
    """A schema in words of draft 7, before 2020-12 moved ``$defs`` and ``prefixItems``."""
    if isinstance(value, list):
        return [convert_to_draft7(each) for each in value]
    if not isinstance(value, dict):
        return value.replace("#/$defs/", "#/definitions/") if isinstance(value, str) else value
    result: dict[str, Any] = {}
    for key, each in value.items():
        if key != "discriminator":
            result[_DRAFT7_WORDS.get(str(key), str(key))] = convert_to_draft7(each)
    return result


def _allow_parameter(value: dict[str, Any]) -> dict[str, Any]:
    """The schema of a key whose value may be ``$name`` instead, if it can be a scalar."""
    if _accepts_parameter(value) or not _is_scalar(value):
        return value
    descriptive: dict[str, Any] = {key: value[key] for key in _DESCRIPTIVE_KEYS if key in value}
    bare = {key: each for key, each in value.items() if key not in descriptive}
    options = bare["anyOf"] if list(bare) == ["anyOf"] else [bare]
    return {"anyOf": [*options, _PARAMETER_SCHEMA], **descriptive}


def _accepts_parameter(value: dict[str, Any]) -> bool:
    if value.get("type") == "string" and "enum" not in value:
        return "pattern" not in value or r"^\$" in value["pattern"]
    return any(_accepts_parameter(each) for each in value.get("anyOf", []))


def _is_scalar(value: dict[str, Any]) -> bool:
    if "anyOf" in value:
        return any(_is_scalar(each) for each in value["anyOf"])
    return (
        "enum" in value
        or "const" in value
        or value.get("type")
        in (
            "integer",
            "number",
            "boolean",
            "string",
        )
    )

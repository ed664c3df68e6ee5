"""JSON Schema of the language, for editors."""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from trunkline.scenario.model import Scenario

__all__ = ["schema"]


def schema() -> dict[str, Any]:
    """JSON Schema of a scenario file, in keywords that draft 7 has.

    Returns
    -------
    dict
        Ready for ``json.dumps``.
    """
    generated = Scenario.model_json_schema(
        by_alias=True, schema_generator=GenerateJsonSchema, mode="validation"
    )
    document: dict[str, Any] = _draft7(generated)
    document["$schema"] = "http://json-schema.org/draft-07/schema#"
    document["title"] = "Trunkline scenario"
    return document


_RENAMED: dict[str, str] = {"$defs": "definitions", "prefixItems": "items"}


def _draft7(value: Any) -> Any:
    """Renames what draft 2020-12 moved: ``$defs``, ``prefixItems``, ``discriminator``."""
    if isinstance(value, list):
        return [_draft7(each) for each in value]
    if not isinstance(value, dict):
        return value.replace("#/$defs/", "#/definitions/") if isinstance(value, str) else value
    result: dict[str, Any] = {}
    for key, each in value.items():
        if key == "discriminator":
            continue
        result[_RENAMED.get(str(key), str(key))] = _draft7(each)
    return result

"""Ready-made port configurations: the YAML files of the folder ``presets``."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from trunkline.scenario.diagnostic import suggest_nearest
from trunkline.scenario.fields import describe_value, make_invalid_error

PRESETS_FOLDER = Path(__file__).parent / "presets"


@cache
def list_presets() -> tuple[str, ...]:
    """List the names of the presets, sorted."""
    return tuple(sorted(path.stem for path in PRESETS_FOLDER.glob("*.yaml")))


@cache
def _read_preset(name: str) -> dict[str, Any]:
    preset: dict[str, Any] = yaml.safe_load((PRESETS_FOLDER / f"{name}.yaml").read_text("utf-8"))
    return preset


def expand_preset(value: Any) -> Any:
    """A port as written with the keys of its preset added.

    value: object; the port; anything but a mapping with a known ``preset`` comes back unchanged.
    Returns: object; keys of the port win; ``classes`` and their keys are merged by name, and a
        class set to null is left out, with the preset's rules for it.
    """
    if not isinstance(value, Mapping) or value.get("preset") not in list_presets():
        return value
    base = _read_preset(str(value["preset"]))
    port = _merge_preset(base, value)
    if "classify" not in value and isinstance(port.get("classes"), Mapping):
        removed_classes = set(base["classes"]) - set(port["classes"])
        port["classify"] = [
            rule for rule in base["classify"] if rule.get("class") not in removed_classes
        ]
    return port


def _merge_preset(base: Mapping[str, Any], port: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, each in port.items():
        base_value = result.get(key)
        if each is None and key in base:
            del result[key]
        elif isinstance(base_value, Mapping) and isinstance(each, Mapping):
            # An AQM of another kind shares no keys with the preset's.
            is_other_kind = "kind" in each and each["kind"] != base_value.get("kind")
            result[key] = dict(each) if is_other_kind else _merge_preset(base_value, each)
        else:
            result[key] = each
    return result


class PresetField:
    """Marks a field that holds the name of a preset."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(_validate_preset, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "string", "enum": list(list_presets())}


def _validate_preset(value: Any) -> Any:
    if value in list_presets():
        return value
    raise make_invalid_error(
        "choice",
        "there is no such preset",
        given=describe_value(value),
        allowed=", ".join(list_presets()),
        hint=suggest_nearest(str(value), list_presets()),
    )

"""Ready-made port configurations: the YAML files of the folder ``presets``."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from trunkline.scenario.diagnostic import nearest
from trunkline.scenario.fields import invalid, kind

FOLDER = Path(__file__).parent / "presets"


@cache
def names() -> tuple[str, ...]:
    """Names of the presets, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@cache
def _read(name: str) -> dict[str, Any]:
    said: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    return said


def expand(value: Any) -> Any:
    """A port as written with the keys of its preset added.

    Parameters
    ----------
    value : object
        The port; anything but a mapping with a known ``preset`` comes back as it is.

    Returns
    -------
    object
        Keys of the port win; ``classes`` and what is in each are merged by name, and a class set
        to null is left out, with the preset's rules for it.
    """
    if not isinstance(value, Mapping) or value.get("preset") not in names():
        return value
    base = _read(str(value["preset"]))
    port = _merged(base, value)
    if "classify" not in value and isinstance(port.get("classes"), Mapping):
        gone = set(base["classes"]) - set(port["classes"])
        port["classify"] = [rule for rule in base["classify"] if rule.get("class") not in gone]
    return port


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, each in own.items():
        mine = result.get(key)
        if each is None and key in base:
            del result[key]
        elif isinstance(mine, Mapping) and isinstance(each, Mapping):
            # An AQM of another kind shares no keys with the preset's.
            other = "kind" in each and each["kind"] != mine.get("kind")
            result[key] = dict(each) if other else _merged(mine, each)
        else:
            result[key] = each
    return result


class Preset:
    """Marks a field that holds the name of a preset."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(_known, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "string", "enum": list(names())}


def _known(value: Any) -> Any:
    if value in names():
        return value
    raise invalid(
        "choice",
        "there is no such preset",
        given=kind(value),
        allowed=", ".join(names()),
        hint=nearest(str(value), names()),
    )

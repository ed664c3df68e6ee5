"""Base of all parts of a study file: how they are read, and their texts for editors."""

import inspect
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema


class StudyPart(BaseModel):
    """A part of a study file: unknown keys are errors, nothing changes after loading.

    The parameters of a part's docstring are the keys that a file may have there.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        schema: dict[str, Any] = handler.resolve_ref_schema(handler(core))
        docstring = inspect.cleandoc(cls.__doc__ or "")
        schema["description"] = _format_for_editor(docstring.partition("\n\n")[0])
        descriptions = _parse_parameter_docs(docstring)
        for name, field in cls.model_fields.items():
            schema["properties"][field.alias or name]["description"] = descriptions[name]
        return schema


def _parse_parameter_docs(docstring: str) -> dict[str, str]:
    """Parse the description of each parameter from a docstring."""
    listed = docstring.partition("Parameters\n----------\n")[2]
    descriptions: dict[str, str] = {}
    names: list[str] = []
    for line in listed.splitlines():
        if line and not line.startswith(" "):
            names = line.partition(" : ")[0].split(", ")
        for name in names if line.startswith(" ") else ():
            descriptions[name] = _format_for_editor(f"{descriptions.get(name, '')} {line}")
    return descriptions


def _format_for_editor(text: str) -> str:
    """Text as an editor shows it: a file has times with their units, not integers [ns]."""
    return " ".join(text.replace("``", "`").replace(" [ns]", "").split())


def _to_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


ParameterText = Annotated[
    str,
    BeforeValidator(_to_text),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
"""Value of a parameter, as a scenario file has it; a number or a switch does not change."""

"""What all parts of a study file share: how they are read, and what an editor shows of them."""

import inspect
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema


class Part(BaseModel):
    """A part of a study file: unknown keys are errors, nothing changes after loading.

    The parameters of a part's docstring are the keys that a file may have there.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        made: dict[str, Any] = handler.resolve_ref_schema(handler(core))
        said = inspect.cleandoc(cls.__doc__ or "")
        made["description"] = _plain(said.partition("\n\n")[0])
        about = _parameters(said)
        for name, field in cls.model_fields.items():
            made["properties"][field.alias or name]["description"] = about[name]
        return made


def _parameters(docstring: str) -> dict[str, str]:
    """What a docstring says of each parameter."""
    listed = docstring.partition("Parameters\n----------\n")[2]
    about: dict[str, str] = {}
    names: list[str] = []
    for line in listed.splitlines():
        if line and not line.startswith(" "):
            names = line.partition(" : ")[0].split(", ")
        for name in names if line.startswith(" ") else ():
            about[name] = _plain(f"{about.get(name, '')} {line}")
    return about


def _plain(text: str) -> str:
    """Text as an editor shows it: a file has times with their units, not integers [ns]."""
    return " ".join(text.replace("``", "`").replace(" [ns]", "").split())


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


Given = Annotated[
    str,
    BeforeValidator(_text),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
"""Value of a parameter, as a scenario file has it; a number or a switch stands as it is."""

"""Lessons: text, tasks and hints that turn a scenario into an exercise that checks itself."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from trunkline.scenario.base import Element
from trunkline.scenario.fields import (
    Name,
    NameReferences,
    OneOrMany,
    PlainInteger,
    is_numeric,
    write_scalar,
)


def _accept_scalar(value: Any) -> Any:
    return write_scalar(value) if isinstance(value, bool) or is_numeric(value) else value


OfferedValue = Annotated[
    str, BeforeValidator(_accept_scalar), WithJsonSchema({"type": ["string", "number", "boolean"]})
]


class LessonTask(Element):
    """Something for the reader to reach, or a question with one right answer."""

    ask: str = Field(description="What to reach or to answer, in Markdown.")
    targets: NameReferences | None = Field(
        default=None, description="Agreements of `slas` that a run must keep."
    )
    choices: OneOrMany[OfferedValue] | None = Field(
        default=None, description="Instead of targets: answers to choose from."
    )
    answer: Annotated[int, PlainInteger("the number of a choice", 1, 20)] | None = Field(
        default=None, description="Number of the right choice, from 1."
    )
    hint: str = Field(default="", description="What to show a reader who asks for help.")


class Lesson(Element):
    """What a page of `trunkline share` says and asks; it never changes a run."""

    text: str = Field(default="", description="What the lesson is about, in Markdown.")
    offer: dict[Name, OneOrMany[OfferedValue]] = Field(
        default={}, description="Values to offer of parameters, in place of a slider's."
    )
    tasks: dict[Name, LessonTask] = Field(default={}, description="Tasks by name.")

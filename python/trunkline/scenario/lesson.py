"""Lessons: text, tasks and hints that turn a scenario into an exercise that checks itself."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from trunkline.scenario.base import Element
from trunkline.scenario.fields import (
    Name,
    NameReferences,
    OneOrMany,
    PlainInteger,
    default,
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

    ask: str = Field(description="Task or question, in Markdown.")
    targets: NameReferences | None = default(None, "Agreements of `slas` that a run must keep.")
    choices: OneOrMany[OfferedValue] | None = default(
        None, "Instead of targets: answers to choose from."
    )
    answer: Annotated[int, PlainInteger("the number of a choice", 1, 20)] | None = default(
        None, "Number of the right choice, from 1."
    )
    hint: str = default("", "Text for a reader who asks for help.")


class Lesson(Element):
    """Texts and questions of a page of `trunkline share`; they never change a run."""

    text: str = default("", "Subject of the lesson, in Markdown.")
    offer: dict[Name, OneOrMany[OfferedValue]] = default(
        {}, "Values to offer of parameters, in place of a slider's."
    )
    tasks: dict[Name, LessonTask] = default({}, "Tasks by name.")

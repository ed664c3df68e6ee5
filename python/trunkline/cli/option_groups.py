"""Decorators that add several options to a command."""

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar, cast

DecoratedFunction = TypeVar("DecoratedFunction", bound=Callable[..., Any])
Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def combine_options(*options: Option) -> Callable[[DecoratedFunction], DecoratedFunction]:
    """Make a decorator that adds options, in the order in which help lists them."""

    def add(function: DecoratedFunction) -> DecoratedFunction:
        for option in reversed(options):
            function = cast(DecoratedFunction, option(function))
        return function

    return add


def gather_options(
    name: str, options_class: type[Any], *options: Option
) -> Callable[[DecoratedFunction], DecoratedFunction]:
    """Make a decorator that adds options, which the command takes as one argument.

    name: Name of the argument.
    options_class: dataclass; class of the argument, with a field for each option.
    """

    def add(function: DecoratedFunction) -> DecoratedFunction:
        @functools.wraps(function)
        def wrapped(*arguments: Any, **option_values: Any) -> Any:
            gathered_options = options_class(
                **{field.name: option_values.pop(field.name) for field in fields(options_class)}
            )
            return function(*arguments, **{name: gathered_options}, **option_values)

        return cast(DecoratedFunction, combine_options(*options)(wrapped))

    return add

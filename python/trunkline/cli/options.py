"""Options that several commands have, put together."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def together(*options: Option) -> Callable[[F], F]:
    """A decorator that adds options, in the order in which help lists them."""

    def add(function: F) -> F:
        for option in reversed(options):
            function = cast(F, option(function))
        return function

    return add


def gathered(name: str, kind: type[Any], *options: Option) -> Callable[[F], F]:
    """A decorator that adds options, which the command takes as one argument.

    Parameters
    ----------
    name : str
        The argument.
    kind : dataclass
        Has a field for each option.
    """

    def add(function: F) -> F:
        @functools.wraps(function)
        def called(*arguments: Any, **given: Any) -> Any:
            its = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            return function(*arguments, **{name: its}, **given)

        return cast(F, together(*options)(called))

    return add

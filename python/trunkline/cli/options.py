"""Options that several commands have, put together."""

from collections.abc import Callable
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

"""Command groups that suggest a command for an unknown word."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator


class CommandGroup(click.Group):
    """A group that suggests the most likely command for an unknown word.

    It suggests a command of this name in another group, such as ``trunkline doctor`` for
    ``trunkline linux doctor``, else the command of this group with the nearest name.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name, and the arguments after it."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            hint = self._find_likely(ctx, args[0])
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def _find_likely(self, ctx: click.Context, word: str) -> str:
        root = ctx.find_root()
        assert isinstance(root.command, click.Group)
        found = [
            path for path in _list_commands(root.command, root) if path.rpartition(" ")[2] == word
        ]
        likely = [f"{root.info_name} {path}" for path in found]
        likely = likely or difflib.get_close_matches(word, self.list_commands(ctx), 1)
        return f" Did you mean {' or '.join(map(repr, likely))}?" if likely else ""


def _list_commands(group: click.Group, ctx: click.Context) -> Iterator[str]:
    """Yield each command with its groups: ``run``, ``linux setup``."""
    for name in group.list_commands(ctx):
        yield name
        command = group.get_command(ctx, name)
        if isinstance(command, click.Group):
            for path in _list_commands(command, ctx):
                yield f"{name} {path}"

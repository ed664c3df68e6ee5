"""The account of an import on the command line: ``--explain``, ``--strict`` and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.option_groups import combine_options
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from trunkline.importers.common.account import ImportAccount

account_options = combine_options(
    click.option(
        "--explain",
        is_flag=True,
        help="Print what was read, left out and assumed, in place of the result.",
    ),
    click.option(
        "--strict", is_flag=True, help="Anything left out is an error; nothing is written."
    ),
)


class ImportRefused(click.ClickException):
    """A file that cannot be imported."""

    exit_code = Status.USAGE

    def show(self, file: Any = None) -> None:
        """Print the message in the form of scenario errors."""
        from trunkline.scenario.diagnostic import escape_unprintable

        for line in self.message.splitlines():
            place, _, message = line.partition(": ")
            click.echo(
                escape_unprintable(f"{place}: error[import]: {message}"), file=file, err=True
            )


def refuse_left_out(account: ImportAccount, file: str) -> None:
    """Refuse an import that leaves anything out, each with its place (``--strict``).

    Raises ImportRefused: Something was left out.
    """
    lines = [
        f"{file}{f':{each.line}:1' if each.line else ''}: left out: {each.render()}"
        for each in account.left_out
    ]
    if lines:
        raise ImportRefused("\n".join(lines))


def echo_account(account: ImportAccount) -> None:
    """Print a line for each entry (``--explain``)."""
    for line in account.render_lines():
        click.echo(line)


def echo_left_out_count(account: ImportAccount) -> None:
    """Say on standard error how much was left out, if anything was."""
    count = sum(each.count for each in account.left_out)
    if count:
        noun = "element" if count == 1 else "elements"
        click.echo(f"{count} {noun} of the file left out; --explain lists them", err=True)

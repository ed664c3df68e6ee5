"""``trunkline examples``: runnable, explained scenarios that come with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli.command_group import CommandGroup
from trunkline.cli.common import EXAMPLE_SUFFIX, echo_json, list_example_files

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# The first lines of the examples name this file.
SCHEMA_FILE = "scenario.schema.json"


def get_title(text: str) -> str:
    """Return the first line of a scenario's header comment, without the ``#``."""
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        words = line.lstrip("# ").strip()
        if words and not words.startswith("yaml-language-server"):
            return words
    return ""


def find_example(name: str) -> Traversable:
    """Find an example by its name, with or without the file ending.

    Raises click.UsageError: There is no example of this name; the message has the nearest name.
    """
    import difflib

    examples_by_name = list_example_files()
    bare_name = name.removesuffix(EXAMPLE_SUFFIX)
    if bare_name in examples_by_name:
        return examples_by_name[bare_name]
    near = difflib.get_close_matches(bare_name, examples_by_name, 1)
    hint = f" Did you mean {near[0]!r}?" if near else f" There are {', '.join(examples_by_name)}."
    raise click.UsageError(f"No such example {name!r}.{hint}")


@click.group(
    "examples",
    cls=CommandGroup,
    short_help="List, show or copy explained scenarios.",
    invoke_without_command=True,
)
@click.pass_context
def command(context: click.Context) -> None:
    """List, show or copy explained scenarios that you can run."""
    if context.invoked_subcommand is None:
        context.invoke(list_examples)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def list_examples(as_json: bool = False) -> None:
    """List the examples with their titles."""
    titles = {
        name: get_title(file.read_text("utf-8")) for name, file in list_example_files().items()
    }
    if as_json:
        echo_json({"schema": 1, "examples": [{"name": n, "title": t} for n, t in titles.items()]})
        return
    width = max(map(len, titles), default=0)
    for name, text in titles.items():
        click.echo(f"{name:<{width}}  {text}".rstrip())


@command.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Print the example NAME."""
    click.echo(find_example(name).read_text("utf-8"), nl=False)


@command.command("copy", short_help="Copy the example NAME into a folder.")
@click.argument("name")
@click.argument("directory", required=False, default=".", type=click.Path(file_okay=False))
def copy(name: str, directory: str) -> None:
    """Copy the example NAME into DIRECTORY (default: here); never replace an existing file."""
    from pathlib import Path

    source = find_example(name)
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / source.name
    try:
        with target.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(source.read_text("utf-8"))
    except FileExistsError:
        raise click.UsageError(f"{target} exists and was not replaced.") from None
    click.echo(str(target))
    click.echo(f"next: trunkline run {target}", err=True)
    if not (folder / SCHEMA_FILE).exists():
        hint = f"trunkline schema > {folder / SCHEMA_FILE}"
        click.echo(f"so that your editor completes and checks it: {hint}", err=True)

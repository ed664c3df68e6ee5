"""``trunkline examples``: runnable, explained scenarios that come with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli.common import echo_json

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

ENDING = ".yaml"
# The name under which the examples' first lines look for the schema.
SCHEMA = "scenario.schema.json"


def examples() -> dict[str, Traversable]:
    """The example scenarios by name.

    Returns
    -------
    dict of str to Traversable
        Sorted by name.
    """
    from importlib.resources import files

    found = files("trunkline").joinpath("examples").iterdir()
    return {f.name.removesuffix(ENDING): f for f in sorted(found, key=_name) if _is_example(f)}


def _name(file: Traversable) -> str:
    return file.name


def _is_example(file: Traversable) -> bool:
    return file.is_file() and file.name.endswith(ENDING)


def title(text: str) -> str:
    """First line of a scenario's header comment, without the sign."""
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        words = line.lstrip("# ").strip()
        if words and not words.startswith("yaml-language-server"):
            return words
    return ""


def find(name: str) -> Traversable:
    """An example by name.

    Parameters
    ----------
    name : str
        Its name, with or without the ending.

    Raises
    ------
    click.UsageError
        There is none; the nearest name is given.
    """
    import difflib

    have = examples()
    wanted = name.removesuffix(ENDING)
    if wanted in have:
        return have[wanted]
    near = difflib.get_close_matches(wanted, have, 1)
    hint = f" Did you mean {near[0]!r}?" if near else f" There are {', '.join(have)}."
    raise click.UsageError(f"No such example {name!r}.{hint}")


@click.group(
    "examples", short_help="List, show or copy explained scenarios.", invoke_without_command=True
)
@click.pass_context
def command(context: click.Context) -> None:
    """List, show or copy explained scenarios that run as they are."""
    if context.invoked_subcommand is None:
        context.invoke(list_examples)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def list_examples(as_json: bool = False) -> None:
    """List the examples with a line about each."""
    titles = {name: title(file.read_text("utf-8")) for name, file in examples().items()}
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
    click.echo(find(name).read_text("utf-8"), nl=False)


@command.command("copy", short_help="Copy the example NAME into a folder.")
@click.argument("name")
@click.argument("directory", required=False, default=".", type=click.Path(file_okay=False))
def copy(name: str, directory: str) -> None:
    """Copy the example NAME into DIRECTORY (default: here); an existing file is never replaced."""
    from pathlib import Path

    source = find(name)
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / source.name
    try:
        with target.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(source.read_text("utf-8"))
    except FileExistsError:
        raise click.UsageError(f"{target} exists; it is left as it is.") from None
    click.echo(str(target))
    click.echo(f"now: trunkline run {target}", err=True)
    if not (folder / SCHEMA).exists():
        hint = f"trunkline schema > {folder / SCHEMA}"
        click.echo(f"for an editor that completes and checks: {hint}", err=True)

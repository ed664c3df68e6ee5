"""Check that JSON Schemas, page of keys and page of columns are those of the program now.

``python tools/schema.py --write`` brings all of them up to date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
HEAD = """\
# Keys of a scenario file

Made from the types of `python/trunkline/scenario` by `tools/schema.py`; not edited by hand. How the
parts work together is explained in [the scenario language](scenario-language.md). A key without a
default must be given, unless it says what its absence means. Any scalar may be a parameter:
`$name` or `${2 * name}`.
"""

COLUMNS = """\
# Columns of the results

Made from `python/trunkline/results/tables.py` by `tools/schema.py`; not edited by hand. What the
measures mean is explained in [measures](measures.md). A column is a *name*, *counted* by the engine
(integers, which the results hash covers), *averaged* by it, or *derived* from the others.
"""

# A quantity is known by the example in its schema; defaults are written in its unit.
UNITS = {
    "ms": ("a time", ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))),
    "Mbit/s": ("a rate", ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (1, "bit/s"))),
    "B": ("a size", ((1, "B"),)),
    "packets": ("packets", ((1, "packets"),)),
    "%": ("a share", ()),
}


def kind(schema: dict[str, Any]) -> str:
    """What a key takes, in a few words.

    Parameters
    ----------
    schema : dict
        Its schema.

    Returns
    -------
    str
    """
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2].removesuffix("Options")
        return f"[{name}](#{name.lower()})"
    if schema.get("examples"):
        example = str(schema["examples"][0])
        unit = example.rpartition(" ")[2]
        return f"{UNITS[unit][0]}, `{example}`" if unit in UNITS else f"`{example}`"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        if "AF11" in schema["enum"]:
            return "a DSCP by its RFC name"
        if "on" in schema["enum"]:
            return "`true` or `false`"
        return " or ".join(f"`{value}`" for value in schema["enum"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            words = [kind(each) for each in schema[union]]
            return " or ".join(dict.fromkeys(word for word in words if word))
    if schema.get("pattern") == "^\\$" or schema.get("type") == "null":
        return ""
    if schema.get("type") == "array":
        items = schema.get("items", {})
        return f"list of {(kind(items) if isinstance(items, dict) else '') or 'values'}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"names to {kind(inner)}" if isinstance(inner, dict) else "mapping"
    if schema.get("type") == "integer":
        low, high = schema.get("minimum", ""), schema.get("maximum", "")
        return f"whole number {low}..{high}".replace(" ..", "")
    plain = {"boolean": "`true` or `false`", "string": "text", "['string', 'integer']": "a name"}
    return plain.get(str(schema.get("type")), "value")


def default(schema: dict[str, Any]) -> str:
    """The default of a key as it would be written.

    Parameters
    ----------
    schema : dict
        Its schema.

    Returns
    -------
    str
        Empty if there is none.
    """
    value = schema.get("default")
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item is not None}
        if list(value) == ["packets"]:
            return f"`{value['packets']} packets`"
    if value is None or value in ({}, []):
        return ""
    options = [schema, *schema.get("anyOf", [])]
    for each in options:
        unit = str(each.get("examples", [""])[0]).rpartition(" ")[2]
        if unit == "%" and isinstance(value, float):
            return f"`{100 * value:g} %`"
        if unit in UNITS and isinstance(value, int) and not isinstance(value, bool):
            for size, name in UNITS[unit][1]:
                if value % size == 0:
                    return f"`{value // size} {name}`"
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def text(schema: dict[str, Any]) -> str:
    """A schema as its file holds it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def page(schema: dict[str, Any]) -> str:
    """The page of keys.

    Parameters
    ----------
    schema : dict
        Schema of a scenario file.

    Returns
    -------
    str
        Markdown.
    """
    parts = [HEAD, section("Top of the file", schema)]
    # What is only the keys of another section's elements without their ends is shown there.
    told = [name for name in schema["definitions"] if not name.endswith("Options")]
    parts += [section(name, schema["definitions"][name]) for name in told]
    return "\n".join(parts)


def section(title: str, schema: dict[str, Any]) -> str:
    """A table of keys.

    Parameters
    ----------
    title : str
        Its heading.
    schema : dict
        The mapping's schema.

    Returns
    -------
    str
        Markdown.
    """
    lines = [f"## {title}", ""]
    if title != "Top of the file" and "description" in schema:
        lines += [schema["description"], ""]
    lines += ["| key | takes | default | what |", "| --- | --- | --- | --- |"]
    required = schema.get("required", [])
    for key, each in schema.get("properties", {}).items():
        given = "must be given" if key in required else default(each)
        cells = [f"`{key}`", kind(each), given, each.get("description", "")]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*lines, ""])


def columns() -> str:
    """The page of the results' columns.

    Returns
    -------
    str
        Markdown.
    """
    from trunkline.results import SCHEMAS

    lines = [COLUMNS]
    for table, fields in SCHEMAS.items():
        lines += [f"## {table}", "", "| column | type | origin | what |"]
        lines.append("| --- | --- | --- | --- |")
        for each in fields:
            lines.append(f"| `{each.name}` | {each.kind} | {each.origin} | {each.about} |")
        lines.append("")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Compare or write.

    Parameters
    ----------
    arguments : list of str
        ``--write`` or nothing.

    Returns
    -------
    int
        1 if a file differs.
    """
    from trunkline import scenario
    from trunkline.study.language import json_schema as study

    about: dict[str, Any] = scenario.schema()
    files = {
        FOLDER / "scenario.schema.json": text(about),
        FOLDER / "study.schema.json": text(study.schema()),
        FOLDER / "scenario-keys.md": page(about),
        FOLDER / "results-columns.md": columns(),
    }
    drifted = []
    for file, now in files.items():
        if arguments == ["--write"]:
            file.write_text(now, encoding="utf-8", newline="\n")
        elif not file.is_file() or file.read_text("utf-8") != now:
            drifted.append(file.name)
    if drifted:
        print(f"not as the program is now: {', '.join(drifted)}")
        print("bring up to date: ./dev python tools/schema.py --write")
    return 1 if drifted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

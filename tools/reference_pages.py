"""Check that the schemas, the pages of keys and columns and the network's types are up to date.

``python tools/reference_pages.py --write`` brings all of them up to date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from network_types import TYPES_FILE, make_types

REFERENCE_FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
KEYS_PAGE_HEAD = """\
# Keys of a scenario file

Made from the types of `python/trunkline/scenario` by `tools/reference_pages.py`; not edited by
hand. How the parts work together is explained in [the scenario language](scenario-language.md). A
key without a default must be given, unless it says what its absence means. Any scalar may be a
parameter: `$name` or `${2 * name}`.
"""

COLUMNS_PAGE_HEAD = """\
# Columns of the results

Made from `python/trunkline/results/schemas.py` by `tools/reference_pages.py`; not edited by hand.
What the measures mean is explained in [measures](measures.md). A column is a *name*, *counted* by
the engine (integers, which the results hash covers), *averaged* by it, or *derived* from the
others. What averages nothing is [null](measures.md#null): where the count that a column names is 0
or null.
"""

# A quantity is known by the example in its schema; defaults are written in its unit.
UNITS = {
    "ms": ("a time", ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))),
    "Mbit/s": ("a rate", ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (1, "bit/s"))),
    "B": ("a size", ((1, "B"),)),
    "packets": ("packets", ((1, "packets"),)),
    "%": ("a share", ()),
}


def describe_kind(schema: dict[str, Any]) -> str:
    """Describe the values of a key in a few words."""
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
            words = [describe_kind(each) for each in schema[union]]
            return " or ".join(dict.fromkeys(word for word in words if word))
    if schema.get("pattern") == "^\\$" or schema.get("type") == "null":
        return ""
    if schema.get("type") == "array":
        items = schema.get("items", {})
        return f"list of {(describe_kind(items) if isinstance(items, dict) else '') or 'values'}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"names to {describe_kind(inner)}" if isinstance(inner, dict) else "mapping"
    if schema.get("type") == "integer":
        low, high = schema.get("minimum", ""), schema.get("maximum", "")
        return f"whole number {low}..{high}".replace(" ..", "")
    plain = {"boolean": "`true` or `false`", "string": "text", "['string', 'integer']": "a name"}
    return plain.get(str(schema.get("type")), "value")


def describe_default(schema: dict[str, Any]) -> str:
    """Describe the default of a key as it would be written.

    Returns: Empty if there is none.
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


def format_schema(schema: dict[str, Any]) -> str:
    """Format a schema as its file holds it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def make_keys_page(schema: dict[str, Any]) -> str:
    """Make the page of keys.

    schema: Schema of a scenario file.
    Returns: Markdown.
    """
    parts = [KEYS_PAGE_HEAD, make_section("Top of the file", schema)]
    # A type that only repeats keys of another section's elements is shown there.
    definitions = schema["definitions"]
    titles = {name: name.removesuffix("Options") for name in definitions}
    names = [name for name, title in titles.items() if name == title or title not in definitions]
    parts += [make_section(titles[name], definitions[name]) for name in names]
    return "\n".join(parts)


def make_section(title: str, schema: dict[str, Any]) -> str:
    """Make a table of keys.

    title: Its heading.
    schema: The mapping's schema.
    Returns: Markdown.
    """
    lines = [f"## {title}", ""]
    if title != "Top of the file" and "description" in schema:
        lines += [schema["description"], ""]
    lines += ["| key | takes | default | what |", "| --- | --- | --- | --- |"]
    required = schema.get("required", [])
    for key, each in schema.get("properties", {}).items():
        given = "must be given" if key in required else describe_default(each)
        cells = [f"`{key}`", describe_kind(each), given, each.get("description", "")]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*lines, ""])


def make_columns_page() -> str:
    """Make the page of the results' columns. Returns: Markdown."""
    from trunkline.results import SCHEMAS

    lines = [COLUMNS_PAGE_HEAD]
    for table, fields in SCHEMAS.items():
        lines += [f"## {table}", "", "| column | type | origin | what |"]
        lines.append("| --- | --- | --- | --- |")
        for each in fields:
            lines.append(f"| `{each.name}` | {each.kind} | {each.origin} | {each.definition} |")
        lines.append("")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Compare or write.

    arguments: ``--write`` or nothing.
    Returns: 1 if a file differs.
    """
    from trunkline import scenario
    from trunkline.study.language import json_schema as study

    scenario_schema: dict[str, Any] = scenario.schema()
    files = {
        REFERENCE_FOLDER / "scenario.schema.json": format_schema(scenario_schema),
        REFERENCE_FOLDER / "study.schema.json": format_schema(study.build_study_schema()),
        REFERENCE_FOLDER / "scenario-keys.md": make_keys_page(scenario_schema),
        REFERENCE_FOLDER / "results-columns.md": make_columns_page(),
        TYPES_FILE: make_types(),
    }
    drifted = []
    for file, current_text in files.items():
        if arguments == ["--write"]:
            file.write_text(current_text, encoding="utf-8", newline="\n")
        elif not file.is_file() or file.read_text("utf-8") != current_text:
            drifted.append(file.name)
    if drifted:
        print(f"not as the program is now: {', '.join(drifted)}")
        print("bring up to date: ./dev python tools/reference_pages.py --write")
    return 1 if drifted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

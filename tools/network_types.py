"""Derive the Python types of the compiled network from the structs that the engine reads.

The structs stand once, in Rust. This reads the items of the crates that serde deserializes, as
rustfmt lays them out, from ``Network`` downwards. `tools/reference_pages.py` compares and writes
the file; `tests/unit/network/test_contract.py` has the engine itself read values of the types.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from keyword import iskeyword
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = ("engine", "port", "agent", "control")
TYPES_FILE = ROOT / "python" / "trunkline" / "network" / "types.py"
HEAD = '''\
"""Types of the compiled network: the structs that the engine reads, key by key.

Made from the Rust structs by `tools/network_types.py`; not edited by hand. A network is plain JSON;
these types cost nothing at run time. Lists refer to each other by index. Times are nanoseconds,
sizes bytes, rates bit/s. The struct ``Network`` of ``crates/engine/src/network.rs``, and those that
it holds, explain each key.
"""

from typing import Literal, NotRequired, TypedDict
'''
# Types whose Rust name needs its module to say what they are, by file and name.
NAMES = {
    ("network.rs", "Network"): "NetworkData",
    ("network.rs", "Class"): "PortClass",
    ("network/queue.rs", "Flows"): "FlowQueues",
    ("network/recovery.rs", "Switch"): "EntrySwitch",
    ("network/scripted.rs", "Scripted"): "LostPacket",
    ("network/transfers.rs", "Opened"): "TransferSource",
    ("aqm/drop_curve.rs", "Curve"): "RedCurve",
    ("rsvp/config.rs", "Action"): "OperatorAction",
    ("rsvp/config.rs", "Apart"): "DisjointSession",
    ("rsvp/config.rs", "Attributes"): "LinkAttributes",
    ("rsvp/config.rs", "Binding"): "FecBinding",
    ("rsvp/config.rs", "Constraints"): "HeadConstraints",
    ("rsvp/config.rs", "Hop"): "SessionHop",
    ("rsvp/config.rs", "Order"): "OperatorOrder",
    ("rsvp/config.rs", "Protection"): "SessionProtection",
    ("rsvp/config.rs", "Requests"): "RandomRequests",
    ("udp/config.rs", "Size"): "DatagramSize",
    ("workload/config.rs", "OpenConfig"): "OpenTransfers",
    ("workload/config.rs", "PagesConfig"): "PageUsers",
    ("workload/config.rs", "VideoConfig"): "VideoPlayers",
    ("workload/config.rs", "Rule"): "LadderRule",
}
PLAIN_TYPES = {"bool": "bool", "String": "str", "f64": "float", "Span": "int", "Time": "int"}
INTEGER_TYPE = re.compile(r"[ui](8|16|32|64|size)")
ITEM = re.compile(
    r"^(?P<docs>(?:///.*\n)*)(?P<attributes>(?:#\[.*\]\n)+)"
    r"pub (?P<kind>struct|enum) (?P<name>\w+) \{(?P<body>\}|(?:\n(?!\}).*)*\n\})",
    re.MULTILINE,
)
FIELD = re.compile(r"(?P<attributes>(?:#\[.*\]\n\s*)*)(?:pub )?(?P<name>\w+): (?P<type>[^,]+),")
VARIANT = re.compile(
    r"(?P<attributes>(?:#\[.*\]\n\s*)*)(?P<name>[A-Z]\w*)"
    r"(?:\((?P<inner>[^)]*)\)|\s*\{(?P<body>[^{}]*)\})?,",
)
MACRO = re.compile(
    r"^macro_rules! (?P<name>\w+) \{.*?#\[derive\([^\n]*Deserialize\)\]\n"
    r"\s*(?P<attributes>#\[.*?\]\n)\s*pub enum (?P<enum>\w+) \{\s*\$\((?P<template>.*?)\),\+\s*\}",
    re.MULTILINE | re.DOTALL,
)
MACRO_ENTRY = re.compile(
    r'^    (?:"(?P<name>[^"]*)" )?(?P<variant>\w+)\(.*?, (?P<type>\w+)\)', re.M
)


@dataclass(frozen=True)
class RustItem:
    """A struct or an enum that serde deserializes."""

    file: str
    name: str
    summary: str  # First sentence of its description.
    attributes: str
    is_enum: bool
    body: str  # Without comments.

    def find_option(self, option: str) -> str | None:
        """Find the text of an option of serde such as ``tag``; None = not set."""
        found = re.search(rf'serde\([^\n]*\b{option} = "([^"]*)"', self.attributes)
        return found[1] if found else None

    @property
    def python_name(self) -> str:
        """Name of its Python type."""
        for (file, name), chosen in NAMES.items():
            if name == self.name and self.file.endswith(f"/src/{file}"):
                return chosen
        return self.name.removesuffix("Config")


def read_items() -> Iterator[RustItem]:
    """Read all items that serde deserializes, those that macros write included."""
    for crate in CRATES:
        for path in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
            file, text = path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
            for found in ITEM.finditer(text):
                if "Deserialize" in found["attributes"]:
                    docs = " ".join(line[3:].strip() for line in found["docs"].splitlines())
                    yield RustItem(
                        file,
                        found["name"],
                        shorten_description(docs),
                        found["attributes"],
                        found["kind"] == "enum",
                        remove_comments(found["body"].removesuffix("}")),
                    )
            yield from expand_macros(file, text)


def expand_macros(file: str, text: str) -> Iterator[RustItem]:
    """Expand the macros of a file that write an enum with a variant for each entry."""
    for macro in MACRO.finditer(text):
        template = macro["template"].replace("$(#[$doc])*", "")
        call = re.search(rf"^{macro['name']}! \{{\n(.*?)^\}}", text, re.MULTILINE | re.DOTALL)
        entries = MACRO_ENTRY.finditer(call[1]) if call else iter(())
        variants = [
            re.sub(r"\$(?!name|variant)\w+", entry["type"], template)
            .replace("$name", f'"{entry["name"]}"')
            .replace("$variant", entry["variant"])
            for entry in entries
        ]
        body = remove_comments(",\n".join(variants) + ",\n").replace("] ", "]\n")
        yield RustItem(file, macro["enum"], "", macro["attributes"], True, body)


def shorten_description(description: str) -> str:
    """Shorten a description to its first sentence, and that to its first part if it is long."""
    sentence = re.split(r"(?<!\.)\. |\.$", description)[0]
    return sentence if len(sentence) < 88 else re.split("[;:] ", sentence)[0]


def remove_comments(text: str) -> str:
    """Remove the comments of Rust text."""
    return re.sub(r"//.*", "", text)


def format_kebab_case(name: str) -> str:
    """Format a name as serde's ``kebab-case`` does."""
    return re.sub(r"(?<=.)(?=[A-Z])", "-", name).lower()


@dataclass
class TypeWriter:
    """Writes types, each after those that it holds."""

    items: dict[str, list[RustItem]]
    parts: dict[str, str] = field(default_factory=dict)  # Written types by name.

    def find(self, path: str, user: RustItem) -> RustItem:
        """Find the item that a path in an item names: one of its file, else the only one."""
        *modules, name = path.split("::")
        found = self.items.get(name, [])
        if len(found) > 1:
            near = [item for item in found if item.file == user.file]
            found = near or [it for it in found if all(f"/{each}/" in it.file for each in modules)]
        if len(found) != 1:
            raise ValueError(f"{user.file}: {path} is {len(found)} items")
        return found[0]

    def translate(self, rust_type: str, user: RustItem) -> str:
        """Translate the type of a key, and write the types it holds."""
        rust_type = rust_type.strip()
        if wrapped := re.fullmatch(r"(\w+)<(.*)>", rust_type):
            inner = self.translate(wrapped[2], user)
            kinds = {"Vec": f"list[{inner}]", "Option": f"{inner} | None"}
            return kinds.get(wrapped[1], inner)
        if array := re.fullmatch(r"\[(.*);.*\]", rust_type):
            return f"list[{self.translate(array[1], user)}]"
        plain = rust_type.rpartition("::")[2]
        if INTEGER_TYPE.fullmatch(plain):
            return "int"
        return PLAIN_TYPES.get(plain) or self.write_item(self.find(rust_type, user))

    def list_keys(self, body: str, user: RustItem, all_default: bool = False) -> dict[str, str]:
        """List the keys of a struct or a variant with their Python types."""
        keys = {}
        for found in FIELD.finditer(body):
            renamed = re.search(r'rename = "([^"]*)"', found["attributes"])
            kind = self.translate(found["type"], user)
            may_miss = all_default or re.search(r"serde\((.*, )?default\b", found["attributes"])
            name = renamed[1] if renamed else found["name"]
            keys[name] = f"NotRequired[{kind}]" if may_miss else kind
        return keys

    def write_item(self, item: RustItem) -> str:
        """Write the type of an item. Returns: The expression that names it."""
        if not item.is_enum:
            return self.write_dict(item.python_name, self.list_struct_keys(item), item.summary)
        variants = list(VARIANT.finditer(item.body))
        words = [
            self.find_word(item, found)
            for found in variants
            if found["inner"] is None and found["body"] is None
        ]
        members = [f"Literal{words}".replace("'", '"')] if words else []
        for found in variants:
            if found["inner"] is not None or found["body"] is not None:
                members.append(self.write_variant(item, found))
        members = list(dict.fromkeys(members))
        if len(members) == 1:
            return members[0]
        name = item.python_name
        self.parts.setdefault(name, f"{name} = ({' | '.join(members)})")
        return name

    def list_struct_keys(self, item: RustItem) -> dict[str, str]:
        """List the keys of a struct."""
        all_default = re.search(r"serde\([^\n]*\bdefault\b", item.attributes) is not None
        return self.list_keys(item.body, item, all_default)

    def find_word(self, item: RustItem, variant: re.Match[str]) -> str:
        """Find the word of a variant in JSON."""
        renamed = re.search(r'rename = "([^"]*)"', variant["attributes"])
        return renamed[1] if renamed else format_kebab_case(variant["name"])

    def write_variant(self, item: RustItem, variant: re.Match[str]) -> str:
        """Write a variant that has keys. Returns: The name of its type."""
        word, tag = self.find_word(item, variant), item.find_option("tag")
        name = f"{variant['name']}{item.python_name}"
        if tag is None:
            if variant["inner"] is not None:
                inner = self.translate(variant["inner"], item)
            else:
                inner = self.write_dict(name, self.list_keys(variant["body"], item), "")
            return self.write_dict(f"{name}Variant", {word: inner}, "")
        if variant["inner"] is None:
            keys, summary = self.list_keys(variant["body"], item), ""
        else:
            held = self.find(variant["inner"], item)
            keys, summary = self.list_struct_keys(held), held.summary
            shared = [
                self.find_word(item, each)
                for each in VARIANT.finditer(item.body)
                if each["inner"] == variant["inner"]
            ]
            word, name = '", "'.join(shared), held.python_name
        return self.write_dict(name, {tag: f'Literal["{word}"]'} | keys, summary)

    def write_dict(self, name: str, keys: dict[str, str], summary: str) -> str:
        """Write a dictionary with fixed keys. Returns: Its name."""
        summary = re.sub(r"\[?(`[^`]*`)\]?", r"`\1`", summary)
        entries = ", ".join(f'"{key}": {kind}' for key, kind in keys.items())
        line = f'{name} = TypedDict("{name}", {{{entries}}})'
        is_short = 0 < len(keys) <= 3 and len(line) <= 100
        if is_short or not all(key.isidentifier() and not iskeyword(key) for key in keys):
            text = line if is_short else line.replace("})", ",})")
            text = f"# {summary}.\n{text}" if summary else text
        else:
            text = "\n    ".join(f"{key}: {kind}" for key, kind in keys.items())
            head = f"class {name}(TypedDict):"
            if len(head) + len(summary) < 96:
                text = f"{head}  # {summary}.\n    {text}" if summary else f"{head}\n    {text}"
            else:
                text = f'{head}\n    """{summary}."""\n\n    {text}'
            text = text if keys else f'{head}\n    """{summary}."""'
        if self.parts.setdefault(name, text) != text:
            raise ValueError(f"{name} stands for two types: give one a name in NAMES")
        return name


def make_types() -> str:
    """Make the text of the Python module."""
    items: dict[str, list[RustItem]] = {}
    for item in read_items():
        items.setdefault(item.name, []).append(item)
    writer = TypeWriter(items)
    (network,) = (item for item in items["Network"] if item.file.endswith("src/network.rs"))
    writer.write_item(network)
    parts = "\n\n\n".join(writer.parts.values())
    # Types of one line follow each other without blank lines.
    parts = re.sub(r"(?m)(^\w+ = .*\)$)\n\n\n(?=# |\w+ = )", r"\1\n", parts)
    text = f"{HEAD}\n{parts}\n"
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TYPES_FILE), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout

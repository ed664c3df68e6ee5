"""Lists the mutants of the Rust crates: places, and their changed text.

cargo-mutants lists most: operators, values of functions, arms and guards of ``match``, fields that
a struct takes from its default. Numbers are added here, which it leaves alone: a literal from 2
on grows by one, a fraction by a quarter, and so does a named constant where it is used.
"""

import hashlib
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import setup_steps as steps
from mutant_journal import drop_number, number_alike

CRATES = ("units", "packet", "port", "agent", "control", "engine")
TOOL_FOLDER = os.path.join(steps.BOOT_FOLDER, "mutants")
TOOL = os.path.join(TOOL_FOLDER, "bin", "cargo-mutants")
PARSER = os.path.join(TOOL_FOLDER, "python")


@dataclass
class RustMutant:
    """A place of a file with another text."""

    crate: str
    path: str
    name: str
    start: int
    """Start of the place in the file's bytes."""
    end: int
    new: str
    genre: str
    file_hash: str
    number: int = 0
    is_viable: bool = True

    @property
    def line(self) -> int:
        """Line of the place, from 1."""
        return int(self.name.split(":", 2)[1])

    @property
    def identity(self) -> str:
        """Make the key of a mutant: its unchanged file, and the change."""
        words = self.file_hash + drop_number(self.name)
        return hashlib.sha256(words.encode()).hexdigest()[:16]


@dataclass
class Constant:
    """A named number of a crate."""

    path: str
    changed: str
    """Replacement of the constant, with a pattern for its name."""
    uses: list[tuple[str, int, int]] = field(default_factory=list)


def list_mutants(crate: str) -> list[RustMutant]:
    """List the mutants of a crate, in the order of its files."""
    files = read_files(crate)
    # Programs of their own are no part of what the tests run.
    files = {path: content for path, content in files.items() if "/bin/" not in path}
    found = [*_list_operators(crate, files), *_list_numbers(crate, files)]
    for each, name in zip(found, number_alike([each.name for each in found]), strict=True):
        each.name = name
    return found


def read_files(crate: str) -> dict[str, bytes]:
    """Read the sources of a crate that have no tests, by path in the repository."""
    listed = _ask_tool(["--list-files", "--json", "--package", f"trunkline-{crate}"])
    files = {}
    for each in listed:
        with open(os.path.join(steps.ROOT, each["path"]), "rb") as stream:
            files[each["path"]] = stream.read()
    return files


def _ask_tool(options: list[str]) -> Any:
    command = [TOOL, "mutants", *options]
    return json.loads(
        subprocess.run(command, cwd=steps.ROOT, capture_output=True, check=True).stdout
    )


def _list_operators(crate: str, files: dict[str, bytes]) -> Iterator[RustMutant]:
    starts = {path: _find_line_starts(content) for path, content in files.items()}
    for each in _ask_tool(["--list", "--json", "--package", f"trunkline-{crate}"]):
        path = each["file"]
        # Both values of `impl Iterator` would need one type.
        if path not in files or "-> impl" in each["name"]:
            continue
        content = files[path]

        def find(place: dict[str, int], path: str = path, content: bytes = content) -> int:
            start = starts[path][place["line"] - 1]
            # A column counts characters.
            line = content[start:].split(b"\n", 1)[0].decode()
            return start + len(line[: place["column"] - 1].encode())

        start, end = find(each["span"]["start"]), find(each["span"]["end"])
        yield RustMutant(
            crate, path, each["name"], start, end, each["replacement"], each["genre"],
            _hash(content),
        )  # fmt: skip


def _find_line_starts(content: bytes) -> list[int]:
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _hash(content: bytes) -> str:
    # A test that is added at the end of a file makes no other mutants of it.
    return hashlib.sha256(_TESTS.split(content, maxsplit=1)[0]).hexdigest()


_TESTS = re.compile(rb"\n#\[cfg\(test\)\]\n(?:#\[path[^\n]*\n)?mod \w+(?: \{|;)")

# Nodes that compute nothing while the program runs, or are no expression.
_FIXED_NODES = {
    "const_item", "static_item", "attribute_item", "inner_attribute_item", "macro_invocation",
    "macro_definition", "type_arguments", "array_type", "enum_item",
    "tuple_pattern", "tuple_struct_pattern", "or_pattern", "range_pattern", "use_declaration",
    "slice_pattern", "captured_pattern", "type_parameters", "parameters",
}  # fmt: skip
_INTEGER = re.compile(r"([0-9][0-9_]*)([iu](?:8|16|32|64|128|size))?$")
_FRACTION = re.compile(r"([0-9][0-9_]*\.[0-9_]*(?:e-?[0-9]+)?|[0-9]+e-?[0-9]+)(f32|f64)?$")


def parse(content: bytes) -> Any:
    """Parse the syntax tree of a Rust source."""
    if PARSER not in sys.path:
        sys.path.append(PARSER)
    tree_sitter = importlib.import_module("tree_sitter")
    grammar = importlib.import_module("tree_sitter_rust").language()
    return tree_sitter.Parser(tree_sitter.Language(grammar)).parse(content).root_node


def _iterate_expressions(node: Any, function: str = "") -> Iterator[tuple[Any, str]]:
    """Nodes whose value may change while the program runs, each with the function it is in."""
    is_test = False
    for child in node.children:
        if child.type == "attribute_item":
            is_test = is_test or b"test" in child.text
            continue
        if child.type in ("line_comment", "block_comment"):
            continue
        skips, is_test = is_test, False
        if skips or child.type in _FIXED_NODES:
            continue
        if child.type == "match_pattern":
            guard = child.child_by_field_name("condition")
            if guard is not None:
                yield guard, function
                yield from _iterate_expressions(guard, function)
            continue
        if child.type == "function_item":
            head = child.text.split(b"{", 1)[0]
            if b"const fn" in head:
                continue
            inner = child.child_by_field_name("name").text.decode()
            body = child.child_by_field_name("body")
            yield from _iterate_expressions(body, inner)
            continue
        if child.type == "array_expression" and child.child_by_field_name("length") is not None:
            yield from _iterate_expressions(child.children[1], function)
            continue
        if child.type == "let_declaration" or child.type == "for_expression":
            pattern = child.child_by_field_name("pattern")
            for part in child.children:
                if part == pattern or part == child.child_by_field_name("type"):
                    continue
                yield part, function
                yield from _iterate_expressions(part, function)
            continue
        yield child, function
        yield from _iterate_expressions(child, function)


def _list_numbers(crate: str, files: dict[str, bytes]) -> Iterator[RustMutant]:
    """List the mutants of literals and of named constants."""
    trees = {path: parse(content) for path, content in files.items()}
    constants = _find_constants(trees)
    for path, tree in trees.items():
        content = files[path]
        for node, function in _iterate_expressions(tree):
            if not function:
                continue
            text = node.text.decode()
            new = None
            # The field of a tuple is no number.
            if node.type.endswith("_literal") and node.parent.type == "field_expression":
                continue
            if node.type == "integer_literal" and (found := _INTEGER.match(text)):
                count = int(found[1].replace("_", ""))
                new = f"{count + 1}{found[2] or ''}" if count > 1 else None
            elif node.type == "float_literal" and (found := _FRACTION.match(text)):
                value = float(found[1].replace("_", ""))
                new = f"{value * 1.25!r}{found[2] or ''}" if value not in (0.0, 1.0) else None
            elif node.type in ("identifier", "scoped_identifier"):
                if node.parent is not None and node.parent.type == "scoped_identifier":
                    continue
                constant = constants.get(text.rsplit("::", 1)[-1])
                new = None if constant is None else constant.changed.format(text)
            if new is None:
                continue
            line = content.count(b"\n", 0, node.start_byte) + 1
            column = node.start_byte - content.rfind(b"\n", 0, node.start_byte)
            yield RustMutant(
                crate,
                path,
                f"{path}:{line}:{column}: replace {text} with {new} in {function}",
                node.start_byte,
                node.end_byte,
                new,
                "Number",
                _hash(content),
            )


def _find_constants(trees: dict[str, Any]) -> dict[str, Constant]:
    found: dict[str, Constant] = {}

    def visit(node: Any, path: str) -> None:
        for child in node.children:
            if child.type == "const_item":
                name = child.child_by_field_name("name").text.decode()
                kind = child.child_by_field_name("type").text.decode()
                if re.fullmatch(r"[iu](8|16|32|64|128|size)", kind):
                    found[name] = Constant(path, "({} + 1)")
                elif kind in ("f64", "f32"):
                    found[name] = Constant(path, "({} * 1.25)")
                elif kind in ("Time", "Span", "Rate"):
                    found[name] = Constant(path, "({0} + {0} / 4)")
            elif child.type in ("impl_item", "declaration_list", "mod_item"):
                visit(child, path)

    for path, tree in trees.items():
        visit(tree, path)
    return found

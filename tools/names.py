"""Check the names of classes, functions, constants and files against a list of words.

A name says what it holds in words that an engineer knows: a class is a noun phrase, a function
begins with a verb, a constant says of what it is the maximum. A class name stands for one thing in
all packages, and so does the name of a type in all crates. A name in backticks is one that the code
has. `docs/glossary.md` has the words to use.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FORBIDDEN_PARTS = frozenset(
    re.findall(r"\w+", "beside came felt goes kin lacking lacks said stands tells told whole")
)
"""Words that no part of a name may be."""

FORBIDDEN_NAMES = frozenset(
    re.findall(
        r"\w+",
        """
        absent after ahead asked enough errand failed few ground its judged kept largest longest
        many most named needed of offered one passed reached refused say shown taken tell usual
        wanted way ways what which who written
        """,
    )
)
"""Words that say nothing alone: no class, function or constant is called so."""

FORBIDDEN_LOCALS = frozenset(["its", "said", "told", "whole"])
"""Words that no parameter and no local variable is called."""

RUST_ITEM = re.compile(
    r"^\s*(?:pub(?:\([a-z: ]+\))? )?(?:const )?(?:unsafe )?"
    r"(?P<kind>struct|enum|trait|fn|const|static|type|mod) (?P<name>[A-Za-z_]\w*)"
)
RUST_TYPE = re.compile(
    r"\s*(?:pub(?:\([a-z: ]+\))? )?(?:(?:struct|enum|trait|union) |(?<! )type )(?P<name>[A-Z]\w*)"
)
CONTRACT_PLACES = ("crates/engine/src/network.rs", "crates/engine/src/network/")
RUST_LOCAL = re.compile(r"\blet (?:mut )?(?P<name>[a-z_]\w*)\b")

Fault = tuple[str, int, str, str]
"""File, line, name, reason."""


def split_words(name: str) -> list[str]:
    """Split a name in snake case or camel case into its words, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def find_reason(name: str) -> str | None:
    """Find what is wrong with the name of a class, a function, a constant or a file."""
    words = split_words(name)
    bad = [word for word in words if word in FORBIDDEN_PARTS]
    if bad:
        return f"{bad[0]!r} says nothing to a newcomer"
    if len(words) == 1 and words[0] in FORBIDDEN_NAMES:
        return f"{words[0]!r} alone does not say what it holds or does"
    if len(words) > 1 and words[0] == "of" and not name.islower():
        return "a class is a noun phrase"
    return None


def check_python(file: str, tree: ast.Module) -> Iterator[Fault]:
    """Check every name that a Python file defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            reason = find_reason(node.name)
            if reason:
                yield file, node.lineno, node.name, reason
    yield from check_locals(file, tree)
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        for target in targets:
            if isinstance(target, ast.Name) and find_reason(target.id):
                yield file, target.lineno, target.id, str(find_reason(target.id))


def check_locals(file: str, tree: ast.Module) -> Iterator[Fault]:
    """Check the parameters and local variables of a Python file."""
    for node in ast.walk(tree):
        name = getattr(node, "arg", None) or getattr(node, "id", None)
        if name in FORBIDDEN_LOCALS and isinstance(node, ast.arg | ast.Name):
            yield file, node.lineno, name, "a variable says what it holds"


def check_rust(file: str, text: str) -> Iterator[Fault]:
    """Check every name that a Rust file defines."""
    for number, line in enumerate(text.splitlines(), 1):
        item = RUST_ITEM.match(line)
        if item:
            reason = find_reason(item["name"])
            if reason:
                yield file, number, item["name"], reason
        for local in RUST_LOCAL.finditer(line):
            if local["name"] in FORBIDDEN_LOCALS:
                yield file, number, local["name"], "a variable says what it holds"


def list_definitions(file: str, text: str) -> Iterator[str]:
    """List the types that a Rust file of a crate defines outside its tests.

    Left out are the contract, whose types the engine has under the same names, and the variants of
    one algorithm, which are files in its folder.
    """
    if file.startswith(CONTRACT_PLACES) or Path(file).stem.endswith(("tests", "test_link")):
        return
    for line in text.partition("#[cfg(test)]")[0].splitlines():
        item = RUST_TYPE.match(line)
        if item:
            yield item["name"]


def is_variant(files: list[str]) -> bool:
    """Whether all files are the variants of one algorithm: `mod.rs`, `linux.rs` and `rfc.rs`."""
    places = {re.sub(r"/(mod|linux|rfc)(/mod)?\.rs$|\.rs$", "", file) for file in files}
    return len({place.removesuffix("/sender") for place in places}) == 1


def find_lost_references(texts: dict[str, str]) -> Iterator[Fault]:
    """Find names in backticks in Python files that no code has any more."""
    known = {
        word
        for file, text in texts.items()
        for word in [*re.findall(r"\w+", re.sub(r"`[^`\n]*`", "", text)), *re.split(r"[/.]", file)]
    }
    for file, text in texts.items():
        if not file.endswith(".py") or file.startswith("tests/"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for name in re.findall(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)", line):
                if not set(name.strip(".").split(".")) <= known:
                    yield file, number, name, "no code has this name"


def find_shared_names(classes: dict[str, list[str]]) -> Iterator[Fault]:
    """Find class names that stand for several things."""
    for name, files in sorted(classes.items()):
        if len(files) > 1 and not is_variant(files):
            yield files[0], 1, name, f"also a class of {', '.join(files[1:])}"


def main() -> int:
    """Print each name that breaks a rule. Returns: 1 if there is any."""
    faults: list[Fault] = []
    classes: dict[str, list[str]] = defaultdict(list)
    places = [*ROOT.glob("python/trunkline/**/*.py"), *ROOT.glob("tools/**/*.py")]
    for path in sorted(places):
        file = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text("utf-8"))
        faults += check_python(file, tree)
        if find_reason(path.stem):
            faults.append((file, 1, path.stem, str(find_reason(path.stem))))
        # The contract's types are those of the engine, under the engine's names.
        if path.is_relative_to(ROOT / "python") and "network/types" not in file:
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    classes[node.name].append(file)
    rust_types: dict[str, list[str]] = defaultdict(list)
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        file, text = path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
        faults += check_rust(file, text)
        for name in list_definitions(file, text):
            rust_types[name].append(file)
        if find_reason(path.stem):
            faults.append((file, 1, path.stem, str(find_reason(path.stem))))
    for path in sorted(ROOT.glob("tests/**/*.py")):
        faults += check_locals(
            path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8"))
        )
    faults += [*find_shared_names(classes), *find_shared_names(rust_types)]
    faults += find_lost_references(
        {
            path.relative_to(ROOT).as_posix(): path.read_text("utf-8", errors="replace")
            for pattern in (
                "python/**/*",
                "crates/*/src/**/*.rs",
                "bench/**/*",
                "tools/**/*",
                "tests/**/*",
            )
            for path in ROOT.glob(pattern)
            if path.suffix in {".py", ".rs", ".yaml", ".js", ".j2", ".cc"}
        }
    )
    for file, line, name, reason in faults:
        print(f"{file}:{line}: {name}: {reason}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

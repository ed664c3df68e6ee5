"""Mutants of Python packages: made from their syntax, tried one by one on a copy.

A mutant changes one place: a comparison gets or loses its equality or is turned round, a sum
becomes a difference, a product a quotient, ``and`` becomes ``or``, ``not`` goes, ``min`` becomes
``max``, a whole number grows by one. The rest of the text does not change, so that no line
moves. Left out are docstrings, annotations, defaults, assertions and what is raised.
"""

import ast
import bisect
import contextlib
import filecmp
import hashlib
import itertools
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import setup_steps as steps
from mutant_journal import (
    FOLDER,
    Plan,
    drop_number,
    find_settled,
    number_alike,
    write_list,
    write_outcome,
)
from pytest_server import PytestServer
from shell import print_message

_LANGUAGE_TESTS = [
    *("tests/unit/scenario", "tests/unit/network", "tests/unit/engine"),
    *("tests/unit/test_pinned_results.py", "tests/unit/test_pinned_scenarios.py"),
    "tests/unit/test_features_together.py",
]
PACKAGES = {
    "te": (
        "python/trunkline/te",
        ["tests/evidence/te", "tests/unit/planning", "tests/unit/test_pinned_scenarios.py"],
    ),
    "stats": (
        "python/trunkline/stats",
        ["tests/unit/stats", "tests/unit/compare", "tests/unit/results", "tests/debts"],
    ),
    "resolved": ("python/trunkline/scenario/resolved", [*_LANGUAGE_TESTS, "tests/unit/planning"]),
    "network": ("python/trunkline/network", _LANGUAGE_TESTS),
}
"""Folder of each package, and the tests that run on its mutants."""
FOLLOWED_TOGETHER = {"resolved": ("resolved", "network"), "network": ("resolved", "network")}
"""Packages that share most of their tests: these are followed once for all of them."""

TIMEOUT_FACTOR = 5.0
"""A mutant that takes so many times as long as the unchanged code counts as endless."""
MIN_TIMEOUT_S = 20.0
MAX_FILE_S = 120.0
"""Time for a file of tests while they are followed."""
BATCH_S = 1.0
"""Time of the first tests of a mutant, the quickest ones."""
MAX_TRIAL_S = 15.0
"""Time of all tests that a mutant is tried on, the quick ones first."""

_OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class PythonMutant:
    """A file with one place of its text replaced."""

    path: str
    name: str
    """In the form of cargo-mutants, with its number among those of the same words."""
    line: int
    old: str
    new: str
    start: int
    """Start of the place in the file's bytes."""
    lines: range
    """Lines of its statement: the operators of an expression may be on other lines."""
    runs_at_import: bool
    """Whether it stands outside of functions, in the module or in a class."""

    def apply(self, content: bytes) -> bytes:
        """The file's content with the change."""
        end = self.start + len(self.old.encode())
        assert content[self.start : end] == self.old.encode(), self.name
        return content[: self.start] + self.new.encode() + content[end:]

    def identify(self, content: bytes) -> str:
        """Identify the mutant by the content of its file and its change."""
        return hashlib.sha256(content + drop_number(self.name).encode()).hexdigest()[:16]


def list_mutants(name: str) -> list[PythonMutant]:
    """List all mutants of a package, in the order of its files."""
    folder = os.path.join(steps.ROOT, PACKAGES[name][0])
    found: list[PythonMutant] = []
    for base, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            if file.endswith(".py"):
                path = os.path.join(base, file)
                with open(path, "rb") as stream:
                    content = stream.read()
                found += mutate_file(os.path.relpath(path, steps.ROOT), content)
    return found


def mutate_file(path: str, content: bytes) -> list[PythonMutant]:
    """Mutants of a file.

    Parameters
    ----------
    path : str
        Its path in the repository.
    content : bytes
        Its text, UTF-8.

    Returns
    -------
    list of PythonMutant
    """
    line_starts = [0]
    for text in content.splitlines(keepends=True):
        line_starts.append(line_starts[-1] + len(text))
    found = []
    tree = ast.parse(content)
    statements = _find_statements(tree)
    for node, function, at_import in _iterate_judged_nodes(tree):
        for line, column, start, old, new in _mutate_node(node, content, line_starts):
            name = f"{path}:{line}:{column + 1}: replace {old} with {new} in {function}"
            lines = statements.get(line, range(line, line + 1))
            found.append(PythonMutant(path, name, line, old, new, start, lines, at_import))
    names = number_alike([each.name for each in found])
    return [replace(each, name=name) for each, name in zip(found, names, strict=True)]


def _find_statements(tree: ast.Module) -> dict[int, range]:
    """Lines of the innermost statement of each line; of one with a body, those of its head."""
    lines_by_line: dict[int, range] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            lines = range(node.lineno, max(end, node.lineno + 1))
            lines_by_line.update(dict.fromkeys(lines, lines))
    return lines_by_line


def _iterate_judged_nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, str, bool]]:
    """Yield the nodes that compute something, each with its function, and if that is none yet.

    Those of a class or a module run when it is imported.
    """

    def visit(node: ast.AST, function: str, at_import: bool) -> Iterator[tuple[ast.AST, str, bool]]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            function = node.name if function == "the module" else f"{function}.{node.name}"
            at_import = at_import and isinstance(node, ast.ClassDef)
            for part in node.body:
                yield from visit(part, function, at_import)
            return
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield from visit(node.value, function, at_import)
            return
        if isinstance(node, ast.arguments):
            return
        yield node, function, at_import
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function, at_import)

    for statement in tree.body:
        yield from visit(statement, "the module", True)


def _mutate_node(
    node: ast.AST, content: bytes, line_starts: list[int]
) -> Iterator[tuple[int, int, int, str, str]]:
    """Changes of a node itself: line, column, byte, old text and new text."""

    def at(line: int, column: int) -> int:
        return line_starts[line - 1] + column

    def between(
        left: ast.expr, right: ast.expr, operator: ast.AST
    ) -> Iterator[tuple[int, int, int, str, str]]:
        if type(operator) not in _OPERATORS:
            return
        old, new = _OPERATORS[type(operator)]
        assert left.end_lineno is not None
        assert left.end_col_offset is not None
        start = at(left.end_lineno, left.end_col_offset)
        found = content.find(old.encode(), start, at(right.lineno, right.col_offset))
        if found >= 0:
            line = content.count(b"\n", 0, found) + 1
            yield line, found - line_starts[line - 1], found, old, new

    match node:
        case ast.Compare(left=left, ops=operators, comparators=sides):
            for first, operator, second in zip([left, *sides], operators, sides, strict=False):
                yield from between(first, second, operator)
        case ast.BinOp(left=left, op=operator, right=right):
            if not any(isinstance(each, ast.JoinedStr) for each in (left, right)):
                yield from between(left, right, operator)
        case ast.BoolOp(op=operator, values=values):
            for first, second in itertools.pairwise(values):
                yield from between(first, second, operator)
        case ast.UnaryOp(op=ast.Not()):
            start = at(node.lineno, node.col_offset)
            yield node.lineno, node.col_offset, start, "not ", ""
        case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
            yield node.lineno, node.col_offset, at(node.lineno, node.col_offset), name, _CALLS[name]
        case ast.Constant(value=int() as value) if type(value) is int:
            assert node.end_col_offset is not None
            start = at(node.lineno, node.col_offset)
            old = content[start : at(node.lineno, node.end_col_offset)].decode()
            yield node.lineno, node.col_offset, start, old, str(value + 1)


def try_package(name: str, plan: Plan) -> None:
    """Try the mutants of a package that no earlier run has caught."""
    listed = list_mutants(name)
    chosen = plan.choose(name, listed)
    contents = _read_contents(chosen)
    identities = {each: each.identify(contents[each.path]) for each in chosen}
    write_list(name, len(listed), plan, {of: each.name for each, of in identities.items()})
    settled = find_settled(name)
    left = [each for each in chosen if identities[each] not in settled]
    print_message(f"{len(left)} of {len(chosen)} mutants of {name} left to try")
    if not left:
        return
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        copies = [os.path.join(_COPIES_FOLDER, str(number)) for number in range(plan.jobs)]
        for copy in copies:
            copy_packages(copy)
        servers = [stack.enter_context(start_server(copy)) for copy in copies]
        changed = {each.path for each in left} if plan.difference is not None else None
        tests = _note_reached(list(zip(servers, copies, strict=True)), name, changed)
        clock = f"{time.monotonic() - begun:.0f} s"
        print_message(f"{len(tests)} tests of {name} noted what they reach ({clock})")

        def try_share(number: int) -> None:
            for mutant in left[number :: plan.jobs]:
                if plan.limit_s is not None and time.monotonic() - begun > plan.limit_s:
                    print_message(f"mutants of {name}: not all tried; the next call continues")
                    return
                cases = _choose_tests(tests, mutant)
                with put_mutant(mutant, contents[mutant.path], copies[number]):
                    failed = _find_failed(servers[number], cases)
                write_outcome(name, identities[mutant], mutant.name, failed, len(cases))

        with ThreadPoolExecutor(plan.jobs) as pool:
            list(pool.map(try_share, range(plan.jobs)))


_COPIES_FOLDER = os.path.join(FOLDER, "python")
_REACHED_FOLDER = os.path.join(FOLDER, "reached")


def start_server(copy: str) -> PytestServer:
    """Start a server of pytest for a copy of the packages."""
    return PytestServer(steps.VENV_PYTHON, copy, os.path.join(FOLDER, "byte-code"))


@contextlib.contextmanager
def put_mutant(mutant: PythonMutant, content: bytes, copy: str) -> Iterator[None]:
    """Put a mutant of a file's content into a copy of the packages for the duration of a block."""
    path = os.path.join(copy, os.path.relpath(mutant.path, "python"))
    try:
        with open(path, "wb") as stream:
            stream.write(mutant.apply(content))
        yield
    finally:
        with open(path, "wb") as stream:
            stream.write(content)


def copy_packages(copy: str) -> None:
    """Make a folder equal to the packages; files that are so already keep their times."""
    kept = set()
    top = os.path.join(steps.ROOT, "python")
    for base, folders, files in os.walk(top):
        folders[:] = [each for each in folders if each != "__pycache__"]
        for file in files:
            source = os.path.join(base, file)
            target = os.path.join(copy, os.path.relpath(source, top))
            kept.add(target)
            if not os.path.exists(target) or not filecmp.cmp(source, target, shallow=False):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copyfile(source, target)
    for base, _, files in os.walk(copy):
        for file in files:
            if os.path.join(base, file) not in kept:
                os.remove(os.path.join(base, file))


def _read_contents(mutants: list[PythonMutant]) -> dict[str, bytes]:
    contents = {}
    for path in {mutant.path for mutant in mutants}:
        with open(os.path.join(steps.ROOT, path), "rb") as stream:
            contents[path] = stream.read()
    return contents


@dataclass(frozen=True)
class _Reach:
    """Lines that a test reaches, and its time."""

    test: str
    cpu_s: float
    """While it is followed, which takes a multiple."""
    lines: dict[str, frozenset[int]]
    """Reached lines by path in the repository."""


def _note_reached(
    servers: list[tuple[PytestServer, str]], name: str, changed: set[str] | None
) -> list[_Reach]:
    """The lines that each test that passes runs, the quick ones first.

    Parameters
    ----------
    servers : list of (PytestServer, str)
        Run the tests, each on its copy of the packages.
    name : str
        Package whose lines are noted.
    changed : set of str or None
        Only tests that reached one of these files at the last run count, or that are new.
    """
    together = FOLLOWED_TOGETHER.get(name, (name,))
    paths = [PACKAGES[each][0] for each in together]
    packages = _hash_files(os.path.join(steps.ROOT, "python"))
    with open(os.path.join(steps.ROOT, "tools", "dev", "reached_lines.py"), "rb") as stream:
        packages += stream.read()
    os.makedirs(_REACHED_FOLDER, exist_ok=True)
    # Notes by file of tests: those of files that are as they were at the last run stay.
    notes: dict[str, list[Any]] = {}
    missing = []
    for file in list_test_files(PACKAGES[name][1]):
        with open(os.path.join(steps.ROOT, file), "rb") as stream:
            key = hashlib.sha256(stream.read() + packages).hexdigest()
        words = [*together, file.replace("/", "-")]
        note = os.path.join(_REACHED_FOLDER, f"{'-'.join(words)}.json")
        known: dict[str, Any] = {}
        if os.path.exists(note):
            with open(note, encoding="utf-8") as known_stream:
                known = json.load(known_stream)
        if known.get("key") == key:
            notes[file] = known["tests"]
        elif not known or changed is None or _reaches(known["tests"], changed):
            missing.append((file, note, key))

    def note_share(number: int) -> None:
        server, copy = servers[number]
        result = os.path.join(FOLDER, f"{name}-reached-{number}.jsonl")
        variable = ":".join([result, copy, *(os.path.relpath(path, "python") for path in paths)])
        while missing:
            file, note, key = missing.pop()
            with open(result, "wb"):
                pass
            status, _ = server.run(
                ["-p", "reached_lines", file],
                MAX_FILE_S,
                {"TRUNKLINE_REACHED": variable},
                writes_byte_code=True,
            )
            if status < 0:
                limit = f"{MAX_FILE_S:.0f} s"
                print_message(f"{file} takes more than {limit}; its last tests are left out")
            with open(result, encoding="utf-8") as lines:
                notes[file] = [json.loads(line) for line in lines]
            with open(note, "w", encoding="utf-8") as new_stream:
                json.dump({"key": key, "tests": notes[file]}, new_stream)

    with ThreadPoolExecutor(len(servers)) as pool:
        list(pool.map(note_share, range(len(servers))))
    reaches = [
        _Reach(test, cpu_s, {os.path.join("python", file): frozenset(at[file]) for file in at})
        for tests in notes.values()
        for test, cpu_s, at in tests
    ]
    return sorted(reaches, key=lambda reach: (reach.cpu_s, reach.test))


def _reaches(tests: list[Any], changed: set[str]) -> bool:
    return any(os.path.join("python", file) in changed for *_, at in tests for file in at)


def list_test_files(places: list[str]) -> list[str]:
    """List the files of tests among files and below folders of the repository."""
    found = []
    for place in places:
        if place.endswith(".py"):
            found.append(place)
        for base, _, files in os.walk(os.path.join(steps.ROOT, place)):
            relative = os.path.relpath(base, steps.ROOT)
            found += [f"{relative}/{file}" for file in files if re.match(r"test_.*\.py$", file)]
    return sorted(found)


def _hash_files(folder: str) -> bytes:
    """Hash all sources below a folder."""
    total = hashlib.sha256()
    for base, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            if file.endswith((".py", ".so")):
                with open(os.path.join(base, file), "rb") as stream:
                    total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.digest()


def _choose_tests(reaches: list[_Reach], mutant: PythonMutant) -> list[_Reach]:
    """Tests that run the line of a mutant.

    What a module or a class does at import all may depend on, those first that run others of its
    lines.
    """
    none: frozenset[int] = frozenset()
    if mutant.runs_at_import:
        return sorted(reaches, key=lambda reach: mutant.path not in reach.lines)
    return [
        reach
        for reach in reaches
        if not reach.lines.get(mutant.path, none).isdisjoint(mutant.lines)
    ]


def _find_failed(server: PytestServer, reaches: list[_Reach]) -> list[str]:
    """The first test that fails on a copy of the packages, none if all pass."""
    for batch in _batch(reaches):
        limit_s = MIN_TIMEOUT_S + TIMEOUT_FACTOR * sum(reach.cpu_s for reach in batch)
        status, output = server.run(["-x", *(reach.test for reach in batch)], limit_s)
        if status != 0:
            failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.M)
            return failed or [f"pytest ends with {status}"]
    return []


def _batch(reaches: list[_Reach]) -> Iterator[list[_Reach]]:
    """The quickest tests, then all others that a mutant is tried on."""
    total = list(itertools.accumulate(reach.cpu_s for reach in reaches))
    first, last = bisect.bisect(total, BATCH_S), bisect.bisect(total, MAX_TRIAL_S)
    for batch in (reaches[: first or 1], reaches[first or 1 : last]):
        if batch:
            yield batch


if __name__ == "__main__":
    print(len(list_mutants(sys.argv[1])))

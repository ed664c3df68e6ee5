"""Mutants of Python packages: made from their syntax, tried one by one on a copy.

A mutant changes one place: a comparison gets or loses its equality or is turned round, a sum
becomes a difference, a product a quotient, ``and`` becomes ``or``, ``not`` goes, ``min`` becomes
``max``, a whole number grows by one. The rest of the text does not change, so that no line
moves. Left out are docstrings, annotations, defaults, assertions and what is raised.
"""

import ast
import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import setup_steps as steps
from mutant_journal import Plan, find_caught, write_list, write_outcome
from shell import print_message

PACKAGES = {
    "te": ("python/trunkline/te", ["tests/evidence/te", "tests/unit/planning"]),
    "stats": ("python/trunkline/stats", ["tests/unit/stats", "tests/unit/compare", "tests/debts"]),
    "resolved": (
        "python/trunkline/scenario/resolved",
        ["tests/unit/scenario", "tests/unit/network", "tests/unit/engine"],
    ),
    "network": (
        "python/trunkline/network",
        ["tests/unit/network", "tests/unit/scenario", "tests/unit/engine"],
    ),
}
"""Folder of each package, and the tests that run on its mutants."""

TIMEOUT_FACTOR = 5.0
"""A mutant that takes so many times as long as the unchanged code counts as endless."""
MIN_TIMEOUT_S = 60.0

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
    line: int
    column: int
    old: str
    new: str
    function: str
    start: int
    """Start of the place in the file's bytes."""
    lines: range
    """Lines of its statement: the operators of an expression may be on other lines."""

    @property
    def name(self) -> str:
        """Name in the form of cargo-mutants."""
        place = f"{self.path}:{self.line}:{self.column + 1}"
        return f"{place}: replace {self.old} with {self.new} in {self.function}"

    def apply(self, content: bytes) -> bytes:
        """The file's content with the change."""
        end = self.start + len(self.old.encode())
        assert content[self.start : end] == self.old.encode(), self.name
        return content[: self.start] + self.new.encode() + content[end:]

    def identify(self, content: bytes) -> str:
        """Identify the mutant by the content of its file and its change."""
        return hashlib.sha256(content + self.name.encode()).hexdigest()[:16]


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
    for node, function in _iterate_judged_nodes(tree):
        for line, column, from_byte, old, new in _mutate_node(node, content, line_starts):
            lines = statements.get(line, range(line, line + 1))
            found.append(PythonMutant(path, line, column, old, new, function, from_byte, lines))
    return found


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


def _iterate_judged_nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield the nodes that compute something, each with the function that it is in."""

    def visit(node: ast.AST, function: str) -> Iterator[tuple[ast.AST, str]]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            function = node.name if function == "the module" else f"{function}.{node.name}"
            for part in node.body:
                yield from visit(part, function)
            return
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield from visit(node.value, function)
            return
        if isinstance(node, ast.arguments):
            return
        yield node, function
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    for statement in tree.body:
        yield from visit(statement, "the module")


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
    chosen = plan.choose(listed)
    contents = _read_contents(chosen)
    identities = {each: each.identify(contents[each.path]) for each in chosen}
    if plan.difference is None:
        write_list(name, len(listed), plan, {of: each.name for each, of in identities.items()})
    caught = find_caught(name)
    left = [each for each in chosen if identities[each] not in caught]
    print_message(f"{len(left)} of {len(chosen)} mutants of {name} left to try")
    if not left:
        return
    with tempfile.TemporaryDirectory(prefix="trunkline-mutants-") as folder:
        copies = [os.path.join(folder, str(number)) for number in range(plan.jobs)]
        for copy in copies:
            shutil.copytree(
                os.path.join(steps.ROOT, "python"),
                copy,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        begun = time.monotonic()
        tests = _note_reached(copies[0], name, folder)
        if tests is None:
            print_message(f"the tests of {name} fail without a mutant: none is tried")
            return

        def try_share(number: int) -> None:
            for mutant in left[number :: plan.jobs]:
                if plan.limit_s is not None and time.monotonic() - begun > plan.limit_s:
                    print_message(f"mutants of {name}: not all tried; the next call continues")
                    return
                path = os.path.join(copies[number], os.path.relpath(mutant.path, "python"))
                content = contents[mutant.path]
                with open(path, "wb") as stream:
                    stream.write(mutant.apply(content))
                cases = _choose_tests(tests, mutant)
                failed = _find_failed(copies[number], cases)
                with open(path, "wb") as stream:
                    stream.write(content)
                write_outcome(name, identities[mutant], mutant.name, failed, len(cases))

        with ThreadPoolExecutor(plan.jobs) as pool:
            list(pool.map(try_share, range(plan.jobs)))


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
    lines: dict[str, frozenset[int]]
    """Reached lines by path in the repository."""


def _note_reached(copy: str, name: str, folder: str) -> list[_Reach] | None:
    """The lines that each test runs, the quick ones first; None if one fails."""
    path, tests = PACKAGES[name]
    inside = os.path.relpath(path, "python")
    file = os.path.join(folder, "reached.json")
    environment = {"TRUNKLINE_REACHED": f"{os.path.join(copy, inside)}:{file}"}
    status, _ = run_pytest(copy, ["-p", "reached_lines", *tests], None, environment)
    if status != 0:
        return None
    with open(file, encoding="utf-8") as stream:
        noted = json.load(stream)
    reaches = [
        _Reach(test, cpu_s, {os.path.join(path, file): frozenset(at) for file, at in lines.items()})
        for test, (cpu_s, lines) in noted.items()
    ]
    return sorted(reaches, key=lambda reach: reach.cpu_s)


def _choose_tests(reaches: list[_Reach], mutant: PythonMutant) -> list[_Reach]:
    """Tests that run the line of a mutant; what a module does at import all run that use it."""
    at_import = mutant.function == "the module"
    none: frozenset[int] = frozenset()
    return [
        reach
        for reach in reaches
        if not reach.lines.get(mutant.path, none).isdisjoint(mutant.lines)
        or (at_import and mutant.path in reach.lines)
    ]


def _find_failed(copy: str, reaches: list[_Reach]) -> list[str]:
    """The first test that fails on a copy of the packages, none if all pass."""
    if not reaches:
        return []
    limit_s = MIN_TIMEOUT_S + TIMEOUT_FACTOR * sum(reach.cpu_s for reach in reaches)
    tests = [reach.test for reach in reaches]
    status, output = run_pytest(copy, tests, limit_s, {})
    if status == 0:
        return []
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.M)
    return failed or [f"pytest ends with {status}"]


def run_pytest(
    copy: str, arguments: list[str], limit_s: float | None, variables: dict[str, str]
) -> tuple[int | str, str]:
    """Run pytest; its exit status and its output."""
    command = [steps.VENV_PYTHON, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider"]
    # Two mutants of one length and second would share their byte code.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    tools = os.path.dirname(os.path.abspath(__file__))
    environment["PYTHONPATH"] = os.pathsep.join([copy, tools])
    environment.pop("PYTHONPYCACHEPREFIX", None)
    try:
        ended = subprocess.run(
            [*command, *arguments],
            cwd=steps.ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "no end", ""
    return ended.returncode, ended.stdout


if __name__ == "__main__":
    print(len(list_mutants(sys.argv[1])))

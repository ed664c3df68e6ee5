"""Mutants of the Rust crates: all compiled at once, each switched on by an environment variable.

cargo-mutants lists them: operators, values of functions, arms and guards of ``match``, fields that
a struct takes from its default. Numbers are added here, which it leaves alone: a literal from 2
on grows by one, a fraction by a quarter, and so does a named constant where it is used.

A mutated expression becomes ``if mutants::is_on(17) { mutated } else { original }``, in a copy of
the repository that is compiled once for all crates. What does not compile is left out. Then every
test runs alone and notes the mutants that it reaches, so that a mutant is tried on these tests
only, the quick ones first: those of its own crate, then those of the engine, which uses all crates.
"""

import hashlib
import importlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import setup_steps as steps
from python_mutants import find_changed_lines
from shell import StepFailed, Stopwatch, print_message

CRATES = ("units", "packet", "port", "agent", "control", "engine")
FOLDER = steps.get_stamp_path("mutants")
WORKSPACE = os.path.join(FOLDER, "workspace")
TOOL_FOLDER = os.path.join(steps.BOOT_FOLDER, "mutants")
TOOL = os.path.join(TOOL_FOLDER, "bin", "cargo-mutants")
PARSER = os.path.join(TOOL_FOLDER, "python")
SWITCH = "TRUNKLINE_MUTANT"
SWITCH_PATH = "crates/units/src/lib.rs"
MEMORY_LIMIT = 6 << 30
"""Maximum memory of a test [B]; a mutant may ask for memory without end."""
MIN_CPU_LIMIT_S = 5
BATCH_S = 2.0
"""Tests that take so long together run in one process."""

SWITCH_MODULE = """
/// The mutant that is on.
#[allow(missing_docs)]
pub mod mutants {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
    use std::sync::Mutex;
    const UNREAD: u32 = u32::MAX;
    const NOTES: u32 = u32::MAX - 1;
    static CURRENT: AtomicU32 = AtomicU32::new(UNREAD);
    static SEEN: [AtomicBool; 32768] = [const { AtomicBool::new(false) }; 32768];
    static FILE: Mutex<Option<std::fs::File>> = Mutex::new(None);
    #[inline]
    pub fn is_on(mutant: u32) -> bool {
        let current = CURRENT.load(Relaxed);
        current == mutant || (current >= NOTES && note(mutant))
    }
    #[cold]
    #[inline(never)]
    fn note(mutant: u32) -> bool {
        if CURRENT.load(Relaxed) == UNREAD {
            let word = std::env::var("TRUNKLINE_MUTANT").unwrap_or_default();
            if let Some(path) = word.strip_prefix("notes:") {
                *FILE.lock().unwrap() = std::fs::File::create(path).ok();
                CURRENT.store(NOTES, Relaxed);
            } else {
                CURRENT.store(word.parse().unwrap_or(0), Relaxed);
            }
            return is_on(mutant);
        }
        if !SEEN[mutant as usize].swap(true, Relaxed) {
            if let Some(file) = FILE.lock().unwrap().as_mut() {
                let _ = file.write_all(format!("{mutant}\\n").as_bytes());
            }
        }
        false
    }
}
"""


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
        return hashlib.sha256((self.file_hash + self.name).encode()).hexdigest()[:16]


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
    return [*_list_operators(crate, files), *_list_numbers(crate, files)]


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
    return hashlib.sha256(content.split(b"\n#[cfg(test)]\nmod tests {")[0]).hexdigest()


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


def rewrite(path: str, content: bytes, mutants: list[RustMutant]) -> str:
    """A source with all its mutants in it, each between comments that say which."""
    tree = parse(content)
    crate = path.split("/")[1]
    call = "crate" if crate == "units" and "/src/" in path else "trunkline_units"
    wraps: dict[tuple[int, int, str], list[RustMutant]] = defaultdict(list)
    returns: dict[int, list[RustMutant]] = defaultdict(list)
    for mutant in mutants:
        if mutant.genre == "FnValue":
            returns[mutant.start].append(mutant)
            continue
        node = _find_expression(tree, mutant)
        if node is None:
            mutant.is_viable = False
            continue
        wraps[node.start_byte, node.end_byte, node.type].append(mutant)

    def is_on(mutant: RustMutant) -> str:
        return f"{call}::mutants::is_on({mutant.number})"

    def render(node: Any) -> str:
        key = (node.start_byte, node.end_byte, node.type)
        here = wraps.pop(key, [])
        pieces, at = [], node.start_byte
        for child in node.children:
            pieces.append(content[at : child.start_byte].decode())
            for mutant in returns.pop(child.start_byte, []):
                body = f"if {is_on(mutant)} {{ return {mutant.new}; }}"
                pieces.append(f"/*<{mutant.number}*/{body}/*{mutant.number}>*/ ")
            pieces.append(render(child))
            at = child.end_byte
        pieces.append(content[at : node.end_byte].decode())
        text = "".join(pieces)
        for mutant in here:
            changed = content[node.start_byte : mutant.start].decode() + mutant.new
            changed += content[mutant.end : node.end_byte].decode()
            inner = f"if {is_on(mutant)} {{ {changed} }} else {{ {text} }}"
            text = f"/*<{mutant.number}*/({inner})/*{mutant.number}>*/"
        return text

    return content[: tree.start_byte].decode() + render(tree) + content[tree.end_byte :].decode()


_WRAPPED_NODES = {
    "BinaryOperator": {"binary_expression", "compound_assignment_expr"},
    "UnaryOperator": {"unary_expression"},
    "MatchArm": {"match_expression"},
    "StructField": {"struct_expression"},
}


def _find_expression(tree: Any, mutant: RustMutant) -> Any:
    """Find the smallest expression that the change is in, None where it has to be fixed."""
    node = tree.descendant_for_byte_range(mutant.start, max(mutant.start, mutant.end - 1))
    wanted = _WRAPPED_NODES.get(mutant.genre)
    while node is not None:
        exact = (node.start_byte, node.end_byte) == (mutant.start, mutant.end)
        # The outermost node of a guard's own text.
        larger = node.parent
        same = larger is not None and (larger.start_byte, larger.end_byte) == (
            node.start_byte, node.end_byte,
        )  # fmt: skip
        if node.type in wanted if wanted else exact and not same:
            break
        if node.end_byte - node.start_byte > 100_000:
            return None
        node = larger
    above = node
    while above is not None:
        if above.type in ("const_item", "static_item", "macro_invocation", "array_type"):
            return None
        if above.type == "function_item" and b"const fn" in above.text.split(b"{", 1)[0]:
            return None
        above = above.parent
    return node


def prepare_workspace(rewritten: set[str]) -> None:
    """Copy what the crates and their tests need to a folder, but for what is rewritten there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "crates", "bench", "python", "tests", "Cargo.toml", "Cargo.lock"],
        cwd=steps.ROOT, capture_output=True, check=True,
    ).stdout.decode().split("\0")  # fmt: skip
    for path in filter(None, listed):
        source, target = os.path.join(steps.ROOT, path), os.path.join(WORKSPACE, path)
        if path not in rewritten and os.path.isfile(source):
            with open(source, "rb") as stream:
                _write_if_other(target, stream.read())


def _write_if_other(path: str, content: bytes) -> None:
    """Write a file unless it is so already: cargo compiles anew what is newer."""
    try:
        with open(path, "rb") as stream:
            if stream.read() == content:
                return
    except OSError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(content)


def compile_mutants(crates: Iterable[str]) -> tuple[list[RustMutant], dict[str, list[str]]]:
    """Compile the crates with all their mutants.

    Parameters
    ----------
    crates : iterable of str
        Names.

    Returns
    -------
    mutants : list of RustMutant
        Those that compile have ``is_viable``.
    programs : dict of str to list of str
        Test programs by crate.
    """
    mutants: list[RustMutant] = []
    for crate in crates:
        mutants += list_mutants(crate)
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    refused = _read_refused()
    for mutant in mutants:
        mutant.is_viable = mutant.identity not in refused
    by_number = {mutant.number: mutant for mutant in mutants}
    by_path: dict[str, list[RustMutant]] = defaultdict(list)
    for mutant in mutants:
        by_path[mutant.path].append(mutant)
    # The switch is in `units`, whatever is mutated.
    stale = {*by_path, SWITCH_PATH}
    prepare_workspace(stale)
    while True:
        for path in stale:
            with open(os.path.join(steps.ROOT, path), "rb") as stream:
                content = stream.read()
            viable = [each for each in by_path[path] if each.is_viable]
            text = rewrite(path, content, viable)
            if path == SWITCH_PATH:
                text += SWITCH_MODULE
            _write_if_other(os.path.join(WORKSPACE, path), text.encode())
        # A check finds what does not compile in a fraction of the time.
        programs, failed = _compile(crates, ["check", "--lib", "--keep-going"])
        if programs is not None:
            programs, failed = _compile(crates, ["test", "--no-run", "--lib", "--tests"])
        if programs is not None:
            break
        if not failed:
            raise StepFailed("the mutants do not compile, in a place that has none")
        print_message(f"{len(failed)} mutants do not compile and are left out")
        stale = set()
        for number in failed:
            by_number[number].is_viable = False
            stale.add(by_number[number].path)
        with open(os.path.join(FOLDER, "refused.txt"), "a", encoding="utf-8") as stream:
            stream.writelines(by_number[number].identity + "\n" for number in sorted(failed))
    return mutants, programs


def _read_refused() -> set[str]:
    try:
        with open(os.path.join(FOLDER, "refused.txt"), encoding="utf-8") as stream:
            return set(stream.read().split())
    except OSError:
        return set()


def _compile(
    crates: Iterable[str], words: list[str]
) -> tuple[dict[str, list[str]] | None, set[int]]:
    """Compile the tests: programs by crate, or the numbers of mutants that do not compile."""
    command = ["cargo", *words, "--release", "--locked", "--message-format=json"]
    command += steps.QUICK_BUILD_OPTIONS
    # As the tests run in the order of a day, a little optimisation is enough.
    command += ["--config", "profile.release.opt-level=1"]
    for crate in crates:
        command += ["-p", f"trunkline-{crate}"]
    environment = {
        **os.environ,
        **steps.CARGO_ENVIRONMENT,
        "CARGO_TARGET_DIR": os.path.join(FOLDER, "target"),
        "RUSTFLAGS": "-A warnings",
    }
    ended = subprocess.run(
        command, cwd=WORKSPACE, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    programs: dict[str, list[str]] = defaultdict(list)
    failed: set[int] = set()
    lost = []
    for line in ended.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message.get("executable"):
            crate = message["manifest_path"].split("/")[-2]
            programs[crate].append(message["executable"])
        if message["reason"] != "compiler-message" or message["message"]["level"] != "error":
            continue
        spans = message["message"]["spans"]
        found = {n for span in spans if (n := _find_number(span)) is not None}
        failed |= found
        if spans and not found:
            lost.append(message["message"]["rendered"])
    if ended.returncode == 0:
        return programs, set()
    if not failed:
        print("\n".join(lost) or ended.stderr[-5000:])
    return None, failed


def _find_number(span: dict[str, Any]) -> int | None:
    """Find the number of the innermost mutant that a message points into."""
    while span["expansion"] is not None:
        span = span["expansion"]["span"]
    path = os.path.join(WORKSPACE, span["file_name"])
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as stream:
        content = stream.read()
    start, end = span["byte_start"], span["byte_end"]
    # The mutated text of a wrap comes right after its switch.
    best: tuple[int, int] | None = None
    for found in re.finditer(rb"/\*<(\d+)\*/", content):
        if found.start() > end:
            break
        number = int(found[1])
        close = content.find(b"/*%d>*/" % number, found.end())
        if found.start() <= start and end <= close + 20:
            size = close - found.start()
            if best is None or size < best[0]:
                best = (size, number)
    return best[1] if best else None


@dataclass
class TestCase:
    """A test of a program, and what it needs."""

    crate: str
    program: str
    name: str
    cpu_s: float = 0.0


def list_tests(programs: dict[str, list[str]]) -> list[TestCase]:
    """List all tests of the programs."""
    found = []
    for crate, paths in programs.items():
        for path in sorted(paths):
            listed = subprocess.run(
                [path, "--list", "--format", "terse"],
                cwd=os.path.join(WORKSPACE, "crates", crate), capture_output=True, text=True,
                check=True,
            ).stdout  # fmt: skip
            names = [each.removesuffix(": test") for each in listed.splitlines()]
            found += [TestCase(crate, path, name) for name in names if name]
    return found


def _run_tests(
    crate: str, program: str, names: list[str], switch: str, cpu_limit_s: float
) -> tuple[bool, float]:
    """Whether tests of a program pass, and the processor's time they take."""

    def limit() -> None:
        most = int(cpu_limit_s) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))

    with subprocess.Popen(
        [program, "--exact", "--test-threads", "1", *names],
        cwd=os.path.join(WORKSPACE, "crates", crate),
        env={**os.environ, SWITCH: switch, "PROPTEST_RNG_SEED": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=limit,
    ) as process:
        # A test that waits for nothing uses no time.
        try:
            _, status, usage = _wait(process, cpu_limit_s * 60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False, cpu_limit_s
    return status == 0, usage


def _wait(process: "subprocess.Popen[bytes]", wall_limit_s: float) -> tuple[int, int, float]:
    import threading

    timer = threading.Timer(wall_limit_s, process.kill)
    timer.start()
    try:
        pid, status, usage = os.wait4(process.pid, 0)
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return pid, process.returncode, usage.ru_utime + usage.ru_stime


def note_reached(tests: list[TestCase], jobs: int) -> dict[int, list[TestCase]]:
    """Run each test alone: the tests that reach each mutant, the quick ones first."""
    reached: dict[int, list[TestCase]] = defaultdict(list)
    notes_folder = os.path.join(FOLDER, "notes")
    shutil.rmtree(notes_folder, ignore_errors=True)
    os.makedirs(notes_folder)

    def run(numbered: tuple[int, TestCase]) -> tuple[TestCase, list[int]]:
        number, test = numbered
        notes = os.path.join(notes_folder, str(number))
        passes, test.cpu_s = _run_tests(
            test.crate, test.program, [test.name], f"notes:{notes}", 600
        )
        if not passes:
            print_message(f"{test.name} fails without a mutant and is left out")
            return test, []
        try:
            with open(notes, encoding="utf-8") as stream:
                return test, [int(each) for each in stream.read().split()]
        except OSError:
            return test, []

    with ThreadPoolExecutor(jobs) as pool:
        for test, numbers in pool.map(run, enumerate(tests)):
            for number in numbers:
                reached[number].append(test)
    for cases in reached.values():
        cases.sort(key=lambda test: test.cpu_s)
    return reached


def try_mutant(mutant: RustMutant, tests: list[TestCase]) -> str:
    """``caught`` or ``lives``: on tests of its own crate, then on those of the others."""
    own = [test for test in tests if test.crate == mutant.crate]
    others = [test for test in tests if test.crate != mutant.crate]
    for cases in (own, others):
        for program, names, cpu_s in _batch(cases):
            crate = next(test.crate for test in cases if test.program == program)
            limit = max(MIN_CPU_LIMIT_S, 10 * cpu_s)
            passes, _ = _run_tests(crate, program, names, str(mutant.number), limit)
            if not passes:
                return "caught"
    return "lives"


def _batch(tests: list[TestCase]) -> Iterator[tuple[str, list[str], float]]:
    """Groups of tests of one program that take little time together."""
    waiting: dict[str, tuple[list[str], float]] = {}
    for test in tests:
        names, total = waiting.pop(test.program, ([], 0.0))
        if names and total + test.cpu_s > BATCH_S:
            yield test.program, names, total
            names, total = [], 0.0
        waiting[test.program] = ([*names, test.name], total + test.cpu_s)
    for program, (names, total) in waiting.items():
        yield program, names, total


def get_journal_path(crate: str) -> str:
    """Return the file of the outcomes of a crate's mutants."""
    return os.path.join(FOLDER, f"{crate}.jsonl")


def read_journal(crate: str) -> dict[str, str]:
    """Read the outcomes by identity, the last of each."""
    try:
        with open(get_journal_path(crate), encoding="utf-8") as stream:
            rows = [json.loads(line) for line in stream]
    except OSError:
        return {}
    return {row["of"]: row["outcome"] for row in rows}


def read_compiled(crate: str) -> dict[str, str]:
    """Read the mutants of a crate that compiled at the last run: names by identity."""
    try:
        with open(_get_list_path(crate), encoding="utf-8") as stream:
            names: dict[str, str] = json.load(stream)
    except OSError:
        return {}
    return names


def _get_list_path(crate: str) -> str:
    return os.path.join(FOLDER, f"{crate}.list.json")


def read_outcomes(crate: str) -> dict[str, str]:
    """Read the mutants of a crate that were tried: ``caught`` or ``lives``, by name."""
    known = read_journal(crate)
    return {name: known[of] for of, name in read_compiled(crate).items() if of in known}


def try_crates(crates: list[str], difference: str | None) -> None:
    """Try the mutants of crates that no earlier run has caught.

    Parameters
    ----------
    crates : list of str
        Names.
    difference : str or None
        Path of a difference: only mutants of its lines are tried, on tests of their own crate.
    """
    clock = Stopwatch()
    jobs = os.cpu_count() or 1
    mutants, programs = compile_mutants(CRATES)
    mutants = [each for each in mutants if each.is_viable]
    for crate in CRATES:
        names = {each.identity: each.name for each in mutants if each.crate == crate}
        with open(_get_list_path(crate), "w", encoding="utf-8") as stream:
            json.dump(names, stream)
    print_message(f"{len(mutants)} mutants compiled ({clock})")
    journals = {crate: read_journal(crate) for crate in crates}
    left = [
        each
        for each in mutants
        if each.crate in crates and journals[each.crate].get(each.identity) != "caught"
    ]
    if difference is not None:
        changed = find_changed_lines(difference)
        left = [each for each in left if each.line in changed.get(each.path, ())]
        own = {each.crate for each in left}
        programs = {crate: paths for crate, paths in programs.items() if crate in own}
    print_message(f"{len(left)} mutants of {', '.join(crates)} remain to try")
    tests = list_tests(programs)
    reached = note_reached(tests, jobs)
    print_message(f"{len(tests)} tests noted what they reach ({clock})")

    def judge(mutant: RustMutant) -> None:
        outcome = try_mutant(mutant, reached.get(mutant.number, []))
        row = {"of": mutant.identity, "mutant": mutant.name, "outcome": outcome}
        with open(get_journal_path(mutant.crate), "a", encoding="utf-8") as journal:
            journal.write(json.dumps(row) + "\n")
        if outcome == "lives":
            print(f"lives: {mutant.name}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(judge, left))


if __name__ == "__main__":
    try_crates(sys.argv[1].split(","), sys.argv[2] if len(sys.argv) > 2 else None)

"""Compiles the Rust crates once with all their mutants, each behind a switch.

A mutated expression becomes ``if mutants::is_on(17) { mutated } else { original }``, in a copy of
the repository that is compiled once for all crates. What does not compile is left out.
"""

import json
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import setup_steps as steps
from mutant_journal import FOLDER
from rust_mutant_list import RustMutant, parse
from shell import StepFailed, print_message

ALL_FOLDER = FOLDER
PART_FOLDER = os.path.join(FOLDER, "part")
"""Where the crates are compiled: with all mutants, or with those of a change or a sample alone."""
SWITCH = "TRUNKLINE_MUTANT"
"""Variable with the number of the mutant that is on, or ``notes:`` and a file for those reached."""
SWITCH_PATH = "crates/units/src/lib.rs"

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
            let word = std::env::var("SWITCH").unwrap_or_default();
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
""".replace("SWITCH", SWITCH)


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


_COPIED_PLACES = ["crates", "bench", "python", "tests", "Cargo.toml", "Cargo.lock"]


def prepare_workspace(folder: str, rewritten: set[str]) -> None:
    """Copy what the crates and their tests need to a folder, but for what is rewritten there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *_COPIED_PLACES],
        cwd=steps.ROOT, capture_output=True, check=True,
    ).stdout.decode().split("\0")  # fmt: skip
    for path in filter(None, listed):
        source = os.path.join(steps.ROOT, path)
        target = os.path.join(folder, "workspace", path)
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


def compile_mutants(
    folder: str, crates: Iterable[str], mutants: list[RustMutant]
) -> dict[str, list[str]]:
    """Compile the tests of crates with mutants.

    Parameters
    ----------
    folder : str
        Where to; what is there already is not compiled again.
    crates : iterable of str
        Names.
    mutants : list of RustMutant
        Theirs. They get numbers, and those that do not compile are no longer ``is_viable``.

    Returns
    -------
    dict of str to list of str
        Test programs by crate.
    """
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    refused = read_refused()
    for mutant in mutants:
        mutant.is_viable = mutant.identity not in refused
    by_number = {mutant.number: mutant for mutant in mutants}
    by_path: dict[str, list[RustMutant]] = defaultdict(list)
    for mutant in mutants:
        by_path[mutant.path].append(mutant)
    # The switch is in `units`, whatever is mutated.
    stale = {*by_path, SWITCH_PATH}
    prepare_workspace(folder, stale)
    while True:
        for path in stale:
            with open(os.path.join(steps.ROOT, path), "rb") as stream:
                content = stream.read()
            viable = [each for each in by_path[path] if each.is_viable]
            text = rewrite(path, content, viable)
            if path == SWITCH_PATH:
                text += SWITCH_MODULE
            _write_if_other(os.path.join(folder, "workspace", path), text.encode())
        # A check finds what does not compile in a fraction of the time.
        programs, failed = _compile(folder, crates, ["check", "--lib", "--keep-going"])
        if programs is not None:
            programs, failed = _compile(folder, crates, ["test", "--no-run", "--lib", "--tests"])
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
    return programs


def compile_module(folder: str) -> str:
    """Compile the module of the engine for Python, where ``compile_mutants`` has made the sources.

    Returns: Its path.
    Raises StepFailed: It does not compile.
    """
    if _compile(folder, ["python"], ["build", "--lib"])[0] is None:
        raise StepFailed("the engine's module does not compile with mutants")
    return os.path.join(folder, "target", "release", "lib_core.so")


def read_refused() -> set[str]:
    """Read the identities of mutants that did not compile."""
    try:
        with open(os.path.join(FOLDER, "refused.txt"), encoding="utf-8") as stream:
            return set(stream.read().split())
    except OSError:
        return set()


def _compile(
    folder: str, crates: Iterable[str], words: list[str]
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
        "CARGO_TARGET_DIR": os.path.join(folder, "target"),
        "RUSTFLAGS": "-A warnings",
    }
    ended = subprocess.run(
        command,
        cwd=os.path.join(folder, "workspace"),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
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
        found = {n for span in spans if (n := _find_number(folder, span)) is not None}
        failed |= found
        if spans and not found:
            lost.append(message["message"]["rendered"])
    if ended.returncode == 0:
        return programs, set()
    if not failed:
        print("\n".join(lost) or ended.stderr[-5000:])
    return None, failed


def _find_number(folder: str, span: dict[str, Any]) -> int | None:
    """Find the number of the innermost mutant that a message points into."""
    while span["expansion"] is not None:
        span = span["expansion"]["span"]
    path = os.path.join(folder, "workspace", span["file_name"])
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

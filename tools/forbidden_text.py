"""Check the tree for unsafe calls, unfinished work, paths of one machine, and odd idioms."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Endings of files, pattern, reason or better words. No pattern finds itself.
FORBIDDEN_PATTERNS: list[tuple[tuple[str, ...], str, str]] = [
    ((".py",), r"(?<![\w.])(eval|exec)\(", "input is parsed, never executed"),
    (
        (".py",),
        r"\b(import|from)\s+(pickle|cPickle|shelve|marshal|dill)\b|pickle\.(loads?|dumps?)\(",
        "results are data, not objects",
    ),
    ((".py",), r"allow_pickle\s*=\s*True", "arrays are data, not objects"),
    ((".py",), r"shell\s*=\s*True|os\.system\(|os\.popen\(", "programs start without a shell"),
    ((".py",), r"yaml\.(safe_|full_|unsafe_)?load(_all)?\(", "the scenario loader reads YAML"),
    ((".py",), r"^\s*(import|from)\s+random\b|np\.random\.(seed|rand)\b", "streams are named"),
    ((".js", ".html", ".j2"), r"\.(inner|outer)HTML\b|document\.write", "text is set as text"),
    ((".rs",), r"\b(todo|unimplemented|dbg)!", "unfinished"),
    ((".rs",), r"\.(ln|exp|powf|log10|log2)\(\)?", "maths goes through trunkline_units::math"),
    ((".py", ".rs", ".md", ".yaml", ".toml"), r"\b(TO[D]O|FIX[M]E|XX[X])\b", "unfinished"),
    ((), r"(?<![\w.])/(home|root|Users)/\w", "a path of one machine"),
    (
        (".py", ".rs", ".md", ".yaml", ".j2", ".js", ".ipynb"),
        r"(?i)\b(hangs? on|h(eld|old)( \w+)? against|made a[g]ain|its k[i]n)\b",
        "show, report, depend on, compare with, repeat",
    ),
    (
        (".py", ".rs", ".md", ".j2"),
        r"(?i)\b(s[a]id|t[o]ld(?! (apart|from)\b)|t[e]lls?(?!.{0,60}\bapart\b)(?! the stor))\b"
        r"|to be h[a]d\b",
        "write, give, show, report, advertise",
    ),
    (
        (".py", ".rs", ".md", ".j2"),
        r"(?i)(?<!soon )(?<!far )(?<![\"`])\bas (it|they) (was|were|is|are)\b"
        r"(?! (faint|sent|typed|known|met|set|at))"
        r"|\bst[a]nds? (in|at|above|below|behind|before|there)\b",
        "unchanged, at present; is, follows",
    ),
    (
        (".py", ".rs"),
        r"(?i)\bbes[i]de\b|\bgo(es)? on( with|\b)|\b(is|are) to b[e]\b|\bcame o[u]t\b"
        r"|\bbec[ao]mes? o[f]\b",
        "next to, compared with; continue; must be; result",
    ),
    (
        (".py", ".rs"),
        r"(\"{3}|//[/!] )(What|Who|Which)\b|(# |: )What \w",
        "a description begins with a verb or a noun",
    ),
    (
        (".py", ".rs", ".md", ".j2"),
        r"\"{3}See (whether|that)\b|(?i:\bspeaks? o[f]\b)|\bIt is n[o]ne\b",
        "check whether; refer to, use; say which condition fails",
    ),
    (
        (".py", ".rs"),
        r"(description=\"|help=\"|///? |^\s*\"{3})(Most|Least) (?!elements)[a-z]",
        "maximum, minimum",
    ),
]
# Places where a rule does not hold.
ALLOWED_PLACES = {
    # Our own files, which no user writes.
    (r"python/trunkline/scenario/presets\.py", "the scenario loader reads YAML"),
    (r"tests/.*", "the scenario loader reads YAML"),
    (r"tests/.*", "streams are named"),
    # The old name of a file; the words of published documents.
    (r"tests/.*|CHANGELOG\.md", "write, give, show, report, advertise"),
    (r"tests/.*|docs/studies/.*", "unchanged, at present; is, follows"),
    (r"tests/.*|crates/\w+/tests/.*", "next to, compared with; continue; must be; result"),
    (r"tests/.*|crates/\w+/tests/.*", "a description begins with a verb or a noun"),
    # The module itself, and closed forms that results are compared with under a tolerance.
    (r"crates/units/src/math\.rs", "maths goes through trunkline_units::math"),
    (r"crates/\w+/tests/.*", "maths goes through trunkline_units::math"),
    (r"crates/.*/(\w+_)?tests\.rs", "maths goes through trunkline_units::math"),
}
BINARY_SUFFIXES = {".png", ".pdf", ".parquet", ".so", ".gz", ".ico", ".woff2"}
# Made by programs, the tests of this one, or a list of words as well.
UNCHECKED_FILES = {"Cargo.lock", "tests/tools/test_gates.py", "tools/names.py"}


def list_files() -> list[Path]:
    """List the files of the tree: tracked, or new and not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    return [ROOT / name for name in sorted(set(names.decode().split("\0"))) if name]


def main() -> int:
    """Print every place of a forbidden word. Returns: 1 if there is any."""
    rules = [(endings, re.compile(pattern), why) for endings, pattern, why in FORBIDDEN_PATTERNS]
    faults = 0
    for file in list_files():
        place = file.relative_to(ROOT).as_posix()
        if not file.is_file() or file.suffix in BINARY_SUFFIXES or place in UNCHECKED_FILES:
            continue
        matching_rules = [
            (pattern, why)
            for endings, pattern, why in rules
            if (not endings or file.suffix in endings)
            and not any(re.fullmatch(where, place) for where, what in ALLOWED_PLACES if what == why)
        ]
        # Some files are there because they are not UTF-8.
        text = file.read_text("utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, why in matching_rules:
                found = pattern.search(line)
                if found:
                    print(f"{place}:{number}: {found[0]!r}: {why}")
                    faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

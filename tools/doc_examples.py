"""Run the examples of the documentation: its commands, its Python and its scenarios.

In README.md, ARCHITECTURE.md and docs/**/*.md:

- ``console`` blocks: lines after ``$ `` are run by sh; the lines below, if any, must be what is
  printed, where ``...`` stands for anything.
- ``python`` blocks of a page are run one after the other in one namespace.
- ``yaml`` blocks that begin a scenario (``trunkline: 1``) must load and compile; one right below
  ``<!-- file: name.yaml -->``, or a ``csv`` block, is there as that file for the blocks after it.

A block right below ``<!-- not run: why -->`` is left out; of a ``python`` block the imports run.
Each page has a folder of its own. Names of the package in running text, such as `trunkline.study`,
have to be there.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

from prefork import PreforkServer

ROOT = Path(__file__).resolve().parent.parent
CODE_FENCE = re.compile(
    r"^(?P<mark>`{3,})(?P<kind>[\w-]*)[^\n]*\n(?P<body>.*?)^(?P=mark)\s*$", re.M | re.S
)
SKIP_MARK = re.compile(r"<!--\s*not run: \S(?:(?!-->).)*-->\s*$", re.S)
FILE_MARK = re.compile(r"<!--\s*file: (?P<name>[\w-]+\.(?:yaml|csv))\s*-->\s*$")
PACKAGE_NAME = re.compile(r"`(trunkline(?:\.\w+)+)")
USES_PROGRAM = re.compile(r"^(\$ trunkline|`{3,}python)", re.M)
MAX_RUN_S = 120


@dataclass(frozen=True)
class CodeBlock:
    """A block of a page."""

    page: Path
    line: int
    kind: str
    body: str
    file: str = ""

    @property
    def place(self) -> str:
        """Page and line."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def list_pages(names: list[str]) -> list[Path]:
    """List the pages to look at. names: Paths; all pages if there are none."""
    if names:
        return [Path(name).resolve() for name in names]
    return [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read_blocks(page: Path) -> list[CodeBlock]:
    """Read the blocks of a page to run."""
    text = page.read_text("utf-8")
    blocks = []
    for fence_match in CODE_FENCE.finditer(text):
        before, kind, body = text[: fence_match.start()], fence_match["kind"], fence_match["body"]
        if SKIP_MARK.search(before):
            if kind != "python":
                continue
            body = keep_imports(body)
        file_match = FILE_MARK.search(before)
        line = text.count("\n", 0, fence_match.start("body")) + 1
        blocks.append(CodeBlock(page, line, kind, body, file_match["name"] if file_match else ""))
    return blocks


def keep_imports(program: str) -> str:
    """Keep the imports of a program, which fail where a page names what is not there."""
    statements = ast.parse(program).body
    imports = [each for each in statements if isinstance(each, ast.Import | ast.ImportFrom)]
    return "".join(f"{ast.unparse(each)}\n" for each in imports)


def run_command(
    command: list[str], folder: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command; one that takes too long ends as `timeout` ends it, with 124 and a word."""
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=MAX_RUN_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"not over after {MAX_RUN_S} s\n")


def run_console(block: CodeBlock, folder: str) -> str | None:
    """Run the commands of a block.

    folder: Where they run.
    Returns: Description of the fault.
    """
    steps: list[tuple[str, list[str]]] = []
    for line in block.body.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps and steps[-1][0].endswith("\\") and line.startswith("> "):
            steps[-1] = (steps[-1][0][:-1] + line[2:], [])
        elif steps:
            steps[-1][1].append(line)
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    for command, expected in steps:
        completed = run_command(["sh", "-c", command], folder, environment)
        printed = completed.stdout + completed.stderr
        if expected:
            expected_pattern = ".*".join(map(re.escape, "\n".join(expected).strip().split("...")))
            if not re.fullmatch(
                expected_pattern, "\n".join(map(str.rstrip, printed.strip().splitlines())), re.S
            ):
                return f"$ {command}\nprinted:\n{printed}"
        elif completed.returncode:
            return f"$ {command}\nended with {completed.returncode}:\n{printed}"
    return None


def run_python(block: CodeBlock, folder: str, earlier_blocks: list[str]) -> str | None:
    """Run a block after those before it on the page.

    folder: Where it runs.
    earlier_blocks: The page's earlier blocks; this one is added.
    Returns: Description of the fault.
    """
    earlier_blocks.append(block.body)
    program = Path(folder) / ".page.py"
    program.write_text("\n".join(earlier_blocks), encoding="utf-8")
    completed = run_command(["trunkline", program.name], folder)
    return completed.stderr if completed.returncode else None


def check_scenario(block: CodeBlock) -> str | None:
    """Load and compile a scenario.

    Returns: Description of the fault.
    """
    from trunkline.network import compile
    from trunkline.scenario import ScenarioError, load

    if not re.search(r"^trunkline:\s", block.body, re.M):
        return None
    try:
        compile(load(block.body))
    except ScenarioError as error:
        return error.render()
    return None


def find_unknown_names(page: Path) -> list[str]:
    """Find names of the package in a page that are not there."""
    names = sorted(set(PACKAGE_NAME.findall(page.read_text("utf-8"))))
    return [f"{page.relative_to(ROOT)}: there is no {name}" for name in names if not is_known(name)]


def is_known(name: str) -> bool:
    """Whether a name with dots is a module, or of a module."""
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def run_page(page: Path) -> tuple[int, list[str]]:
    """Run every block of a page, in a folder of its own.

    Returns: How many blocks were run, and faults with their places.
    """
    earlier_blocks: list[str] = []
    faults = find_unknown_names(page)
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for block in read_blocks(page):
            if block.file:
                (Path(folder) / block.file).write_text(block.body, encoding="utf-8")
            if block.kind == "console":
                fault = run_console(block, folder)
            elif block.kind == "python":
                fault = run_python(block, folder, earlier_blocks)
            elif block.kind in {"yaml", "yml"}:
                fault = check_scenario(block)
            else:
                continue
            count += 1
            if fault:
                faults.append(f"{block.place}: {fault}")
    return count, faults


def main(names: list[str]) -> int:
    """Run every block, pages side by side, and print faults.

    names: Pages; all if there are none.
    Returns: 1 if anything is wrong.
    """
    chosen = list_pages(names)
    with ExitStack() as stack:
        path_folders = [os.path.dirname(sys.executable), os.environ["PATH"]]
        if any(USES_PROGRAM.search(page.read_text("utf-8")) for page in chosen):
            path_folders.insert(0, stack.enter_context(tempfile.TemporaryDirectory()))
            stack.enter_context(PreforkServer(path_folders[0]))
        os.environ["PATH"] = os.pathsep.join(path_folders)
        pool = stack.enter_context(ThreadPoolExecutor(os.cpu_count()))
        page_results = list(pool.map(run_page, chosen))
    faults = [fault for _, page_faults in page_results for fault in page_faults]
    print("\n".join(faults), end="\n" if faults else "")
    count = sum(block_count for block_count, _ in page_results)
    print(f"{count} blocks, {len(faults)} wrong")
    return 1 if faults or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

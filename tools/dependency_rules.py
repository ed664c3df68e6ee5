"""Check that imports point one way: the Python packages', the crates', and the crates' reach.

The map is also a table of ARCHITECTURE.md, which must say the same. Imports inside functions and
for types count like any others.
"""

from __future__ import annotations

import ast
import graphlib
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Package or module below trunkline: which others it may import.
ALLOWED_IMPORTS: dict[str, set[str]] = {
    "_core": set(),
    "lazy_imports": set(),
    "notebook_form": set(),
    "te": set(),
    "scenario": {"lazy_imports", "notebook_form", "te"},
    "importers": {"scenario"},
    "network": {"scenario"},
    "results": {"lazy_imports", "notebook_form", "_core"},
    "stats": {"lazy_imports", "results"},
    "engine": {"_core", "scenario", "network", "results"},
    "linux": {"_core", "scenario", "network", "results", "stats", "engine"},
    "routers": {"scenario", "network", "linux"},
    "fluid": {"_core", "te", "scenario", "network", "results", "stats", "engine", "linux"},
    "decomposition": {"_core", "results", "engine", "fluid"},
    "api": {"scenario", "network", "results", "stats", "engine", "fluid", "decomposition"},
    "compare": {
        "lazy_imports",
        "notebook_form",
        "_core",
        "scenario",
        "network",
        "results",
        "stats",
        "engine",
    },
    "plot": {"results", "stats"},
    "trace": {"_core", "results"},
    "study": {
        "lazy_imports",
        "notebook_form",
        "scenario",
        "importers",
        "network",
        "results",
        "stats",
        "engine",
        "plot",
    },
    "planning": {
        "lazy_imports",
        "te",
        "scenario",
        "network",
        "results",
        "stats",
        "engine",
        "fluid",
        "decomposition",
        "plot",
        "study",
    },
    "report": {"scenario", "network", "results", "stats", "engine", "plot", "study"},
    "notebook": {"scenario", "network", "results", "compare", "plot", "study", "report"},
    "workbench": {
        "scenario",
        "network",
        "results",
        "stats",
        "linux",
        "compare",
        "plot",
        "study",
        "planning",
    },
    "live": {"scenario", "network", "results", "stats", "engine", "compare", "report"},
    "share": {"_core", "scenario", "network", "results", "stats", "engine", "report", "live"},
    "examples": set(),
    "studies": set(),
}
# The contract's types: no code, so any package may name them.
TYPES_MODULE = "network.types"
# These two are above all others; nothing but each other may import them.
TOP_MODULES = {"cli", "__main__"}

# Packages in which no function hides an import, and imports for types make no circle either.
STRICT_PACKAGES = ("scenario", "network")
# Files that choose one of several pictures, and the chosen files, which build on them.
CHOOSERS = {
    "study.language.pictures": {
        "study.language.point_scenarios",
        "study.outcome.reproduction_files",
    },
}

ALLOWED_CRATES: dict[str, set[str]] = {
    "trunkline-units": set(),
    "trunkline-packet": {"trunkline-units"},
    "trunkline-port": {"trunkline-units", "trunkline-packet"},
    "trunkline-agent": {"trunkline-units", "trunkline-packet"},
    "trunkline-control": {"trunkline-units"},
    "trunkline-engine": {
        "trunkline-units",
        "trunkline-packet",
        "trunkline-port",
        "trunkline-agent",
        "trunkline-control",
    },
    "trunkline-pcapng": set(),
    "trunkline-guest": set(),
    "trunkline-python": {"trunkline-engine", "trunkline-guest", "trunkline-pcapng"},
    "trunkline-web": {"trunkline-engine"},
}
# Crates from outside, with their purposes in docs/decisions/0002-dependencies.md.
ALLOWED_EXTERNAL_CRATES = {"chacha20", "libm", "pyo3", "rand_core", "serde", "serde_json"}
ALLOWED_EXTERNAL_TEST_CRATES = ALLOWED_EXTERNAL_CRATES | {"proptest"}
# A mechanism is given time and random numbers; it never fetches them.
FORBIDDEN_IN_MECHANISMS = (
    "std::fs",
    "std::net",
    "std::thread",
    "std::time",
    "std::process",
    "std::env",
    "HashMap",
)
MECHANISM_CRATES = ("units", "packet", "port", "agent")


def find_import_faults() -> list[str]:
    """Imports of the Python package against the map. Returns: One line a fault."""
    faults = []
    package = ROOT / "python" / "trunkline"
    for file in sorted(package.rglob("*.py")):
        relative_path = file.relative_to(package)
        package_name = relative_path.parts[0].removesuffix(".py")
        if package_name == "__init__":
            continue
        if package_name not in ALLOWED_IMPORTS and package_name not in TOP_MODULES:
            faults.append(
                f"{relative_path}: {package_name} is not on the map in tools/dependency_rules.py"
            )
            continue
        for line, name in list_imports(ast.parse(file.read_text("utf-8")), relative_path):
            target = name.partition(".")[0]
            if target in {"", "__version__", package_name} or package_name in TOP_MODULES:
                continue
            if target in TOP_MODULES or target not in ALLOWED_IMPORTS[package_name]:
                faults.append(
                    f"python/trunkline/{relative_path}:{line}: {package_name} "
                    f"may not import {target}"
                )
    return faults


def list_imports(tree: ast.AST, place: Path) -> list[tuple[int, str]]:
    """List the imports of trunkline in a file, or in a part of it.

    tree: The file or the part.
    place: The file below the package.
    Returns: Line and dotted name below trunkline; empty for names of trunkline itself.
    """
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            base = node.module or ""
            if node.level:
                folder = ("trunkline", *place.parts[:-1])
                start = folder[: len(folder) - node.level + 1]
                base = ".".join([*start, base] if base else start)
            names = [f"{base}.{a.name}" for a in node.names]
        for name in names:
            head, _, rest = name.partition(".")
            if head == "trunkline" and not f"{rest}.".startswith(f"{TYPES_MODULE}."):
                found.append((node.lineno, rest))
    return found


def find_circular_imports() -> list[str]:
    """Circles of files; in strict packages imports inside functions as well.

    A file may name the types of a file that imports it, because such an import never runs.
    Returns: One line a fault.
    """
    faults = []
    package = ROOT / "python" / "trunkline"
    files = {
        ".".join(file.relative_to(package).with_suffix("").parts).removesuffix(".__init__"): file
        for file in sorted(package.rglob("*.py"))
    }
    imports_by_file: dict[str, set[str]] = {}
    for name, file in files.items():
        tree, place = ast.parse(file.read_text("utf-8")), file.relative_to(package)
        if name.partition(".")[0] in STRICT_PACKAGES:
            faults += [
                f"python/trunkline/{place}:{line}: an import inside a function"
                for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef)
                for line, _ in list_imports(node, place)
            ]
        else:
            tree.body = [node for node in tree.body if not is_for_types(node)]
        targets = {target for _, target in list_imports(tree, place)}
        # A name of a module is that module, any other is of the module that it comes from.
        modules = {
            imported_name if imported_name in files else imported_name.rpartition(".")[0]
            for imported_name in targets
        }
        imports_by_file[name] = (modules & files.keys()) - {name} - CHOOSERS.get(name, set())
    try:
        graphlib.TopologicalSorter(imports_by_file).prepare()
    except graphlib.CycleError as error:
        faults.append(f"files import each other in a circle: {' <- '.join(error.args[1])}")
    return faults


def is_for_types(node: ast.stmt) -> bool:
    """Whether a statement is ``if TYPE_CHECKING:``, which no running program enters."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def find_architecture_faults() -> list[str]:
    """Find the map of ARCHITECTURE.md against the one here: its places, their order, their arrows.

    Returns: One line a fault.
    """
    crates = {name.removeprefix("trunkline-"): allowed for name, allowed in ALLOWED_CRATES.items()}
    expected_rows = {
        "crates": {
            name: ", ".join(each for each in crates if f"trunkline-{each}" in allowed) or "-"
            for name, allowed in crates.items()
        },
        "python/trunkline": {
            name: ", ".join(each for each in ALLOWED_IMPORTS if each in allowed) or "-"
            for name, allowed in ALLOWED_IMPORTS.items()
            if name != "_core"
        },
    }
    expected_rows["python/trunkline"]["cli"] = "all above"
    rows: dict[str, dict[str, str]] = {folder: {} for folder in expected_rows}
    faults = []
    for line in (ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines():
        cells = [each.strip() for each in line.strip("|").split("|")]
        for place in cells[0].replace("`", "").split(", ") if len(cells) == 3 else ():
            folder, _, name = place.rpartition("/")
            if folder not in rows:
                continue
            misplaced = (
                set(cells[2].split(", ")) - {"-", "all above", "_core"} - rows[folder].keys()
            )
            faults += [f"ARCHITECTURE.md: {place} is above {each}" for each in sorted(misplaced)]
            rows[folder][name] = cells[2]
    return faults + [
        f"ARCHITECTURE.md: {folder}/{name} has {rows[folder].get(name)!r}, here it is {allowed!r}"
        for folder, places in expected_rows.items()
        for name, allowed in places.items()
        if rows[folder].get(name) != allowed
    ]


def find_missing_files() -> list[str]:
    """Find files that the pages for developers name and the repository does not have.

    The walks of ARCHITECTURE.md have ten steps each, with at least one file in each step.
    Returns: One line a fault.
    """
    faults = []
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md", ".github/CODEOWNERS"):
        text = (ROOT / page).read_text("utf-8")
        names = re.findall(r"`((?:crates|python|docs|tools|tests|\.github)/[\w./-]+\.\w+)`", text)
        names += re.findall(r"\]\(([\w./-]+)\)", text)
        names += re.findall(r"^/([\w./-]+)", text, re.MULTILINE)
        faults += [f"{page}: there is no {name}" for name in names if not (ROOT / name).exists()]
        if page != "ARCHITECTURE.md":
            continue
        for walk in re.split(r"^\*\*A", text.partition("## Three walks")[2], flags=re.MULTILINE)[
            1:
        ]:
            steps = re.findall(r"^\d+\. (.*)", walk.partition("\n## ")[0], re.MULTILINE)
            if len(steps) != 10 or not all(
                "`crates/" in s or "`python/" in s or "docs/" in s for s in steps
            ):
                faults.append(f"{page}: the walk 'A{walk[:20]}...' is not ten steps with files")
    return faults


def find_crate_faults() -> list[str]:
    """Dependencies of the crates against the map, and forbidden modules in the mechanisms.

    Returns: One line a fault.
    """
    faults = []
    for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        place = manifest.relative_to(ROOT)
        manifest_data = tomllib.loads(manifest.read_text("utf-8"))
        name = manifest_data["package"]["name"]
        if name not in ALLOWED_CRATES:
            faults.append(f"{place}: {name} is not on the map in tools/dependency_rules.py")
            continue
        for table, allowed_external in (
            ("dependencies", ALLOWED_EXTERNAL_CRATES),
            ("build-dependencies", ALLOWED_EXTERNAL_CRATES),
            ("dev-dependencies", ALLOWED_EXTERNAL_TEST_CRATES),
        ):
            for target in manifest_data.get(table, {}):
                if target not in ALLOWED_CRATES[name] and target not in allowed_external:
                    faults.append(f"{place}: {name} may not depend on {target}")
    for crate in MECHANISM_CRATES:
        for file in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
            # Tests may read files; shipped code may not.
            product_code = file.read_text("utf-8").split("#[cfg(test)]")[0]
            if file.name == "tests.rs" or "tests" in file.parts:
                continue
            for number, line in enumerate(product_code.splitlines(), 1):
                code = line.partition("//")[0]
                faults.extend(
                    f"{file.relative_to(ROOT)}:{number}: {crate} may not reach for {word}"
                    for word in FORBIDDEN_IN_MECHANISMS
                    if word in code
                )
    return faults


def main() -> int:
    """Print every fault. Returns: 1 if there is any."""
    faults = (
        find_import_faults()
        + find_circular_imports()
        + find_crate_faults()
        + find_architecture_faults()
        + find_missing_files()
    )
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""Check that imports point one way: the Python packages', the crates', and the crates' reach.

The map is also a table of ARCHITECTURE.md, which must say the same. Imports inside functions and
for types count like any others.
"""

from __future__ import annotations

import ast
import graphlib
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Package or module below trunkline: which others it may import.
PYTHON: dict[str, set[str]] = {
    "_core": set(),
    "lazy": set(),
    "rich_form": set(),
    "te": set(),
    "scenario": {"lazy", "rich_form", "te"},
    "importers": {"scenario"},
    "network": {"scenario"},
    "results": {"rich_form", "_core"},
    "stats": {"results"},
    "engine": {"_core", "scenario", "network", "results"},
    "linux": {"_core", "scenario", "network", "results", "stats", "engine"},
    "fluid": {"_core", "te", "scenario", "network", "results", "stats", "engine", "linux"},
    "api": {"scenario", "network", "results", "stats", "engine", "fluid"},
    "compare": {"rich_form", "_core", "scenario", "network", "results", "stats", "engine"},
    "plot": {"results", "stats"},
    "trace": {"_core", "results"},
    "study": {
        "lazy",
        "rich_form",
        "scenario",
        "importers",
        "network",
        "results",
        "stats",
        "engine",
        "plot",
    },
    "planning": {"te", "scenario", "network", "results", "stats", "plot", "study"},
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
    "examples": set(),
    "studies": set(),
}
# The contract's types: no code, so any package may name them.
TYPES = "network.types"
# These two stand above all others; nothing but each other may import them.
TOP = {"cli", "__main__"}

# Packages in which no files import each other in a circle, and none hides an import in a function.
ONE_WAY = ("scenario", "network")

CRATES: dict[str, set[str]] = {
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
}
# Crates from outside, with what they are for in docs/decisions/0002-dependencies.md.
OUTSIDE = {"chacha20", "libm", "pyo3", "rand_core", "serde", "serde_json"}
OUTSIDE_IN_TESTS = OUTSIDE | {"proptest"}
# A mechanism is given time and random numbers; it never fetches them.
REACH = ("std::fs", "std::net", "std::thread", "std::time", "std::process", "std::env", "HashMap")
MECHANISMS = ("units", "packet", "port", "agent")


def python_faults() -> list[str]:
    """Imports of the Python package against the map.

    Returns
    -------
    list of str
        One line a fault.
    """
    faults = []
    package = ROOT / "python" / "trunkline"
    for file in sorted(package.rglob("*.py")):
        place = file.relative_to(package)
        home = place.parts[0].removesuffix(".py")
        if home == "__init__":
            continue
        if home not in PYTHON and home not in TOP:
            faults.append(f"{place}: {home} is not on the map in tools/arrows.py")
            continue
        for line, name in imported(ast.parse(file.read_text("utf-8")), place):
            target = name.partition(".")[0]
            if target in {"", "__version__", home} or home in TOP:
                continue
            if target in TOP or target not in PYTHON[home]:
                faults.append(f"python/trunkline/{place}:{line}: {home} may not import {target}")
    return faults


def imported(tree: ast.AST, place: Path) -> list[tuple[int, str]]:
    """What a file, or a part of it, imports of trunkline.

    Parameters
    ----------
    tree : ast.AST
        The file or the part.
    place : Path
        The file below the package.

    Returns
    -------
    list of (int, str)
        Line and dotted name below trunkline; empty for names of trunkline itself.
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
            if head == "trunkline" and not f"{rest}.".startswith(f"{TYPES}."):
                found.append((node.lineno, rest))
    return found


def circle_faults() -> list[str]:
    """Circles of files, and imports inside functions, in packages that have none.

    Returns
    -------
    list of str
        One line a fault.
    """
    faults = []
    package = ROOT / "python" / "trunkline"
    for home in ONE_WAY:
        files = {
            ".".join(file.relative_to(package).with_suffix("").parts).removesuffix(
                ".__init__"
            ): file
            for file in sorted((package / home).rglob("*.py"))
        }
        arrows: dict[str, set[str]] = {}
        for name, file in files.items():
            tree, place = ast.parse(file.read_text("utf-8")), file.relative_to(package)
            targets = {target for _, target in imported(tree, place)}
            # A name of a module is that module, any other is of the module that it comes from.
            modules = {each if each in files else each.rpartition(".")[0] for each in targets}
            arrows[name] = (modules & files.keys()) - {name}
            faults += [
                f"python/trunkline/{place}:{line}: an import inside a function"
                for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef)
                for line, _ in imported(node, place)
            ]
        try:
            graphlib.TopologicalSorter(arrows).prepare()
        except graphlib.CycleError as error:
            faults.append(f"files import each other in a circle: {' <- '.join(error.args[1])}")
    return faults


def map_faults() -> list[str]:
    """The map of ARCHITECTURE.md against the one here: its places, their order, their arrows.

    Returns
    -------
    list of str
        One line a fault.
    """
    crates = {name.removeprefix("trunkline-"): its for name, its in CRATES.items()}
    wanted = {
        "crates": {
            name: ", ".join(each for each in crates if f"trunkline-{each}" in its) or "-"
            for name, its in crates.items()
        },
        "python/trunkline": {
            name: ", ".join(each for each in PYTHON if each in its) or "-"
            for name, its in PYTHON.items()
            if name != "_core"
        },
    }
    wanted["python/trunkline"]["cli"] = "all above"
    rows: dict[str, dict[str, str]] = {folder: {} for folder in wanted}
    faults = []
    for line in (ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines():
        cells = [each.strip() for each in line.strip("|").split("|")]
        for place in cells[0].replace("`", "").split(", ") if len(cells) == 3 else ():
            folder, _, name = place.rpartition("/")
            if folder not in rows:
                continue
            late = set(cells[2].split(", ")) - {"-", "all above", "_core"} - rows[folder].keys()
            faults += [f"ARCHITECTURE.md: {place} stands above {each}" for each in sorted(late)]
            rows[folder][name] = cells[2]
    return faults + [
        f"ARCHITECTURE.md: {folder}/{name} has {rows[folder].get(name)!r}, here it is {its!r}"
        for folder, places in wanted.items()
        for name, its in places.items()
        if rows[folder].get(name) != its
    ]


def crate_faults() -> list[str]:
    """Dependencies of the crates against the map, and what the mechanisms reach for.

    Returns
    -------
    list of str
        One line a fault.
    """
    faults = []
    for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        place = manifest.relative_to(ROOT)
        about = tomllib.loads(manifest.read_text("utf-8"))
        name = about["package"]["name"]
        if name not in CRATES:
            faults.append(f"{place}: {name} is not on the map in tools/arrows.py")
            continue
        for table, outside in (
            ("dependencies", OUTSIDE),
            ("build-dependencies", OUTSIDE),
            ("dev-dependencies", OUTSIDE_IN_TESTS),
        ):
            for target in about.get(table, {}):
                if target not in CRATES[name] and target not in outside:
                    faults.append(f"{place}: {name} may not depend on {target}")
    for crate in MECHANISMS:
        for file in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
            # Tests may read files; what is shipped may not.
            shipped = file.read_text("utf-8").split("#[cfg(test)]")[0]
            if file.name == "tests.rs" or "tests" in file.parts:
                continue
            for number, line in enumerate(shipped.splitlines(), 1):
                code = line.partition("//")[0]
                faults.extend(
                    f"{file.relative_to(ROOT)}:{number}: {crate} may not reach for {word}"
                    for word in REACH
                    if word in code
                )
    return faults


def main() -> int:
    """Print every fault.

    Returns
    -------
    int
        1 if there is any.
    """
    faults = python_faults() + circle_faults() + crate_faults() + map_faults()
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

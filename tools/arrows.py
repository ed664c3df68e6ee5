"""Check that imports point one way: the Python packages', the crates', and the crates' reach.

The map is ARCHITECTURE.md's. Imports inside functions and for types count like any others.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Package or module below trunkline: which others it may import.
PYTHON: dict[str, set[str]] = {
    "_core": set(),
    "scenario": set(),
    "network": {"scenario"},
    "importers": {"scenario"},
    "results": set(),
    "engine": {"_core", "scenario", "network", "results"},
    "linux": {"_core", "scenario", "network", "results", "engine", "stats"},
    "stats": {"results"},
    "plot": {"results", "stats"},
    "trace": {"_core", "results"},
    "study": {"importers", "scenario", "network", "engine", "results", "stats", "plot"},
    "compare": {"_core", "scenario", "network", "engine", "results", "stats"},
    "api": {"scenario", "network", "engine", "results", "stats"},
    "examples": set(),
    "studies": set(),
    "report": {"scenario", "network", "engine", "results", "stats", "plot", "study"},
}
# These two stand above all others; nothing but each other may import them.
TOP = {"cli", "__main__"}

CRATES: dict[str, set[str]] = {
    "trunkline-units": set(),
    "trunkline-packet": {"trunkline-units"},
    "trunkline-port": {"trunkline-units", "trunkline-packet"},
    "trunkline-agent": {"trunkline-units", "trunkline-packet"},
    "trunkline-engine": {
        "trunkline-units",
        "trunkline-packet",
        "trunkline-port",
        "trunkline-agent",
    },
    "trunkline-pcapng": set(),
    "trunkline-guest": set(),
    "trunkline-python": {"trunkline-engine", "trunkline-guest", "trunkline-pcapng"},
}
# Crates from outside, with what they are for in docs/decisions/0002-dependencies.md.
OUTSIDE = {"libm", "pyo3", "rand_chacha", "rand_core", "serde", "serde_json"}
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
        for line, target in imported(file, place):
            if target in {"", "__version__", home} or home in TOP:
                continue
            if target in TOP or target not in PYTHON[home]:
                faults.append(f"python/trunkline/{place}:{line}: {home} may not import {target}")
    return faults


def imported(file: Path, place: Path) -> list[tuple[int, str]]:
    """Packages of trunkline that a file imports.

    Parameters
    ----------
    file : Path
        The file.
    place : Path
        The same, below the package.

    Returns
    -------
    list of (int, str)
        Line and package; the package is empty for names of trunkline itself.
    """
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
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
            names = [f"{base}.{a.name}" for a in node.names] if base == "trunkline" else [base]
        for name in names:
            head, _, rest = name.partition(".")
            if head == "trunkline":
                found.append((node.lineno, rest.partition(".")[0]))
    return found


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
    faults = python_faults() + crate_faults()
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

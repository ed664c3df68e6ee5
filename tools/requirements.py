"""Check that the package, the pinned environments and the doctor name the same dependencies."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS_FOLDER = ROOT / "requirements"
COMPILE_COMMAND = (
    "uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \\\n"
)
COMPILE_COMMAND += "    --no-header --no-annotate requirements/NAME.in -o requirements/NAME.txt"


def read_wanted(file: Path) -> dict[str, str]:
    """Requirements of a file of wishes.

    file: ``NAME.in``.
    Returns: Package to its bound.
    """
    lines = (line.partition("#")[0].strip() for line in file.read_text("utf-8").splitlines())
    return dict(split_requirement(line) for line in lines if line and not line.startswith("-"))


def split_requirement(requirement: str) -> tuple[str, str]:
    """Package and bound of a requirement. requirement: Such as ``numpy>=2.4``."""
    found = re.fullmatch(r"([A-Za-z0-9._-]+)(.*)", requirement)
    assert found is not None, requirement
    return found[1].lower().replace("_", "-"), found[2]


def read_pins(file: Path) -> dict[str, list[str]]:
    """Pins of a compiled file with the number of their hashes.

    file: ``NAME.txt``.
    Returns: Package to its lines of hashes.
    """
    pins: dict[str, list[str]] = {}
    current = ""
    for line in file.read_text("utf-8").splitlines():
        found = re.match(r"([A-Za-z0-9._-]+)==", line)
        if found:
            current = found[1].lower()
            pins.setdefault(current, [])
        elif "--hash=sha256:" in line:
            pins[current].append(line.strip())
    return pins


def main() -> int:
    """Print every disagreement. Returns: 1 if there is any."""
    from trunkline.cli.doctor_command import REQUIRED_PACKAGES

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    package = dict(split_requirement(item) for item in project["dependencies"])
    faults = []
    if package != read_wanted(REQUIREMENTS_FOLDER / "run.in"):
        faults.append("pyproject.toml and requirements/run.in name different dependencies")
    if set(package) != set(REQUIRED_PACKAGES):
        faults.append("pyproject.toml and trunkline doctor name different dependencies")
    lower_level_pins: dict[str, list[str]] = {}
    for name in ("boot", "run", "test", "check", "docs"):
        file = REQUIREMENTS_FOLDER / f"{name}.txt"
        pins = read_pins(file)
        faults += [f"{file.name}: {pin} has no hash" for pin, lines in pins.items() if not lines]
        if "://" in file.read_text("utf-8"):
            faults.append(f"{file.name} holds an address")
        faults += [
            f"{file.name} does not pin {wish}"
            for wish in read_wanted(REQUIREMENTS_FOLDER / f"{name}.in")
            if wish not in pins
        ]
        faults += [
            f"{file.name} and the level below pin different versions of {pin}"
            for pin, lines in lower_level_pins.items()
            if pins.get(pin) != lines
        ]
        lower_level_pins = {} if name == "boot" else pins
    if not all(read_pins(REQUIREMENTS_FOLDER / "charts.txt").values()):
        faults.append("charts.txt: a pin has no hash")
    for fault in faults:
        print(fault)
    if faults:
        print(f"to compile a file again:\n  {COMPILE_COMMAND}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

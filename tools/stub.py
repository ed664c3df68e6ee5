"""Check that the stub of the packet engine matches the compiled module.

The two are looked at alone: next to the package ``mypy.stubtest`` would judge all that it imports.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE_FOLDER = Path(__file__).resolve().parent.parent / "python" / "trunkline"


def main() -> int:
    """Compare stub and module. Returns: 1 if they differ."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("_core.pyi", "_core.abi3.so"):
            Path(folder, name).symlink_to(PACKAGE_FOLDER / name)
        places = {"PYTHONPATH": folder, "MYPYPATH": folder}
        command = [sys.executable, "-m", "mypy.stubtest", "_core"]
        return subprocess.call(command, cwd=folder, env={**os.environ, **places})


if __name__ == "__main__":
    sys.exit(main())

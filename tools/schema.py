"""Check that the committed JSON Schema is the one the scenario language has now.

``python tools/schema.py --write`` brings the file up to date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "scenario.schema.json"


def main(arguments: list[str]) -> int:
    """Compare or write.

    Parameters
    ----------
    arguments : list of str
        ``--write`` or nothing.

    Returns
    -------
    int
        1 if the file differs.
    """
    from trunkline.scenario import schema

    now = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    if arguments == ["--write"]:
        FILE.write_text(now, encoding="utf-8", newline="\n")
        return 0
    if FILE.is_file() and FILE.read_text("utf-8") == now:
        return 0
    print(f"{FILE.name} is not the schema of the language; ./dev python tools/schema.py --write")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

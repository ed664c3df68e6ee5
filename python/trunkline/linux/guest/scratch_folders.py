"""Private folders of runs, which nothing survives: not an interruption, not a kill."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

SCRATCH_PREFIX: Final = "trunkline-guest-"
"""Their names begin so; the number of the process follows."""


def make_scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """Make a private folder, as a context manager.

    The next run removes the folder of a killed process, whose number is in its name.
    """
    return tempfile.TemporaryDirectory(prefix=f"{SCRATCH_PREFIX}{os.getpid()}-")


def remove_leftovers() -> None:
    """Remove the private folders of runs whose process was killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{SCRATCH_PREFIX}*"):
        number = path.name.removeprefix(SCRATCH_PREFIX).partition("-")[0]
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            # Those of other users stay: they cannot be removed, and need not be.
            shutil.rmtree(path, ignore_errors=True)
        except (ValueError, PermissionError, OverflowError):
            continue

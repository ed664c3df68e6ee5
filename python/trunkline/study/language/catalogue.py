"""The studies that come with the package."""

import difflib
from pathlib import Path

from trunkline.study.language.model import Study
from trunkline.study.language.study_files import load_study

STUDIES_FOLDER = Path(__file__).parent.parent.parent / "studies"


def list_study_names() -> list[str]:
    """List the names of the studies, sorted."""
    return sorted(path.parent.name for path in STUDIES_FOLDER.glob("*/study.yaml"))


def find_study(name: str) -> Study:
    """Load a study by its name, or from a folder of one's own.

    Parameters
    ----------
    name : str
        Name of a study of the package, or path of a study file, or of a folder with a
        ``study.yaml``.

    Raises
    ------
    LookupError
        There is none; the message lists those there are.
    """
    known = list_study_names()
    if (STUDIES_FOLDER / name / "study.yaml").is_file() and name in known:
        return load_study(STUDIES_FOLDER / name)
    if (Path(name) / "study.yaml").is_file() or Path(name).is_file():
        return load_study(Path(name))
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise LookupError(f"there is no study {name!r}; {hint}studies: {', '.join(known)}")

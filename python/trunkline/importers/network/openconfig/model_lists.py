"""Lists and numbers of the models, from the tree of a file."""

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement


def list_entries(parent: FileElement | None, *path: str) -> list[FileElement]:
    """List the entries of a list of the models; none where there is no such list."""
    found = parent.find(*path) if parent is not None else None
    return found.read_children() if found is not None else []


def parse_number(text: str) -> float:
    """Parse the number of a leaf. Raises ImportFault: The leaf holds no number."""
    try:
        return float(text)
    except ValueError:
        raise ImportFault(0, 1, f"{text} is no number") from None


def take_names(element: FileElement | None) -> tuple[str, ...]:
    """Take the values of a list of leaves."""
    children = element.read_children() if element is not None else ()
    return tuple(str(each.value) for each in children)


def take_identity(element: FileElement, *path: str) -> str:
    """Take the name of an identity without that of its module."""
    return element.take_text(*path).rpartition(":")[2]

"""A file as a tree of elements that know whether a reader has read them.

Every format becomes this tree: elements and attributes of XML, keys of YAML and JSON, sections,
lines and fields of text. A reader takes values from it; what it did not take is left out, and
`account_for_elements` writes both into the account. So a reader cannot drop anything silently.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.fault import ImportFault

NOT_USED = "not used by this import"  # Reason for elements that no reader used.


@dataclass(slots=True)
class FileElement:
    """An element of a file."""

    # Key by which readers find it: tag, key, column or section; attributes of XML are ``@name``.
    name: str
    line: int = 0  # Where it starts, from 1; 0: unknown.
    # object; text or number of an element without others inside; None: there is none.
    value: Any = None
    children: list[FileElement] = field(default_factory=list)
    # Its name in the account, where the file's author chose its name (a node's name as a key).
    kind: str = ""
    is_read: bool = False  # A reader has asked for it.
    omission: str = ""  # Why it is left out with all within it; empty: it is not.

    def add(self, name: str, value: Any = None, line: int = 0) -> FileElement:
        """Append a child, which is returned."""
        child = FileElement(name, line or self.line, value)
        self.children.append(child)
        return child

    def find(self, *path: str) -> FileElement | None:
        """Find the first element along a path of names, read from here on; None: there is none."""
        found = self
        on_path: list[FileElement] = []
        for name in path:
            inside = next((each for each in found.children if each.name == name), None)
            if inside is None:
                return None
            found = inside
            on_path.append(found)
        for each in on_path:
            each.is_read = True
        return found

    def find_all(self, *path: str) -> list[FileElement]:
        """Find all elements of the last name inside the first one along the path before it."""
        parent = self.find(*path[:-1])
        found = [each for each in parent.children if each.name == path[-1]] if parent else []
        for each in found:
            each.is_read = True
        return found

    def read_children(self, kind: str = "") -> list[FileElement]:
        """Read all children; ``kind`` is their name in the account."""
        for each in self.children:
            each.is_read = True
            each.kind = kind
        return self.children

    def take(self, *path: str) -> Any:
        """The value of the first element along a path; None: there is none, or it is empty.

        Raises ImportFault: It has elements inside where one value is expected.
        """
        found = self.find(*path)
        if found is None:
            return None
        if any(not each.name.startswith("@") for each in found.children):
            raise ImportFault(found.line, 1, f"{found.name} must be one value")
        return found.value

    def take_text(self, *path: str) -> str:
        """Take an attribute as text without space around it; empty: there is none."""
        value = self.take(*path)
        return "" if value is None else str(value).strip()

    def leave_out(self, reason: str) -> None:
        """Leave it out with all within it, for a reason."""
        self.omission = reason

    def leave_out_children(self, reason: str, *names: str) -> None:
        """Leave out its children of these names."""
        for each in self.children:
            if each.name in names:
                each.omission = reason

    def leave_out_rest(self, reason: str) -> None:
        """Leave out those of its children that no reader asked for."""
        for each in self.children:
            if not each.is_read and not each.omission:
                each.omission = reason


def account_for_elements(root: FileElement, account: ImportAccount) -> None:
    """Count every element below the root as read or as left out, by its path of names.

    An element with children counts through them; one that no reader asked for counts once, for
    all within it.
    """
    for each in root.children:
        _account_for_element(each, "", account)


def _account_for_element(element: FileElement, path: str, account: ImportAccount) -> None:
    path = f"{path}/{element.kind or element.name}".removeprefix("/")
    if element.omission or not element.is_read:
        account.add_left_out(path, element.omission or NOT_USED, line=element.line)
        return
    if element.value is not None or not element.children:
        account.add_read(path, line=element.line)
    for each in element.children:
        _account_for_element(each, path, account)


def make_file_elements(data: Any, name: str = "", line: int = 0) -> FileElement:
    """Make the tree of a document of plain values: mappings, lists and scalars.

    data: object; from JSON or YAML; places of YAML's values are kept. Items of a list are called
        ``item``.
    """
    element = FileElement(name, line)
    pairs: Iterable[tuple[Any, str, Any]]
    if isinstance(data, dict):
        pairs = [(key, str(key), value) for key, value in data.items()]
    elif isinstance(data, list):
        pairs = [(index, "item", value) for index, value in enumerate(data)]
    else:
        element.value = data
        return element
    places = getattr(data, "value_places", None)
    for key, child_name, value in pairs:
        child_line = places[key].line if places is not None else 0
        element.children.append(make_file_elements(value, child_name, child_line))
    return element

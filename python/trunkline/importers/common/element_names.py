"""Names in files of other programs, changed to valid names of a scenario."""

import unicodedata

from trunkline.scenario.fields import MAX_NAME_CHARACTERS, RESERVED_NAMES, write_as_name


def make_element_name(
    label: str,
    taken_names: set[str],
    *,
    nameless: str,
    max_characters: int = MAX_NAME_CHARACTERS,
) -> str:
    """Make a name that no element has yet; it is added to those taken.

    Characters that a name cannot hold become ``_``; a name that is reserved or taken gets a number.

    taken_names: Names in Unicode's form NFKC, as names that look alike are one name to the
        language.
    nameless: Name where the label has no letter and no digit.
    """
    base_name = write_as_name(label)[:max_characters] or nameless
    name, number = base_name, 1
    while name in RESERVED_NAMES or unicodedata.normalize("NFKC", name) in taken_names:
        number += 1
        suffix = f"_{number}"
        name = f"{base_name[: max_characters - len(suffix)]}{suffix}"
    taken_names.add(unicodedata.normalize("NFKC", name))
    return name

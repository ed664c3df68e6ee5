"""Forms of objects in a notebook: objects ask here, and the module `notebook` makes the forms.

A scenario knows nothing of pictures, and a comparison nothing of pages. The package's top names the
module that does (`use_forms`), which is imported when a notebook asks for the first form.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

_load_forms: list[Callable[[], ModuleType]] = []


def use_forms(load: Callable[[], ModuleType]) -> None:
    """Name the module that makes forms, by a function that imports it."""
    _load_forms[:] = [load]


def render_html(kind: str, shown_object: Any) -> str:
    """Write an object as HTML for a notebook.

    kind: Name of a function of the module that makes forms.
    shown_object: object; what is shown.
    """
    return str(getattr(_load_forms[0](), kind)(shown_object))


def build_mime_bundle(kind: str, shown_object: Any) -> dict[str, str]:
    """Write an object as HTML and as text, for whoever asks for several forms."""
    return {"text/html": render_html(kind, shown_object), "text/plain": repr(shown_object)}

"""How objects look in a notebook: asked here by those below, made by `trunkline.notebook` above.

A scenario knows nothing of pictures, and a comparison nothing of pages; that module does, and is
imported when a notebook asks for the first form.
"""

import importlib
from typing import Any


def render_html(kind: str, shown_object: Any) -> str:
    """Write an object as HTML for a notebook.

    Parameters
    ----------
    kind : str
        Name of a function of ``trunkline.notebook``.
    shown_object : object
        What is shown.
    """
    return str(getattr(importlib.import_module("trunkline.notebook"), kind)(shown_object))


def build_mime_bundle(kind: str, shown_object: Any) -> dict[str, str]:
    """Write an object as HTML and as text, for whoever asks for several forms."""
    return {"text/html": render_html(kind, shown_object), "text/plain": repr(shown_object)}

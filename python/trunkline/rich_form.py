"""How objects look in a notebook: asked here by those below, made by `trunkline.notebook` above.

A scenario knows nothing of pictures, and a comparison nothing of pages; that module does, and is
imported when a notebook asks for the first form.
"""

import importlib
from typing import Any


def html(kind: str, thing: Any) -> str:
    """Write an object as HTML for a notebook.

    Parameters
    ----------
    kind : str
        Name of a function of ``trunkline.notebook``.
    thing : object
        What is shown.
    """
    return str(getattr(importlib.import_module("trunkline.notebook"), kind)(thing))


def bundle(kind: str, thing: Any) -> dict[str, str]:
    """Write an object as HTML and as text, for whoever asks for several forms."""
    return {"text/html": html(kind, thing), "text/plain": repr(thing)}

"""Parts that all pictures share: colours, type, and files without a time stamp."""

from __future__ import annotations

import colorsys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito, Color Universal Design, 2008: told apart by people with any colour vision. Their
# yellow is left out, as it is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.8,
    "axes.edgecolor": "#555555",
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "savefig.dpi": 160,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "trunkline",  # the same picture gives the same bytes
    "pdf.fonttype": 42,
}

PICTURE_FORMATS = ("png", "svg", "pdf")


def choose_colour(number: int) -> str:
    """A colour for each of many: those of the palette first, then other hues, no two alike."""
    if number < len(COLOURS) - 1:
        return COLOURS[number]
    # Steps of the golden section of the circle never meet; lightness tells near hues apart.
    hue = number * (5**0.5 - 1) / 2 % 1
    parts = colorsys.hls_to_rgb(hue, (0.35, 0.5, 0.62)[number % 3], 0.75)
    return "#" + "".join(f"{round(255 * part):02X}" for part in parts)


@contextmanager
def apply_house_style() -> Iterator[None]:
    """Draw in the house style; the settings of a notebook are left alone."""
    from matplotlib import rc_context

    with rc_context(_STYLE):
        yield


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a picture; its format is the ending of the name.

    path: File ending in ``.png``, ``.svg`` or ``.pdf``.
    """
    target = Path(path)
    kind = target.suffix.removeprefix(".")
    if kind not in PICTURE_FORMATS:
        raise ValueError(f"{target.name}: a picture ends in .{', .'.join(PICTURE_FORMATS)}")
    stamps: dict[str, dict[str, str | None]] = {
        "png": {"Software": None},
        "svg": {"Date": None},
        "pdf": {"CreationDate": None},
    }
    with apply_house_style():
        figure.savefig(target, format=kind, metadata=stamps[kind])
    return target

"""A fit on disk: its JSON and its pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trunkline.plot.figure import save_figure
from trunkline.plot.posterior import PosteriorAxis, draw_marginals, draw_pairs
from trunkline.results import atomic_folder as folders
from trunkline.study.fit.inference import Inference
from trunkline.study.fit.posterior import profile_likelihood

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trunkline.study.fit.study_fit import StudyFit

FIT_JSON = "fit.json"
_TICK_SHARES = (0.02, 0.5, 0.98)
_NEXT_UNIT = {
    "bit/s": "kbit/s",
    "kbit/s": "Mbit/s",
    "Mbit/s": "Gbit/s",
    "ns": "us",
    "us": "ms",
    "ms": "s",
}


def write_fit_files(fit: StudyFit, folder: Path) -> None:
    """Write ``fit.json`` and the pictures ``marginals`` and ``pairs``, each as PNG and SVG."""
    for name, figure in draw_fit(fit.inference).items():
        for kind in ("png", "svg"):
            save_figure(figure, folder / f"{name}.{kind}")
    text = json.dumps(fit.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
    folders.write_text(folder / FIT_JSON, text + "\n")


def draw_fit(inference: Inference) -> dict[str, Figure]:
    """The pictures of a posterior: those that the values determine best come first."""
    axes = build_posterior_axes(inference)
    weights = inference.samples.weights
    verdicts = inference.verdicts
    order = sorted(range(len(axes)), key=lambda place: verdicts[place].width)
    return {
        "marginals": draw_marginals(axes, weights),
        "pairs": draw_pairs([axes[place] for place in order], weights),
    }


def build_posterior_axes(inference: Inference) -> list[PosteriorAxis]:
    """Build the parameters as a picture has them."""
    axes = []
    for place, parameter in enumerate(inference.space.parameters):
        prior = parameter.prior
        count = len(prior.readings)
        ticks = (
            tuple(((number + 0.5) / count, text) for number, text in enumerate(prior.readings))
            if 0 < count <= 6
            else tuple((share, _shorten(prior.format_at(share))) for share in _TICK_SHARES)
        )
        _, heights = profile_likelihood(inference.samples, place, count or 20)
        axes.append(
            PosteriorAxis(
                parameter.name,
                inference.samples.points[:, place],
                ticks,
                count if 0 < count <= 20 else 0,
                prior.find_share(parameter.held_at) if parameter.held_at else None,
                np.asarray(heights),
            )
        )
    return axes


def _shorten(text: str) -> str:
    """A value with three significant digits, in a unit that needs no power of ten."""
    number, _, unit = text.partition(" ")
    try:
        value = float(number)
    except ValueError:
        return text
    while abs(value) >= 1000 and unit in _NEXT_UNIT:
        value, unit = value / 1000, _NEXT_UNIT[unit]
    return f"{value:.3g} {unit}".strip()

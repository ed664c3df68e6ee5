"""A fit on disk: its JSON and its pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline.plot.figure import save_figure
from trunkline.plot.posterior import BINS, PosteriorAxis, draw_marginals, draw_pairs
from trunkline.results import atomic_folder as folders
from trunkline.study.fit.inference import Inference
from trunkline.study.fit.posterior import profile_likelihood
from trunkline.study.fit.quantity_text import shorten_quantity
from trunkline.study.fit.trial_runs import list_free_parameters
from trunkline.study.language.model import FIT_JSON, Study
from trunkline.study.language.priors import ParameterPrior

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trunkline.study.fit.study_fit import StudyFit

MAX_READINGS_NAMED = 6  # Readings of a parameter whose names are below its axis.
MAX_TICK_LENGTH = 18
_TICK_SHARES = (0.02, 0.5, 0.98)


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
        "marginals": draw_marginals(axes),
        "pairs": draw_pairs([axes[place] for place in order], weights),
    }


def build_posterior_axes(inference: Inference) -> list[PosteriorAxis]:
    """Build the parameters as a picture has them."""
    axes = []
    for place, parameter in enumerate(inference.space.parameters):
        prior = parameter.prior
        _, heights = profile_likelihood(inference.samples, place, len(prior.readings) or BINS)
        axes.append(
            PosteriorAxis(
                parameter.name,
                inference.samples.find_masses(place, count_bins(prior)),
                _list_ticks(prior),
                prior.is_range,
                prior.find_share(parameter.held_at) if parameter.held_at else None,
                np.asarray(heights),
                inference.samples.points[:, place],
            )
        )
    return axes


def draw_stored_marginals(study: Study, document: Mapping[str, Any]) -> Figure:
    """The picture of the marginals of a fit that was stored as ``fit.json``."""
    priors = {parameter.name: parameter.prior for parameter, _ in list_free_parameters(study)}
    axes = []
    for each in document["parameters"]:
        prior = priors[each["parameter"]]
        axes.append(
            PosteriorAxis(
                each["parameter"],
                np.array(each["masses"]),
                _list_ticks(prior),
                prior.is_range,
                prior.find_share(each["value"]) if each["value"] else None,
                np.array([np.nan if height is None else height for height in each["heights"]]),
            )
        )
    return draw_marginals(axes)


def count_bins(prior: ParameterPrior) -> int:
    """Parts that the axis of a parameter is drawn in: its readings, if they are not too many."""
    count = len(prior.readings)
    return count if 0 < count <= BINS else BINS


def _list_ticks(prior: ParameterPrior) -> tuple[tuple[float, str], ...]:
    count = len(prior.readings)
    if 0 < count <= MAX_READINGS_NAMED:
        return tuple(
            ((number + 0.5) / count, _abridge(text)) for number, text in enumerate(prior.readings)
        )
    return tuple((share, shorten_quantity(prior.format_at(share), 3)) for share in _TICK_SHARES)


def _abridge(text: str) -> str:
    """A reading that fits under an axis."""
    return text if len(text) <= MAX_TICK_LENGTH else text[: MAX_TICK_LENGTH - 3].rstrip() + "..."

"""A fit as one JSON object."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from trunkline.plot.posterior import BINS
from trunkline.study.fit.fit_files import count_bins
from trunkline.study.fit.inference import CellCheck, Inference, TableCheck
from trunkline.study.fit.posterior import ParameterVerdict, profile_likelihood

if TYPE_CHECKING:
    from trunkline.study.fit.study_fit import StudyFit


def build_fit_json(fit: StudyFit) -> dict[str, Any]:
    """Build the object that ``trunkline study fit --json`` prints."""
    inference = fit.inference
    return {
        "schema": 1,
        "study": fit.study.name,
        "runs": fit.runs,
        **build_inference_json(inference, fit.cell_checks, fit.table_checks),
        "sensitivity": [
            {"table": table, "parameter": name, "first": first, "total": total}
            for table, indices in fit.sensitivity.items()
            for name, (first, total) in indices.items()
        ],
        "best": fit.best,
        "likeliest": inference.likeliest_settings,
        "errors": fit.errors,
        "warnings": fit.warnings,
    }


def build_inference_json(
    inference: Inference, cell_checks: list[CellCheck], table_checks: list[TableCheck]
) -> dict[str, Any]:
    """Posterior, checks of cells and tables, and convergence."""
    samples = inference.samples
    median, low, high = inference.misfit
    return {
        "trials": len(inference.points) + len(inference.failures),
        "failed_trials": inference.failures,
        "parameters": [
            _build_parameter_json(inference, place, verdict)
            for place, verdict in enumerate(inference.verdicts)
        ],
        "misfit": {"median": median, "low": low, "high": high},
        "log_evidence": samples.log_evidence,
        "log_evidence_error": samples.log_evidence_error,
        "convergence": {
            "effective_samples": samples.effective_count,
            "likelihood_calls": samples.calls,
            "shift_of_last_round": inference.find_shifts(),
            "explained_by_table": inference.explained_by_table(),
        },
        "cells": [
            {
                "table": check.cell.table,
                "row": check.cell.row,
                "column": check.cell.column,
                "unit": check.cell.unit,
                "published": check.cell.value,
                "predicted": check.mean,
                "low": check.low,
                "high": check.high,
                "inside": check.is_inside,
            }
            for check in cell_checks
        ],
        "left_out": [
            {
                "tables": check.left_out,
                "cells": check.cells,
                "inside": check.inside,
                "log_score": check.log_score,
                "log_score_by_reading": check.log_score_of,
                "median_shift": check.median_shift,
            }
            for check in table_checks
        ],
    }


def _build_parameter_json(
    inference: Inference, place: int, verdict: ParameterVerdict
) -> dict[str, Any]:
    parameter = inference.space.parameters[place]
    prior = parameter.prior
    _, heights = profile_likelihood(inference.samples, place, len(prior.readings) or BINS)
    document: dict[str, Any] = {
        "parameter": verdict.name,
        "value": parameter.held_at,
        "prior": prior.describe(),
        "verdict": verdict.verdict,
        "width": verdict.width,
        "edge": verdict.edge,
    }
    if verdict.median:
        document |= {"low": verdict.low, "median": verdict.median, "high": verdict.high}
    if verdict.readings:
        document["readings"] = [
            {
                "reading": each.reading,
                "probability": each.probability,
                "odds": each.odds if math.isfinite(each.odds) else None,
            }
            for each in verdict.readings
        ]
    # The posterior and the profile of the log likelihood over equal parts of the prior.
    document["masses"] = inference.samples.find_masses(place, count_bins(prior)).tolist()
    document["heights"] = [None if math.isnan(each) else each for each in heights.tolist()]
    return document

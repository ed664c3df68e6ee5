"""A study file over one parameter of a scenario, written beside it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline.live.knobs import knobs
from trunkline.scenario.loader import file_text

if TYPE_CHECKING:
    from trunkline.live.attempt import Wanted

COLUMNS = (
    ("goodput", "goodput_bit_s", "Mbit/s"),
    ("delay", "delay_mean_s", "ms"),
    ("p99", "delay_p99_s", "ms"),
    ("loss", "loss_ratio", "%"),
)
"""What such a study measures of each flow, with its unit."""
MOST_VALUES = 100
MOST_FLOWS = 6
"""Flows with columns of their own; of more, the sums and means alone are measured."""


def write_study(wanted: Wanted, parameter: str, values: list[str], runs: int) -> Path:
    """Write the study file.

    Parameters
    ----------
    wanted : Wanted
        The scenario and what is set over it, which the study sets too.
    values : list of str
        Values that it takes, one or more.

    Returns
    -------
    Path
        The file, ``SCENARIO-PARAMETER-study.yaml`` beside the scenario; an earlier one is replaced.

    Raises
    ------
    ValueError
        There is no such parameter, or the values are not 1 to 100 texts.
    """
    from trunkline.scenario import load

    known = {knob.name for knob in knobs(file_text(str(wanted.file)), {}) if knob.parameter}
    if parameter not in known:
        raise ValueError(f"{parameter} is no parameter of {wanted.file.name}")
    if not 1 <= len(values) <= MOST_VALUES or not all(x and isinstance(x, str) for x in values):
        raise ValueError(f"1 to {MOST_VALUES} values are wanted, each as text")
    if not 1 <= runs <= 1000:
        raise ValueError("1 to 1000 runs of each value are wanted")
    scenario = load(wanted.file, overrides=dict(wanted.overrides))
    flows = list(scenario.resolved().flows)
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", wanted.file.stem).strip("-") or "scenario"
    name = f"{stem}-{parameter}-study"
    kept = {key: value for key, value in wanted.overrides.items() if key != parameter}
    setting = f", set: {json.dumps(kept, ensure_ascii=False)}" if kept else ""
    lines = [
        f"# {parameter} of {wanted.file.name}; run it again with: trunkline study run {name}.yaml",
        "study: 1",
        f"name: {name}",
        f"title: {json.dumps(f'{stem} against {parameter}', ensure_ascii=False)}",
        f"runs: {runs}",
        "cases:",
        f"  now: {{title: {json.dumps(stem)}, "
        f"scenario: {json.dumps(wanted.file.name, ensure_ascii=False)}{setting}}}",
        "grid:",
        f"  {parameter}: {json.dumps(values, ensure_ascii=False)}",
        "columns:",
        *_columns([str(flow) for flow in flows]),
    ]
    file = wanted.file.with_name(f"{name}.yaml")
    file.write_text("\n".join([*lines, ""]), "utf-8")
    return file


def _columns(flows: list[str]) -> list[str]:
    lines = []
    for number, flow in enumerate(flows[:MOST_FLOWS]):
        for name, measure, unit in COLUMNS:
            where = json.dumps(flow, ensure_ascii=False)
            behind = "" if len(flows) == 1 else f"_{number + 1}"
            lines.append(
                f"  {name}{behind}: {{where: {{flow: {where}}}, measure: {measure}, "
                f'unit: "{unit}"}}'
            )
    return lines

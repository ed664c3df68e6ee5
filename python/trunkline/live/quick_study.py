"""A study file over one parameter of a scenario, written next to it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline.live.parameter_controls import list_parameter_controls
from trunkline.scenario.loader import read_file_text

if TYPE_CHECKING:
    from trunkline.live.attempt import RunRequest

STUDY_COLUMNS = (
    ("goodput", "goodput_bit_s", "Mbit/s"),
    ("delay", "delay_mean_s", "ms"),
    ("p99", "delay_p99_s", "ms"),
    ("loss", "loss_ratio", "%"),
)
"""Measures of each flow in a quick study, with units."""
MAX_VALUES = 100
MAX_FLOW_COLUMNS = 6
"""Flows with columns of their own; of more, the sums and means alone are measured."""


def write_quick_study(request: RunRequest, parameter: str, values: list[str], runs: int) -> Path:
    """Write the study file.

    request: The scenario and its overrides, which the study sets too.
    values: Values that it takes, one or more.
    Returns: The file, ``SCENARIO-PARAMETER-study.yaml`` next to the scenario; an earlier one is
        replaced.
    Raises ValueError: There is no such parameter, or the values are not 1 to 100 texts.
    """
    from trunkline.scenario import load

    known = {
        knob.name
        for knob in list_parameter_controls(read_file_text(str(request.file)), {})
        if knob.parameter
    }
    if parameter not in known:
        raise ValueError(f"{parameter} is no parameter of {request.file.name}")
    if not 1 <= len(values) <= MAX_VALUES or not all(x and isinstance(x, str) for x in values):
        raise ValueError(f"1 to {MAX_VALUES} values are request, each as text")
    if not 1 <= runs <= 1000:
        raise ValueError("1 to 1000 runs of each value are wanted")
    scenario = load(request.file, overrides=dict(request.overrides))
    flows = list(scenario.resolve().flows)
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", request.file.stem).strip("-") or "scenario"
    name = f"{stem}-{parameter}-study"
    fixed_overrides = {key: value for key, value in request.overrides.items() if key != parameter}
    setting = f", set: {json.dumps(fixed_overrides, ensure_ascii=False)}" if fixed_overrides else ""
    lines = [
        f"# {parameter} of {request.file.name}; run it again with: trunkline study run {name}.yaml",
        "study: 1",
        f"name: {name}",
        f"title: {json.dumps(f'{stem} against {parameter}', ensure_ascii=False)}",
        f"runs: {runs}",
        "cases:",
        f"  now: {{title: {json.dumps(stem)}, "
        f"scenario: {json.dumps(request.file.name, ensure_ascii=False)}{setting}}}",
        "grid:",
        f"  {parameter}: {json.dumps(values, ensure_ascii=False)}",
        "columns:",
        *_build_column_lines([str(flow) for flow in flows]),
    ]
    file = request.file.with_name(f"{name}.yaml")
    file.write_text("\n".join([*lines, ""]), "utf-8")
    return file


def _build_column_lines(flows: list[str]) -> list[str]:
    lines = []
    for number, flow in enumerate(flows[:MAX_FLOW_COLUMNS]):
        for name, measure, unit in STUDY_COLUMNS:
            flow_json = json.dumps(flow, ensure_ascii=False)
            suffix = "" if len(flows) == 1 else f"_{number + 1}"
            lines.append(
                f"  {name}{suffix}: {{where: {{flow: {flow_json}}}, measure: {measure}, "
                f'unit: "{unit}"}}'
            )
    return lines

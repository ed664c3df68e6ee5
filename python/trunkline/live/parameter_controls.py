"""Parameters of a scenario, and values set over it, as the page offers them: a slider each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from trunkline.scenario import ScenarioError, yaml_text
from trunkline.scenario.fields import write_scalar
from trunkline.scenario.units import parse_real

_NUMBER = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?) *([^\W\d_][\w/]*|%)?")
_INTEGER_UNITS = {"", "packet", "packets", "B", "byte", "bytes", "bit", "bits"}
"""Units whose fractions are seldom meant, where the file has none either."""


@dataclass(frozen=True, slots=True)
class ParameterControl:
    """A value that can be turned."""

    name: str  # The parameter, or the path of a value that was set.
    written: str  # As the file has it; empty where the file leaves it to its default.
    value: str  # Its present value.
    # The number from which a slider starts; None where there is none, as of a word or 0.
    number: float | None
    unit: str  # Unit behind the number.
    keeps_integers: bool  # Whether the slider keeps to whole numbers.
    parameter: bool  # Whether it is a parameter, over which a study can go.


def list_parameter_controls(content: str, overrides: Mapping[str, str]) -> list[ParameterControl]:
    """Find the parameters of a scenario that a page can control.

    content: Its text; faults in it are reported elsewhere.
    Returns: The parameters in the order of the file, then further overrides. A parameter that is
        worked out from others is left out, unless it was set.
    """
    try:
        document, _ = yaml_text.parse_yaml(content, "scenario")
    except ScenarioError:
        document = None
    parameters = document.get("parameters") if isinstance(document, Mapping) else None
    file_values = {
        str(name): write_scalar(value)
        for name, value in (parameters.items() if isinstance(parameters, Mapping) else ())
        if not isinstance(value, list | dict)
    }
    names = [n for n, value in file_values.items() if n in overrides or not value.startswith("$")]
    names += [name for name in overrides if name not in file_values]
    return [
        _build_control(name, file_values.get(name, ""), overrides.get(name), name in file_values)
        for name in names
    ]


def _build_control(
    name: str, written: str, override: str | None, parameter: bool
) -> ParameterControl:
    value = written if override is None else override
    # The slider starts from the value of the file, so that it does not move under the hand.
    number_match = _NUMBER.fullmatch(written) or _NUMBER.fullmatch(value)
    number = (parse_real(number_match[1].replace("_", "")) if number_match else None) or 0.0
    unit = (number_match[2] or "") if number_match else ""
    is_integer = (
        unit in _INTEGER_UNITS
        and number_match is not None
        and "." not in number_match[1]
        and number >= 1
    )
    return ParameterControl(name, written, value, number or None, unit, is_integer, parameter)

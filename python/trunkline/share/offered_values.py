"""Values that a page offers for each parameter of a scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from trunkline.live.parameter_controls import ParameterControl, list_parameter_controls

DEFAULT_SLIDER_STEPS = 25
"""Values of a number's slider: from a tenth to ten times the written one, in equal ratios."""


@dataclass(frozen=True, slots=True)
class OfferedParameter:
    """A parameter with the values that a page offers."""

    name: str
    values: tuple[str, ...]  # As ``--set`` takes them, in the order of the slider.
    written: int  # Index of the value that the scenario has.
    is_number: bool  # Whether the values are numbers of one unit, for which a slider stands.


def list_offered_parameters(
    content: str, stated_values: Mapping[str, Sequence[str]]
) -> list[OfferedParameter]:
    """Find the values to offer.

    content: Text of the scenario.
    stated_values: Values by parameter, where the author chose them. Other numbers get
        ``DEFAULT_SLIDER_STEPS`` values, other words none.
    Returns: In the order of the file.
    Raises KeyError: Values are stated of a parameter that the scenario does not have.
    """
    controls = {each.name: each for each in list_parameter_controls(content, {})}
    for name in stated_values:
        if name not in controls:
            raise KeyError(name)
    offered = []
    for name, control in controls.items():
        values = list(stated_values.get(name, ())) or _make_slider_values(control)
        if control.value not in values:
            values.insert(0, control.value)
        if len(values) > 1:
            is_number = control.number is not None and name not in stated_values
            written = values.index(control.value)
            offered.append(OfferedParameter(name, tuple(values), written, is_number))
    return offered


def _make_slider_values(control: ParameterControl) -> list[str]:
    if control.number is None:
        return []
    steps = DEFAULT_SLIDER_STEPS - 1
    numbers = [control.number * 10 ** (2 * step / steps - 1) for step in range(steps + 1)]
    texts = []
    for number in numbers:
        rounded = (
            str(max(1, round(number)))
            if control.keeps_integers
            else format(Decimal(f"{number:.2g}"), "f")
        )
        texts.append(f"{rounded} {control.unit}" if control.unit else rounded)
    texts[steps // 2] = control.value
    return list(dict.fromkeys(texts))

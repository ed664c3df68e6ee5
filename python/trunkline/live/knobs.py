"""Parameters of a scenario, and values set over it, as the page offers them: a slider each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from trunkline.scenario import ScenarioError, text
from trunkline.scenario.units import parse_real

_NUMBER = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?) *([^\W\d_][\w/]*|%)?")
_WHOLE = {"", "packet", "packets", "B", "byte", "bytes", "bit", "bits"}
"""Units whose fractions are seldom meant, where the file has none either."""


@dataclass(frozen=True, slots=True)
class Knob:
    """A value that can be turned.

    Parameters
    ----------
    name : str
        The parameter, or the path of a value that was set.
    written : str
        As the file has it; empty where the file leaves it to its default.
    value : str
        As it is now.
    number : float or None
        The number from which a slider starts; None where there is none, as of a word or 0.
    unit : str
        What stands behind the number.
    whole : bool
        Whether the slider keeps to whole numbers.
    parameter : bool
        Whether it is a parameter, over which a study can go.
    """

    name: str
    written: str
    value: str
    number: float | None
    unit: str
    whole: bool
    parameter: bool


def knobs(content: str, overrides: Mapping[str, str]) -> list[Knob]:
    """Work out what can be turned in a scenario.

    Parameters
    ----------
    content : str
        Its text; what is wrong with it is said elsewhere.

    Returns
    -------
    list of Knob
        The parameters in the order of the file, then what else was set. A parameter that is worked
        out from others is left out, unless it was set.
    """
    try:
        document, _ = text.parse(content, "scenario")
    except ScenarioError:
        document = None
    found = document.get("parameters") if isinstance(document, Mapping) else None
    written = {
        str(name): "null" if value is None else str(value)
        for name, value in (found.items() if isinstance(found, Mapping) else ())
        if not isinstance(value, list | dict)
    }
    names = [n for n, value in written.items() if n in overrides or not value.startswith("$")]
    names += [name for name in overrides if name not in written]
    return [
        _knob(name, written.get(name, ""), overrides.get(name), name in written) for name in names
    ]


def _knob(name: str, written: str, override: str | None, parameter: bool) -> Knob:
    value = written if override is None else override
    # The slider starts from what the file says, so that it does not move under the hand.
    found = _NUMBER.fullmatch(written) or _NUMBER.fullmatch(value)
    number = (parse_real(found[1].replace("_", "")) if found else None) or 0.0
    unit = (found[2] or "") if found else ""
    whole = unit in _WHOLE and found is not None and "." not in found[1] and number >= 1
    return Knob(name, written, value, number or None, unit, whole, parameter)

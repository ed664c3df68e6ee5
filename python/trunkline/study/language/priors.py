"""Prior of a parameter that a document leaves open: a range, a list, or a normal law.

All three are read from one coordinate, the share of the prior's probability below a value, so that
a point of the unit cube is a setting of all parameters.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from trunkline.scenario import units
from trunkline.scenario.expression import ExactQuantity, parse_scalar
from trunkline.scenario.fields import describe_value, make_invalid_error
from trunkline.study.language.grid import (
    SAMPLED_RANGE_SCHEMA,
    VALUE_SCHEMA,
    ParameterRange,
    check_sampled_range,
    parse_axis,
)

_NORMAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mean": {**VALUE_SCHEMA, "description": "Mean, a number or a quantity such as `10 ms`."},
        "deviation": {**VALUE_SCHEMA, "description": "Standard deviation, of the same kind."},
    },
    "required": ["mean", "deviation"],
    "additionalProperties": False,
}

_WRITTEN_PARTS = 1000
"""Values of a range are written to a thousandth of such a part; a fit tells none finer apart."""

_MAX_DEVIATIONS = 4.0  # A normal law ends so many deviations from its mean.


def _parse_prior(spec: Any) -> Any:
    if isinstance(spec, list | tuple):
        return parse_axis(list(spec))
    if not isinstance(spec, Mapping):
        message = "a prior is a range, a list of values, or a mean with a deviation"
        allowed = "{from: 1 ms, to: 10 ms}, [reno, sack] or {mean: 5 ms, deviation: 1 ms}"
        raise make_invalid_error("type", message, given=describe_value(spec), allowed=allowed)
    if "mean" in spec or "deviation" in spec:
        _read_normal(spec)
        return dict(spec)
    return check_sampled_range(spec)


def _read_normal(spec: Mapping[str, Any]) -> ParameterRange:
    """Read the range that a normal law is cut to: four deviations, and not beyond zero."""
    for key in spec:
        if key not in _NORMAL_SCHEMA["properties"]:
            message = f"there is no key {key} in a normal law"
            raise make_invalid_error("unknown-key", message, allowed="mean, deviation", at=(key,))
    for key in ("mean", "deviation"):
        if key not in spec:
            raise make_invalid_error("missing-key", f"a normal law needs {key}")
    ends = ParameterRange({"from": spec["mean"], "to": spec["deviation"]}, SAMPLED_RANGE_SCHEMA)
    mean, deviation = ends.low, ends.high
    if deviation <= 0:
        message = "the deviation must be above zero"
        raise make_invalid_error("range", message, given=str(spec["deviation"]), at=("deviation",))
    ends.low = mean - round(_MAX_DEVIATIONS) * deviation
    ends.high = mean + round(_MAX_DEVIATIONS) * deviation
    if mean > 0:
        ends.low = max(ends.low, deviation / 1000)
    return ends


Prior = Annotated[
    list[str] | dict[str, Any],
    BeforeValidator(_parse_prior),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": VALUE_SCHEMA, "minItems": 1},
                SAMPLED_RANGE_SCHEMA,
                _NORMAL_SCHEMA,
            ]
        }
    ),
]
"""Readings, each as likely; a range, linear or logarithmic; or a normal law."""


def _parse_text(text: str) -> ExactQuantity | None:
    """A value as a study file writes it: a number without a unit is one too."""
    number = units.parse_number(text)
    return parse_scalar(text) if number is None else ExactQuantity(number)


class ParameterPrior:
    """The prior of a parameter, from a share of its probability to a value.

    spec: list of str or mapping; as a study file has it.
    """

    def __init__(self, spec: Sequence[str] | Mapping[str, Any]) -> None:
        self.spec = spec
        self.readings: tuple[str, ...] = ()
        """Values of a list, or of a range with steps; empty where values are continuous."""
        self._range: ParameterRange | None = None
        if not isinstance(spec, Mapping):
            self.readings = tuple(spec)
        elif "mean" in spec:
            self._range = _read_normal(spec)
        else:
            self._range = ParameterRange(spec, SAMPLED_RANGE_SCHEMA)
            if "step" in spec:
                step = self._range.read_step()
                count = int((self._range.high - self._range.low) / step) + 1
                self.readings = tuple(
                    self._range.format_value(self._range.low + number * step)
                    for number in range(count)
                )

    @property
    def is_range(self) -> bool:
        """Whether it has a lower and an upper end, with steps between them or without."""
        return self._range is not None

    @property
    def is_continuous(self) -> bool:
        """Whether the values are those of an interval."""
        return not self.readings

    @functools.cached_property
    def is_ordered(self) -> bool:
        """Whether neighbours are alike: numbers, in rising or falling order."""
        quantities = [_parse_text(each) for each in self.readings]
        if any(each is None for each in quantities):
            return False
        values = [each.value for each in quantities if each is not None]
        kinds = {each.exponents for each in quantities if each is not None}
        return (
            len(kinds) == 1
            and len(values) > 1
            and (values == sorted(values) or values == sorted(values, reverse=True))
        )

    def describe(self) -> str:
        """Describe it as text: a list, a range with its scale or step, or a normal law."""
        if not isinstance(self.spec, Mapping):
            return ", ".join(self.spec)
        if "mean" in self.spec:
            return f"{self.spec['mean']} ± {self.spec['deviation']}"
        text = f"{self.spec['from']} to {self.spec['to']}"
        if "step" in self.spec:
            text += f" in steps of {self.spec['step']}"
        return text + (", any ratio as likely" if self.spec.get("scale") == "log" else "")

    def find_reading(self, share: float) -> int:
        """Find the number of the reading at a share of the prior's probability."""
        return min(int(share * len(self.readings)), len(self.readings) - 1)

    def format_at(self, share: float) -> str:
        """Format the value at a share of the prior's probability, as a scenario file has it."""
        if self.readings:
            return self.readings[self.find_reading(share)]
        assert self._range is not None
        assert isinstance(self.spec, Mapping)
        if "mean" in self.spec:
            return self._range.interpolate_rounded(
                self._find_normal_place(share), _WRITTEN_PARTS, log=False
            )
        return self._range.interpolate_rounded(
            share, _WRITTEN_PARTS, log=self._range.is_logarithmic()
        )

    def _find_normal_place(self, share: float) -> float:
        """Find the value between the ends of a normal law that has a share of it below."""
        from scipy.stats import truncnorm

        assert self._range is not None
        assert isinstance(self.spec, Mapping)
        ends = ParameterRange(
            {"from": self.spec["mean"], "to": self.spec["deviation"]}, SAMPLED_RANGE_SCHEMA
        )
        mean, deviation = float(ends.low), float(ends.high)
        low, high = float(self._range.low), float(self._range.high)
        law = truncnorm((low - mean) / deviation, (high - mean) / deviation, mean, deviation)
        return float((law.ppf(share) - low) / (high - low))

    def find_share(self, value: str) -> float | None:
        """Find the share at which a value is; None where the prior has no such value."""
        quantity = _parse_text(value)
        if self.readings:
            # 10 kB is a step of 8000 B, 9000 B, ...: quantities, not texts.
            places = [
                place
                for place, reading in enumerate(self.readings)
                if reading == value or (quantity is not None and _parse_text(reading) == quantity)
            ]
            return (places[0] + 0.5) / len(self.readings) if places else None
        assert self._range is not None
        if quantity is None or quantity.exponents != self._range.exponents:
            return None
        wanted = float(quantity.value)
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            found = _parse_text(self.format_at(middle))
            assert found is not None
            is_rising = self._range.high > self._range.low
            low, high = (
                (middle, high) if (float(found.value) < wanted) == is_rising else (low, middle)
            )
        ends = sorted((float(self._range.low), float(self._range.high)))
        return (low + high) / 2 if ends[0] <= wanted <= ends[1] else None

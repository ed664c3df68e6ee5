"""The points of a study: lists, ranges, values side by side, Latin hypercubes, and their product.

An axis is a list of values, or a range written ``{from: 1 ms, to: 10 ms, step: 1 ms}`` or
``{from: 1 Mbit/s, to: 1 Gbit/s, count: 7, scale: log}``. Ranges are exact: steps are added as
fractions of base units, and a range that is no whole number of steps is refused, not cut. Points
are counted before any of them is made.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from trunkline.scenario.expression import ExactQuantity, ExpressionError, parse_scalar
from trunkline.scenario.fields import PlainInteger, describe_value, make_invalid_error
from trunkline.study.language.part import StudyPart

MAX_STUDY_POINTS = 1_000_000
"""Maximum number of points of a study; more is a mistake, and 10^8 would fill the memory."""

_SIGNIFICANT_DIGITS = 12
_SCALES = ("linear", "log")
VALUE_SCHEMA: dict[str, Any] = {"type": ["string", "number"]}
SAMPLED_RANGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "from": {
            **VALUE_SCHEMA,
            "description": "First value, a number or a quantity such as `10 ms`.",
        },
        "to": {**VALUE_SCHEMA, "description": "Last value, of the same kind."},
        "step": {
            **VALUE_SCHEMA,
            "description": "Distance of neighbours; a whole number of them fits.",
        },
        "scale": {
            "enum": list(_SCALES),
            "default": _SCALES[0],
            "description": "Equal distances, or equal ratios.",
        },
    },
    "required": ["from", "to"],
    "additionalProperties": False,
}
_COUNT_SCHEMA = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_STUDY_POINTS,
    "description": "How many values, in place of a step.",
}
_RANGE_SCHEMA = {
    **SAMPLED_RANGE_SCHEMA,
    "properties": {**SAMPLED_RANGE_SCHEMA["properties"], "count": _COUNT_SCHEMA},
    "oneOf": [{"required": ["step"]}, {"required": ["count"]}],
}


class ParameterRange:
    """Ends of a range, exact, and how its values are written.

    spec: Specification in the study file: ``from`` and ``to``, quantities of one kind.
    schema: JSON Schema of it, which has the keys.
    Raises PydanticCustomError: An end is missing, is no number, or is of another kind than the
        first.
    """

    def __init__(self, spec: Mapping[str, Any], schema: Mapping[str, Any] = _RANGE_SCHEMA) -> None:
        keys = schema["properties"]
        for key in spec:
            if key not in keys:
                message = f"there is no key {key} in a range"
                raise make_invalid_error("unknown-key", message, allowed=", ".join(keys), at=(key,))
        for key in schema["required"]:
            if key not in spec:
                raise make_invalid_error("missing-key", f"a range needs {key}")
        self.spec = spec
        first = self._read_quantity("from")
        self.exponents = first.exponents
        self.percent = str(spec["from"]).strip().endswith("%")
        self.low, self.high = first.value, self._read_same_kind("to")

    def _read_quantity(self, key: str) -> ExactQuantity:
        found = parse_scalar(self.spec[key])
        if found is None:
            given = (
                self.spec[key]
                if isinstance(self.spec[key], str)
                else describe_value(self.spec[key])
            )
            allowed = "a number, or a quantity such as 10 ms"
            message = f"{key} of a range must be a number or quantity"
            raise make_invalid_error("unit", message, given=given, allowed=allowed, at=(key,))
        return found

    def _read_same_kind(self, key: str) -> Fraction:
        found = self._read_quantity(key)
        if found.exponents != self.exponents:
            message = f"{key} and from of a range must be of one kind"
            raise make_invalid_error("unit", message, given=str(self.spec[key]), at=(key,))
        return found.value

    def read_step(self) -> Fraction:
        """Step, checked: it leads from one end to the other in a whole number of steps."""
        step, span = self._read_same_kind("step"), self.high - self.low
        if step == 0 or span * step < 0:
            ends = f"from {self.spec['from']} to {self.spec['to']}"
            message = f"the step must lead {ends}"
            raise make_invalid_error("range", message, given=str(self.spec["step"]), at=("step",))
        if (span / step).denominator != 1:
            last = self.low + step * math.floor(span / step)
            hint = f"to: {self.format_value(last)} or to: {self.format_value(last + step)}"
            message = "a range must be a whole number of steps"
            raise make_invalid_error(
                "relation", message, given=str(self.spec["step"]), hint=hint, at=("to",)
            )
        return step

    def read_integer(self, key: str, minimum: int) -> int:
        """Read a whole number from `minimum` to the most points of a study."""
        value = self.spec[key]
        if type(value) is not int or value < minimum:
            message = f"{key} must be a whole number from {minimum}"
            raise make_invalid_error("range", message, given=describe_value(value), at=(key,))
        if value > MAX_STUDY_POINTS:
            raise build_too_many_points_error(value, at=(key,))
        return value

    def interpolate(self, share: Fraction | float, *, log: bool) -> str:
        """Value at a share of the way from one end to the other, linear or in proportion."""
        if not log:
            return self.format_value(self.low + Fraction(share) * (self.high - self.low))
        ratio = float(self.high / self.low)
        value = float(self.low) * math.pow(ratio, float(share))
        # Powers may differ in the last bit from one platform to the next.
        return self.format_value(Fraction(f"{value:.{_SIGNIFICANT_DIGITS}g}"))

    def interpolate_rounded(self, share: float, parts: int, *, log: bool) -> str:
        """Value at a share of the way, to about a thousandth of one of so many parts.

        More digits would only be longer to read.
        """
        if log:
            ratio = float(self.high / self.low)
            value = float(self.low) * math.pow(ratio, share)
            part_width = value * abs(math.log(ratio)) / parts
        else:
            span = float(self.high - self.low)
            value = float(self.low) + share * span
            part_width = abs(span) / parts
        digits = Fraction(10) ** (math.floor(math.log10(part_width)) - 3)
        return self.format_value(round(Fraction(value) / digits) * digits)

    def is_logarithmic(self) -> bool:
        """Whether the scale is logarithmic; both ends must then be above zero."""
        scale = self.spec.get("scale", "linear")
        if scale not in _SCALES:
            message = f"{scale!r} is no scale"
            raise make_invalid_error("choice", message, allowed=", ".join(_SCALES), at=("scale",))
        if scale == "log" and min(self.low, self.high) <= 0:
            key = "from" if self.low <= 0 else "to"
            message = "a range on a log scale must lie above zero"
            raise make_invalid_error("range", message, given=str(self.spec[key]), at=(key,))
        return bool(scale == "log")

    def format_value(self, value: Fraction) -> str:
        """Format a value as a scenario file has it."""
        if self.percent:
            return f"{_format_fraction(100 * value)} %"
        if self.exponents == (0, 0, 0):
            return _format_fraction(value)
        try:
            return str(ExactQuantity(value, self.exponents).to_scalar())
        except ExpressionError as error:
            raise make_invalid_error("range", str(error), at=("from",)) from None


def _format_fraction(value: Fraction) -> str:
    return (
        str(value.numerator)
        if value.denominator == 1
        else f"{float(value):.{_SIGNIFICANT_DIGITS}g}"
    )


def build_too_many_points_error(count: int, *, at: tuple[str | int, ...] = ()) -> Exception:
    """Build the error for a study of more points than anybody means."""
    counted, maximum = (f"{number:,}".replace(",", " ") for number in (count, MAX_STUDY_POINTS))
    return make_invalid_error("limit", f"{counted} points; {maximum} at most", at=at)


def parse_axis(spec: Any) -> Any:
    """Parse the values of an axis as text, from a list or a range.

    Raises PydanticCustomError: It is neither, is empty, names a value twice, or is a range that
        cannot be.
    """
    if isinstance(spec, Mapping):
        return _expand_range(ParameterRange(spec))
    if not isinstance(spec, list | tuple):
        message = "an axis is a list of values or a range"
        raise make_invalid_error(
            "type", message, given=describe_value(spec), allowed="[1 ms, 2 ms] or {from, to, step}"
        )
    if not spec:
        raise make_invalid_error("range", "an axis needs at least one value", given="an empty list")
    if len(spec) > MAX_STUDY_POINTS:
        raise build_too_many_points_error(len(spec))
    texts = []
    for index, value in enumerate(spec):
        if isinstance(value, bool | dict | list | tuple) or value is None:
            message = "a value of an axis is a number or text"
            raise make_invalid_error("type", message, given=describe_value(value), at=(index,))
        texts.append(value if isinstance(value, str) else _format_number(value))
    texts_seen: set[str] = set()
    for index, text in enumerate(texts):
        if text in texts_seen:
            raise make_invalid_error("duplicate-name", f"{text} is twice in this axis", at=(index,))
        texts_seen.add(text)
    return texts


def _format_number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(value)


def _expand_range(parameter_range: ParameterRange) -> list[str]:
    is_log = parameter_range.is_logarithmic()
    if ("step" in parameter_range.spec) == ("count" in parameter_range.spec):
        raise make_invalid_error("missing-key", "a range needs either step or count")
    if "step" in parameter_range.spec:
        if is_log:
            message = "steps are equal only on a linear scale; say count"
            raise make_invalid_error("relation", message, at=("step",))
        step = parameter_range.read_step()
        count = int((parameter_range.high - parameter_range.low) / step) + 1
        if count > MAX_STUDY_POINTS:
            raise build_too_many_points_error(count, at=("step",))
        return [
            parameter_range.format_value(parameter_range.low + index * step)
            for index in range(count)
        ]
    count = parameter_range.read_integer("count", 1)
    if count == 1:
        if parameter_range.low != parameter_range.high:
            raise make_invalid_error(
                "relation", "one value cannot be at both ends", given="1", at=("count",)
            )
        return [parameter_range.format_value(parameter_range.low)]
    axis_values = [
        parameter_range.interpolate(Fraction(index, count - 1), log=is_log)
        for index in range(count)
    ]
    if len(set(axis_values)) < count:
        message = "the values of this range coincide in whole base units"
        raise make_invalid_error("precision", message, at=("count",))
    return axis_values


Axis = Annotated[
    list[str],
    BeforeValidator(parse_axis),
    WithJsonSchema(
        {"anyOf": [{"type": "array", "items": VALUE_SCHEMA, "minItems": 1}, _RANGE_SCHEMA]}
    ),
]
"""Values of a parameter, in order."""


def check_sampled_range(spec: Any) -> Any:
    """A range to sample, as written; refused where the text is no range."""
    if not isinstance(spec, Mapping):
        message = "a sampled parameter needs a range"
        raise make_invalid_error(
            "type", message, given=describe_value(spec), allowed="{from: 1 ms, to: 10 ms}"
        )
    parameter_range = ParameterRange(spec, SAMPLED_RANGE_SCHEMA)
    parameter_range.is_logarithmic()
    if parameter_range.low == parameter_range.high:
        raise make_invalid_error("relation", "both ends are the same", at=("to",))
    if "step" in spec:
        parameter_range.read_step()
    return dict(spec)


_SampledRange = Annotated[
    dict[str, Any], BeforeValidator(check_sampled_range), WithJsonSchema(SAMPLED_RANGE_SCHEMA)
]


class LatinHypercubeSample(StudyPart):
    """A Latin hypercube: of as many equal parts of each range as it has points, each is met once.

    Parameters
    ----------
    points : int
        Number of points.
    seed : int
        Seed of the sample; the same seed gives the same points.
    ranges : dict of str to range
        Parameters with ``from`` and ``to``, ``scale: log`` where wanted; with ``step`` the values
        are the steps, each as likely.
    """

    points: Annotated[int, PlainInteger("the number of points", 1, MAX_STUDY_POINTS)]
    seed: Annotated[int, PlainInteger("the seed", 0, 2**64 - 1)] = 1
    ranges: Annotated[dict[str, _SampledRange], Field(min_length=1)]

    def draw_points(self) -> list[dict[str, str]]:
        """Draw the points of the sample: parameter to value."""
        from scipy.stats import qmc

        shares = qmc.LatinHypercube(len(self.ranges), rng=self.seed).random(self.points)
        columns = [
            [
                _value_at_share(ParameterRange(spec), share, self.points)
                for share in shares[:, index].tolist()
            ]
            for index, spec in enumerate(self.ranges.values())
        ]
        return [dict(zip(self.ranges, row, strict=True)) for row in zip(*columns, strict=True)]


def _value_at_share(parameter_range: ParameterRange, share: float, points: int) -> str:
    if "step" not in parameter_range.spec:
        return parameter_range.interpolate_rounded(
            share, points, log=parameter_range.is_logarithmic()
        )
    step = parameter_range.read_step()
    levels = int((parameter_range.high - parameter_range.low) / step) + 1
    return parameter_range.format_value(
        parameter_range.low + min(int(share * levels), levels - 1) * step
    )


def _check_equal_lengths(axes: dict[str, list[str]]) -> dict[str, list[str]]:
    if not axes:
        raise make_invalid_error(
            "range", "values side by side need a parameter", given="an empty mapping"
        )
    lengths = {name: len(axis) for name, axis in axes.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise make_invalid_error("relation", f"values side by side must be equally many: {listed}")
    return axes


ParameterZip = Annotated[dict[str, Axis], AfterValidator(_check_equal_lengths)]
"""Parameters whose values go side by side: the first of each, the second of each, ..."""

Axes = Mapping[str, Sequence[str]]


def count_points(grid: Axes, zips: Sequence[Axes], sample: LatinHypercubeSample | None) -> int:
    """Count the points of the product, without making them."""
    lengths = [len(axis) for axis in grid.values()]
    lengths += [len(next(iter(each.values()))) for each in zips]
    return math.prod([*lengths, sample.points if sample else 1])


def check_grid(grid: Axes, zips: Sequence[Axes], sample: LatinHypercubeSample | None) -> None:
    """Refuse a product of too many points, and a parameter that is set twice.

    Raises PydanticCustomError: With the place.
    """
    key_by_parameter: dict[str, str] = dict.fromkeys(grid, "grid")
    other_parameters: list[tuple[tuple[str | int, ...], str]] = []
    other_parameters += [
        (("zip", index, name), name) for index, each in enumerate(zips) for name in each
    ]
    other_parameters += [
        (("sample", "ranges", name), name) for name in (sample.ranges if sample else ())
    ]
    for place, name in other_parameters:
        if name in key_by_parameter:
            message = f"{name} is already in {key_by_parameter[name]}"
            raise make_invalid_error("duplicate-name", message, at=place)
        key_by_parameter[name] = str(place[0])
    total = count_points(grid, zips, sample)
    if total > MAX_STUDY_POINTS:
        raise build_too_many_points_error(total, at=("grid",) if grid else ())


def list_points(
    grid: Axes, zips: Sequence[Axes] = (), sample: LatinHypercubeSample | None = None
) -> list[dict[str, str]]:
    """List all points: the product of the axes, of the rows side by side and of the sample.

    Returns: Parameter to value; the last factor changes fastest.
    """
    factors = [[{name: value} for value in axis] for name, axis in grid.items()]
    factors += [
        [dict(zip(each, row, strict=True)) for row in zip(*each.values(), strict=True)]
        for each in zips
    ]
    if sample is not None:
        factors.append(sample.draw_points())
    return [
        {name: value for part in parts for name, value in part.items()}
        for parts in itertools.product(*factors)
    ]

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

from trunkline.scenario.expression import ExpressionError, Quantity, quantity
from trunkline.scenario.fields import Whole, invalid, kind
from trunkline.study.language.part import Part

MOST_POINTS = 1_000_000
"""Maximum number of points of a study; more is a mistake, and 10^8 would fill the memory."""

_DIGITS = 12
_SCALES = ("linear", "log")
_VALUE: dict[str, Any] = {"type": ["string", "number"]}
_SPREAD_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "from": {**_VALUE, "description": "First value, a number or a quantity such as `10 ms`."},
        "to": {**_VALUE, "description": "Last value, of the same kind."},
        "step": {**_VALUE, "description": "Distance of neighbours; a whole number of them fits."},
        "scale": {
            "enum": list(_SCALES),
            "default": _SCALES[0],
            "description": "Equal distances, or equal ratios.",
        },
    },
    "required": ["from", "to"],
    "additionalProperties": False,
}
_COUNT = {
    "type": "integer",
    "minimum": 1,
    "maximum": MOST_POINTS,
    "description": "How many values, in place of a step.",
}
_RANGE_SCHEMA = {
    **_SPREAD_SCHEMA,
    "properties": {**_SPREAD_SCHEMA["properties"], "count": _COUNT},
    "oneOf": [{"required": ["step"]}, {"required": ["count"]}],
}


class Range:
    """Ends of a range, exact, and how its values are written.

    Parameters
    ----------
    said : mapping
        What the study file says: ``from`` and ``to``, quantities of one kind.
    schema : dict
        JSON Schema of it, which has the keys.

    Raises
    ------
    PydanticCustomError
        An end is missing, is no number, or is of another kind than the first.
    """

    def __init__(self, said: Mapping[str, Any], schema: Mapping[str, Any] = _RANGE_SCHEMA) -> None:
        keys = schema["properties"]
        for key in said:
            if key not in keys:
                message = f"there is no key {key} in a range"
                raise invalid("unknown-key", message, allowed=", ".join(keys), at=(key,))
        for key in schema["required"]:
            if key not in said:
                raise invalid("missing-key", f"a range needs {key}")
        self.said = said
        first = self._quantity("from")
        self.exponents = first.exponents
        self.percent = str(said["from"]).strip().endswith("%")
        self.low, self.high = first.value, self._same("to")

    def _quantity(self, key: str) -> Quantity:
        found = quantity(self.said[key])
        if found is None:
            given = self.said[key] if isinstance(self.said[key], str) else kind(self.said[key])
            allowed = "a number, or a quantity such as 10 ms"
            message = f"{key} of a range must be a number or quantity"
            raise invalid("unit", message, given=given, allowed=allowed, at=(key,))
        return found

    def _same(self, key: str) -> Fraction:
        found = self._quantity(key)
        if found.exponents != self.exponents:
            message = f"{key} and from of a range must be of one kind"
            raise invalid("unit", message, given=str(self.said[key]), at=(key,))
        return found.value

    def step(self) -> Fraction:
        """Step, checked: it leads from one end to the other in a whole number of steps."""
        step, span = self._same("step"), self.high - self.low
        if step == 0 or span * step < 0:
            ends = f"from {self.said['from']} to {self.said['to']}"
            message = f"the step must lead {ends}"
            raise invalid("range", message, given=str(self.said["step"]), at=("step",))
        if (span / step).denominator != 1:
            last = self.low + step * math.floor(span / step)
            hint = f"to: {self.written(last)} or to: {self.written(last + step)}"
            message = "a range must be a whole number of steps"
            raise invalid("relation", message, given=str(self.said["step"]), hint=hint, at=("to",))
        return step

    def whole(self, key: str, least: int) -> int:
        """A whole number from `least` to the most points of a study."""
        value = self.said[key]
        if type(value) is not int or value < least:
            message = f"{key} must be a whole number from {least}"
            raise invalid("range", message, given=kind(value), at=(key,))
        if value > MOST_POINTS:
            raise too_many(value, at=(key,))
        return value

    def at(self, share: Fraction | float, *, log: bool) -> str:
        """Value at a share of the way from one end to the other, linear or in proportion."""
        if not log:
            return self.written(self.low + Fraction(share) * (self.high - self.low))
        ratio = float(self.high / self.low)
        value = float(self.low) * math.pow(ratio, float(share))
        # Powers may differ in the last bit from one platform to the next.
        return self.written(Fraction(f"{value:.{_DIGITS}g}"))

    def near(self, share: float, parts: int, *, log: bool) -> str:
        """Value at a share of the way, to about a thousandth of one of so many parts.

        More digits would only be longer to read.
        """
        if log:
            ratio = float(self.high / self.low)
            value = float(self.low) * math.pow(ratio, share)
            part = value * abs(math.log(ratio)) / parts
        else:
            span = float(self.high - self.low)
            value = float(self.low) + share * span
            part = abs(span) / parts
        digits = Fraction(10) ** (math.floor(math.log10(part)) - 3)
        return self.written(round(Fraction(value) / digits) * digits)

    def log(self) -> bool:
        """Whether the scale is logarithmic; both ends must then be above zero."""
        scale = self.said.get("scale", "linear")
        if scale not in _SCALES:
            message = f"{scale!r} is no scale"
            raise invalid("choice", message, allowed=", ".join(_SCALES), at=("scale",))
        if scale == "log" and min(self.low, self.high) <= 0:
            key = "from" if self.low <= 0 else "to"
            message = "a range on a log scale must lie above zero"
            raise invalid("range", message, given=str(self.said[key]), at=(key,))
        return bool(scale == "log")

    def written(self, value: Fraction) -> str:
        """A value as it would stand in a scenario file."""
        if self.percent:
            return f"{_number(100 * value)} %"
        if self.exponents == (0, 0, 0):
            return _number(value)
        try:
            return str(Quantity(value, self.exponents).scalar())
        except ExpressionError as error:
            raise invalid("range", str(error), at=("from",)) from None


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.{_DIGITS}g}"


def too_many(count: int, *, at: tuple[str | int, ...] = ()) -> Exception:
    """The error for a study of more points than anybody means."""
    counted, most = (f"{number:,}".replace(",", " ") for number in (count, MOST_POINTS))
    return invalid("limit", f"{counted} points; {most} at most", at=at)


def values(said: Any) -> Any:
    """Values of an axis as text, from a list or a range.

    Raises
    ------
    PydanticCustomError
        It is neither, is empty, names a value twice, or is a range that cannot be.
    """
    if isinstance(said, Mapping):
        return _range(Range(said))
    if not isinstance(said, list | tuple):
        message = "an axis is a list of values or a range"
        raise invalid("type", message, given=kind(said), allowed="[1 ms, 2 ms] or {from, to, step}")
    if not said:
        raise invalid("range", "an axis needs at least one value", given="an empty list")
    if len(said) > MOST_POINTS:
        raise too_many(len(said))
    written = []
    for index, value in enumerate(said):
        if isinstance(value, bool | dict | list | tuple) or value is None:
            message = "a value of an axis is a number or text"
            raise invalid("type", message, given=kind(value), at=(index,))
        written.append(value if isinstance(value, str) else _plain(value))
    seen: set[str] = set()
    for index, text in enumerate(written):
        if text in seen:
            raise invalid("duplicate-name", f"{text} stands twice in this axis", at=(index,))
        seen.add(text)
    return written


def _plain(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(value)


def _range(its: Range) -> list[str]:
    log = its.log()
    if ("step" in its.said) == ("count" in its.said):
        raise invalid("missing-key", "a range needs either step or count")
    if "step" in its.said:
        if log:
            message = "steps are equal only on a linear scale; say count"
            raise invalid("relation", message, at=("step",))
        step = its.step()
        count = int((its.high - its.low) / step) + 1
        if count > MOST_POINTS:
            raise too_many(count, at=("step",))
        return [its.written(its.low + index * step) for index in range(count)]
    count = its.whole("count", 1)
    if count == 1:
        if its.low != its.high:
            raise invalid("relation", "one value cannot be at both ends", given="1", at=("count",))
        return [its.written(its.low)]
    made = [its.at(Fraction(index, count - 1), log=log) for index in range(count)]
    if len(set(made)) < count:
        message = "the values of this range coincide in whole base units"
        raise invalid("precision", message, at=("count",))
    return made


Axis = Annotated[
    list[str],
    BeforeValidator(values),
    WithJsonSchema({"anyOf": [{"type": "array", "items": _VALUE, "minItems": 1}, _RANGE_SCHEMA]}),
]
"""Values of a parameter, in order."""


def _spread(said: Any) -> Any:
    if not isinstance(said, Mapping):
        message = "what is sampled is a range"
        raise invalid("type", message, given=kind(said), allowed="{from: 1 ms, to: 10 ms}")
    its = Range(said, _SPREAD_SCHEMA)
    its.log()
    if its.low == its.high:
        raise invalid("relation", "both ends are the same", at=("to",))
    if "step" in said:
        its.step()
    return dict(said)


_Spread = Annotated[dict[str, Any], BeforeValidator(_spread), WithJsonSchema(_SPREAD_SCHEMA)]


class Sample(Part):
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

    points: Annotated[int, Whole("the number of points", 1, MOST_POINTS)]
    seed: Annotated[int, Whole("the seed", 0, 2**64 - 1)] = 1
    ranges: Annotated[dict[str, _Spread], Field(min_length=1)]

    def rows(self) -> list[dict[str, str]]:
        """Points of the sample: parameter to value."""
        from scipy.stats import qmc

        drawn = qmc.LatinHypercube(len(self.ranges), rng=self.seed).random(self.points)
        columns = [
            [_drawn(Range(said), share, self.points) for share in drawn[:, index].tolist()]
            for index, said in enumerate(self.ranges.values())
        ]
        return [dict(zip(self.ranges, row, strict=True)) for row in zip(*columns, strict=True)]


def _drawn(its: Range, share: float, points: int) -> str:
    if "step" not in its.said:
        return its.near(share, points, log=its.log())
    step = its.step()
    levels = int((its.high - its.low) / step) + 1
    return its.written(its.low + min(int(share * levels), levels - 1) * step)


def _one_length(axes: dict[str, list[str]]) -> dict[str, list[str]]:
    if not axes:
        raise invalid("range", "values side by side need a parameter", given="an empty mapping")
    lengths = {name: len(axis) for name, axis in axes.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise invalid("relation", f"values side by side must be equally many: {listed}")
    return axes


Zip = Annotated[dict[str, Axis], AfterValidator(_one_length)]
"""Parameters whose values go side by side: the first of each, the second of each, ..."""

Axes = Mapping[str, Sequence[str]]


def count(grid: Axes, zips: Sequence[Axes], sample: Sample | None) -> int:
    """Points of the product, without making them."""
    lengths = [len(axis) for axis in grid.values()]
    lengths += [len(next(iter(each.values()))) for each in zips]
    return math.prod([*lengths, sample.points if sample else 1])


def check(grid: Axes, zips: Sequence[Axes], sample: Sample | None) -> None:
    """Refuse a product of too many points, and a parameter that is set twice.

    Raises
    ------
    PydanticCustomError
        With the place.
    """
    taken: dict[str, str] = dict.fromkeys(grid, "grid")
    more: list[tuple[tuple[str | int, ...], str]] = []
    more += [(("zip", index, name), name) for index, each in enumerate(zips) for name in each]
    more += [(("sample", "ranges", name), name) for name in (sample.ranges if sample else ())]
    for place, name in more:
        if name in taken:
            message = f"{name} is already in {taken[name]}"
            raise invalid("duplicate-name", message, at=place)
        taken[name] = str(place[0])
    total = count(grid, zips, sample)
    if total > MOST_POINTS:
        raise too_many(total, at=("grid",) if grid else ())


def rows(
    grid: Axes, zips: Sequence[Axes] = (), sample: Sample | None = None
) -> list[dict[str, str]]:
    """All points: the product of the axes, of the rows side by side and of the sample.

    Returns
    -------
    list of dict of str to str
        Parameter to value; the last factor changes fastest.
    """
    factors = [[{name: value} for value in axis] for name, axis in grid.items()]
    factors += [
        [dict(zip(each, row, strict=True)) for row in zip(*each.values(), strict=True)]
        for each in zips
    ]
    if sample is not None:
        factors.append(sample.rows())
    return [
        {name: value for part in parts for name, value in part.items()}
        for parts in itertools.product(*factors)
    ]

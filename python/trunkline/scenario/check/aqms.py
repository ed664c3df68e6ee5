"""Checks of AQMs: relations between their parameters."""

from trunkline.scenario.aqm import (
    Aqm,
    Blue,
    Cobalt,
    Codel,
    Curve,
    Gred,
    Mred,
    Red,
    RedLinux,
    Step,
    TcRed,
)
from trunkline.scenario.diagnostic import Path
from trunkline.scenario.limit import limit_text
from trunkline.scenario.problems import Problems
from trunkline.scenario.units import format_bytes, format_packets, format_time


def check(aqm: Aqm, path: Path, problems: Problems) -> None:
    """Checks one AQM at a path of the document."""
    if isinstance(aqm, Red):
        _curve(aqm, path, problems)
        _weight(aqm.w_q, "w_q", path, problems)
    elif isinstance(aqm, Mred):
        _weight(aqm.w_q, "w_q", path, problems)
        for index, curve in enumerate(aqm.precedences):
            at = (*path, "precedences", index)
            _curve(curve, at, problems)
            if curve.unit == "bytes":
                message = f"{aqm.kind} averages packets: its thresholds are in packets"
                problems.add("unit", (*at, "min_th"), message, given=str(limit_text(curve.min_th)))
    elif isinstance(aqm, RedLinux):
        _tc(aqm, path, problems)
        if aqm.adaptive and aqm.age == "plog":
            problems.add(
                "relation",
                (*path, "adaptive"),
                "adaptive came to Linux with max-p in 2012",
                allowed="age: max-p",
                at_key=True,
            )
    elif isinstance(aqm, Blue | Step):
        _threshold(aqm, path, problems)
    elif isinstance(aqm, Gred):
        _gred(aqm, path, problems)
    elif isinstance(aqm, Codel | Cobalt) and aqm.target >= aqm.interval:
        problems.add(
            "relation",
            (*path, "target"),
            "target must be below interval",
            given=format_time(aqm.target),
            allowed=f"below {format_time(aqm.interval)}",
        )


def _threshold(aqm: Blue | Step, path: Path, problems: Problems) -> None:
    text = limit_text(aqm.threshold)
    if (aqm.threshold.packets is None) == (aqm.threshold.bytes is None):
        problems.add(
            "unit",
            (*path, "threshold"),
            "a threshold is one of packets or one of bytes",
            given=text if isinstance(text, str) else " and ".join(text),
        )
    if isinstance(aqm, Blue):
        _weight(aqm.increment, "increment", path, problems)
        _weight(aqm.decrement, "decrement", path, problems)


def _weight(value: float, key: str, path: Path, problems: Problems) -> None:
    if value == 0:
        problems.add("range", (*path, key), f"{key} must be above 0", given="0", at_key=False)


def _curve(curve: Curve, path: Path, problems: Problems) -> None:
    low, high = limit_text(curve.min_th), limit_text(curve.max_th)
    if not curve.unit:
        problems.add(
            "unit",
            (*path, "max_th"),
            "min_th and max_th must both be in packets or both in bytes",
            given=f"{low} and {high}",
            related=(((*path, "min_th"), f"min_th is {low}"),),
        )
    elif curve.compiled()["max_th"] <= curve.compiled()["min_th"]:
        problems.add(
            "relation",
            (*path, "max_th"),
            "max_th must be above min_th",
            given=str(high),
            related=(((*path, "min_th"), f"min_th is {low}"),),
        )
    _weight(curve.max_p, "max_p", path, problems)


def _tc(red: TcRed, path: Path, problems: Problems) -> None:
    if red.max <= red.min:
        problems.add(
            "relation",
            (*path, "max"),
            "max must be above min",
            given=format_bytes(red.max),
            related=(((*path, "min"), f"min is {format_bytes(red.min)}"),),
        )
    if red.burst * red.avpkt <= red.min:
        problems.add(
            "relation",
            (*path, "burst"),
            "burst packets of avpkt must exceed min",
            given=format_packets(red.burst),
            allowed=f"above {red.min // red.avpkt}",
            related=(((*path, "min"), f"min is {format_bytes(red.min)}"),),
        )
    if not 0 < red.probability < 1:
        message = "probability must be above 0 and below 1"
        problems.add("range", (*path, "probability"), message, given=f"{red.probability:g}")


def _gred(gred: Gred, path: Path, problems: Problems) -> None:
    first: dict[int, int] = {}
    for index, dp in enumerate(gred.dps):
        at = (*path, "dps", index)
        _tc(dp, at, problems)
        if dp.dp in first:
            problems.add(
                "duplicate-name",
                (*at, "dp"),
                f"DP {dp.dp} is set up twice",
                related=(((*path, "dps", first[dp.dp], "dp"), "first here"),),
            )
        first.setdefault(dp.dp, index)
    if gred.default_dp not in first:
        problems.add(
            "reference",
            (*path, "default_dp"),
            f"there is no DP {gred.default_dp}",
            allowed=", ".join(str(each) for each in sorted(first)),
        )

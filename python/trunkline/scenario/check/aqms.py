"""Checks of AQMs: relations between their parameters."""

from trunkline.scenario.aqm import (
    Aqm,
    Blue,
    Cobalt,
    Codel,
    Gred,
    Mred,
    Red,
    RedCurve,
    RedLinux,
    StepMarking,
    TcRed,
)
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.problems import Problems
from trunkline.scenario.queue_limit import format_limit
from trunkline.scenario.units import format_bytes, format_packets, format_time


def check(aqm: Aqm, path: DocumentPath, problems: Problems) -> None:
    """Check one AQM at a path of the document."""
    if isinstance(aqm, Red):
        _check_curve(aqm, path, problems)
        _check_weight(aqm.w_q, "w_q", path, problems)
    elif isinstance(aqm, Mred):
        _check_weight(aqm.w_q, "w_q", path, problems)
        for index, curve in enumerate(aqm.precedences):
            curve_path = (*path, "precedences", index)
            _check_curve(curve, curve_path, problems)
            if curve.unit == "bytes":
                message = f"{aqm.kind} averages packets: its thresholds are in packets"
                problems.add(
                    "unit", (*curve_path, "min_th"), message, given=str(format_limit(curve.min_th))
                )
    elif isinstance(aqm, RedLinux):
        _check_tc(aqm, path, problems)
        if aqm.adaptive and aqm.age == "plog":
            message = "Linux has adaptive since 2012, with max-p"
            problems.add(
                "relation", (*path, "adaptive"), message, allowed="age: max-p", at_key=True
            )
    elif isinstance(aqm, Blue | StepMarking):
        _check_threshold(aqm, path, problems)
    elif isinstance(aqm, Gred):
        _check_gred(aqm, path, problems)
    elif isinstance(aqm, Codel | Cobalt) and aqm.target >= aqm.interval:
        problems.add(
            "relation",
            (*path, "target"),
            "target must be below interval",
            given=format_time(aqm.target),
            allowed=f"below {format_time(aqm.interval)}",
        )


def _check_threshold(aqm: Blue | StepMarking, path: DocumentPath, problems: Problems) -> None:
    text = format_limit(aqm.threshold)
    if (aqm.threshold.packets is None) == (aqm.threshold.bytes is None):
        problems.add(
            "unit",
            (*path, "threshold"),
            "a threshold is one of packets or one of bytes",
            given=text if isinstance(text, str) else " and ".join(text),
        )
    if isinstance(aqm, Blue):
        _check_weight(aqm.increment, "increment", path, problems)
        _check_weight(aqm.decrement, "decrement", path, problems)


def _check_weight(value: float, key: str, path: DocumentPath, problems: Problems) -> None:
    if value == 0:
        problems.add("range", (*path, key), f"{key} must be above 0", given="0", at_key=False)


def _check_curve(curve: RedCurve, path: DocumentPath, problems: Problems) -> None:
    low, high = format_limit(curve.min_th), format_limit(curve.max_th)
    if not curve.unit:
        problems.add(
            "unit",
            (*path, "max_th"),
            "min_th and max_th must both be in packets or both in bytes",
            given=f"{low} and {high}",
            related=(((*path, "min_th"), f"min_th is {low}"),),
        )
    elif curve.compile_keys()["max_th"] <= curve.compile_keys()["min_th"]:
        problems.add(
            "relation",
            (*path, "max_th"),
            "max_th must be above min_th",
            given=str(high),
            related=(((*path, "min_th"), f"min_th is {low}"),),
        )
    _check_weight(curve.max_p, "max_p", path, problems)


def _check_tc(red: TcRed, path: DocumentPath, problems: Problems) -> None:
    if red.max <= red.min:
        problems.add(
            "relation",
            (*path, "max"),
            "max must be above min",
            given=format_bytes(red.max),
            related=(((*path, "min"), f"min is {format_bytes(red.min)}"),),
        )
    # iproute2 tc/tc_red.c, tc_red_eval_ewma: burst + 1 - min / avpkt must not be below 1.
    if red.burst * red.avpkt < red.min:
        problems.add(
            "relation",
            (*path, "burst"),
            "burst packets of avpkt must not be below min",
            given=format_packets(red.burst),
            allowed=f"{-(-red.min // red.avpkt)} packets or more",
            related=(((*path, "min"), f"min is {format_bytes(red.min)}"),),
        )
    if not 0 < red.probability < 1:
        message = "probability must be above 0 and below 1"
        problems.add("range", (*path, "probability"), message, given=f"{red.probability:g}")


def _check_gred(gred: Gred, path: DocumentPath, problems: Problems) -> None:
    first: dict[int, int] = {}
    for index, dp in enumerate(gred.dps):
        dp_path = (*path, "dps", index)
        _check_tc(dp, dp_path, problems)
        if dp.dp in first:
            problems.add(
                "duplicate-name",
                (*dp_path, "dp"),
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

"""What the document says of its tables, as predicates over our runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trunkline.stats import Interval, mean_interval
from trunkline.studies.avallone2003.testbed import FLOWS, Floats, Measured

SAME = 0.03
"""Delays of flows are the same if no mean is further from that of all."""
SHARE = 0.15
"""Flows lose the same share if none is further from the mean of their shares."""
NOTHING = 0.001
"""AF loses nothing if it loses no larger share, in the mean over seeds."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim and how it came out."""

    name: str
    says: str
    held: bool
    detail: str


def judge(stated: Measured, no_label: Measured, no_tick: Measured) -> list[Claim]:
    """Judge all claims; a difference counts where its 95 % interval leaves out zero.

    Parameters
    ----------
    stated : Measured
        The four scenarios.
    no_label : Measured
        MPLS with link headers shorter by what labels add.
    no_tick : Measured
        The four scenarios with a sender whose timer has no tick.
    """
    claims = [_same_delay(stated, each) for each in ("best-effort", "mpls")]
    for each in ("diffserv", "diffserv-over-mpls"):
        claims += [_ef_fastest(stated, each), _af_loses_nothing(stated, each)]
        claims += [_de_slowest(stated, each), _de_loses_most(stated, each)]
    claims.append(_agree(stated))
    claims.append(_label_only(stated, no_label))
    claims.append(_proportional("losses-by-rate", "as published, with the tick", stated))
    claims.append(_proportional("losses-by-rate-without-tick", "without the tick", no_tick))
    return claims


def _same_delay(bed: Measured, scenario: str) -> Claim:
    means = np.array([bed.values[scenario, "mean", flow].mean() for flow in FLOWS])
    off = float(np.abs(means / means.mean() - 1).max())
    says = f"{scenario}: all flows see the same delay"
    detail = f"within {100 * off:.1f} % of {means.mean():.3f} s, {100 * SAME:g} % allowed"
    return Claim(f"{scenario}-same-delay", says, off <= SAME, detail)


def _all_above(name: str, says: str, than: str, differences: dict[str, Floats], unit: str) -> Claim:
    """All differences above zero, seed by seed paired."""
    intervals = {key: mean_interval(values.tolist()) for key, values in differences.items()}
    held = all((i.mean if i.low is None else i.low) > 0 for i in intervals.values())
    amounts = ", ".join(f"{key} by {_text(i)} {unit}" for key, i in intervals.items())
    detail = f"{than} than {amounts}"
    return Claim(name, says, held, detail)


def _ef_fastest(bed: Measured, scenario: str) -> Claim:
    ef = bed.values[scenario, "mean", "EF"]
    more = {flow: bed.values[scenario, "mean", flow] - ef for flow in FLOWS[1:]}
    return _all_above(
        f"{scenario}-ef-fastest", f"{scenario}: EF is the fastest", "sooner", more, "s"
    )


def _de_slowest(bed: Measured, scenario: str) -> Claim:
    slow = bed.values[scenario, "mean", "DE"]
    less = {flow: slow - bed.values[scenario, "mean", flow] for flow in FLOWS[:-1]}
    return _all_above(
        f"{scenario}-de-slowest", f"{scenario}: DE is the slowest", "later", less, "s"
    )


def _de_loses_most(bed: Measured, scenario: str) -> Claim:
    most = _losses(bed, scenario)["DE"]
    less = {flow: 100 * (most - its) for flow, its in _losses(bed, scenario).items()}
    less.pop("DE")
    says = f"{scenario}: DE loses the largest share"
    return _all_above(f"{scenario}-de-loses-most", says, "more", less, "points")


def _af_loses_nothing(bed: Measured, scenario: str) -> Claim:
    shares = {flow: float(_losses(bed, scenario)[flow].mean()) for flow in ("AF11", "AF12")}
    says = f"{scenario}: AF1 loses nothing (at most {100 * NOTHING:g} % of its packets)"
    detail = ", ".join(f"{flow} {100 * share:.3f} %" for flow, share in shares.items())
    return Claim(f"{scenario}-af-loses-nothing", says, max(shares.values()) <= NOTHING, detail)


def _agree(bed: Measured) -> Claim:
    """The document has one run of each: they agree if chance between runs is the larger."""
    parts, held = [], True
    for flow in FLOWS:
        plain, labelled = (
            bed.values[each, "mean", flow] for each in ("diffserv", "diffserv-over-mpls")
        )
        one = mean_interval(plain.tolist())
        # Of one further run: t * s * sqrt(1 + 1/n), where that of the mean is t * s / sqrt(n).
        chance = 0.0 if one.half_width is None else one.half_width * math.sqrt(one.n + 1)
        more = mean_interval((labelled - plain).tolist())
        held &= abs(more.mean) <= chance
        parts.append(f"{flow} {_text(more)} s more with labels, one run ± {chance:.3f} s")
    says = (
        "DiffServ and DiffServ over MPLS agree: mean delays differ by less than one run from the "
        "next"
    )
    return Claim("diffserv-with-and-without-mpls-agree", says, held, "; ".join(parts))


def _label_only(stated: Measured, no_label: Measured) -> Claim:
    pairs = zip(stated.tables["best-effort"], no_label.tables["mpls"], strict=True)
    same = sum(plain == labelled for plain, labelled in pairs)
    says = (
        "label overhead is the only difference between best effort and MPLS: with 4 bytes less of "
        "link header the tables are equal to the last digit"
    )
    detail = f"{same} of {len(stated.seeds)} seeds"
    return Claim("label-is-the-only-difference", says, same == len(stated.seeds), detail)


def _proportional(name: str, which: str, bed: Measured) -> Claim:
    """Section 3.1 says so in words; its own table 1 does not."""
    losses = {flow: _losses(bed, "best-effort")[flow] for flow in FLOWS}
    means = np.array([values.mean() for values in losses.values()])
    off = float(np.abs(means / means.mean() - 1).max())
    shares = ", ".join(f"{flow} {100 * its.mean():.1f} %" for flow, its in losses.items())
    says = f"best-effort: all flows lose the same share, {which}"
    return Claim(name, says, off <= SHARE, f"{shares}; published 3.5, 0.6, 0.5, 9.7 %")


def _losses(bed: Measured, scenario: str) -> dict[str, Floats]:
    """Share of its packets that each flow loses, by seed."""
    return {flow: bed.values[scenario, "dropped", flow] / bed.sent[flow] for flow in FLOWS}


def _text(interval: Interval) -> str:
    half = "" if interval.half_width is None else f" ± {interval.half_width:.3f}"
    return f"{interval.mean:.3f}{half}"

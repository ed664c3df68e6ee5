"""What the slides conclude, as predicates over our runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trunkline.stats import Interval, mean_interval
from trunkline.studies.develder2003.experiments import (
    DELAYS_B,
    Floats,
    MixedRoundTrips,
    SameRoundTrip,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim and how it came out."""

    name: str
    says: str
    held: bool
    detail: str


def judge(a: SameRoundTrip, b: MixedRoundTrips) -> list[Claim]:
    """Judge all claims; a difference counts where its 95 % interval leaves out zero.

    Parameters
    ----------
    a, b
        The experiments.
    """
    return [
        _any_delay(b),
        _small_beats_none_and_long(b),
        _fifty_is_best(b),
        _first_second(a),
        _fixed_suffer_less(b),
        *_mechanism(a),
    ]


def _interval(values: Floats) -> Interval:
    return mean_interval(values.tolist())


def _above_zero(interval: Interval) -> bool:
    return (interval.mean if interval.low is None else interval.low) > 0


def _text(interval: Interval) -> str:
    half = "" if interval.half_width is None else f" ± {interval.half_width:.2f}"
    return f"{interval.mean:+.2f}{half}"


def _any_delay(b: MixedRoundTrips) -> Claim:
    gains = [_interval(column) for column in 100 * (b.ratios().T - 1)]
    detail = ", ".join(
        f"{delay} {_text(gain)} %" for delay, gain in zip(DELAYS_B[1:], gains, strict=True)
    )
    says = "any delay gives more goodput than none"
    return Claim("any-delay-beats-none", says, all(map(_above_zero, gains)), detail)


def _fifty_is_best(b: MixedRoundTrips) -> Claim:
    """50 ms better than each other delay, 0 ms among them, by paired differences."""
    return _fifty_over(b, [0, 2, 3, 4], "best-is-50-ms", "50 ms is the best of the delays")


def _small_beats_none_and_long(b: MixedRoundTrips) -> Claim:
    """50 ms better than none, and than half a second and more."""
    says = "the best delay is small but not zero: 50 ms beats none, and beats 500 ms and more"
    return _fifty_over(b, [0, 3, 4], "best-is-small-not-zero", says)


def _fifty_over(b: MixedRoundTrips, others: list[int], name: str, says: str) -> Claim:
    total = b.goodput.sum(axis=2)
    # In percent of the goodput without delay, seed by seed.
    differences = [
        _interval(100 * (total[:, 1] - total[:, other]) / total[:, 0]) for other in others
    ]
    detail = "50 ms over " + ", ".join(
        f"{DELAYS_B[other]} {_text(each)} %"
        for other, each in zip(others, differences, strict=True)
    )
    return Claim(name, says, all(map(_above_zero, differences)), detail)


def _first_second(a: SameRoundTrip) -> Claim:
    gain = _interval(a.gains("50 ms"))
    says = "with equal round trips, 50 ms gains over 0 ms in the first second"
    return Claim("first-second", says, _above_zero(gain), f"{_text(gain)} %")


def _fixed_suffer_less(b: MixedRoundTrips) -> Claim:
    fixed = b.goodput[:, :, 1] / b.goodput[:, :1, 1]
    steps = [_interval(fixed[:, i + 1] - fixed[:, i]) for i in range(fixed.shape[1] - 1)]
    means = ", ".join(
        f"{delay} {100 * value:.0f} %"
        for delay, value in zip(DELAYS_B, fixed.mean(axis=0), strict=True)
    )
    says = "fixed flows suffer less the longer the delay"
    detail = f"of their goodput at 0 ms: {means}"
    return Claim("fixed-suffer-less", says, all(map(_above_zero, steps)), detail)


def _mechanism(a: SameRoundTrip) -> list[Claim]:
    """Paired differences of 50 ms and 0 ms, switched flows, 1.5 s after the failure."""
    timeouts = _interval(100 * (a.timed_out["50 ms"] - a.timed_out["0 ms"]))
    recovering = _interval(100 * (a.recovering["0 ms"] - a.recovering["50 ms"]))
    return [
        Claim(
            "more-timeouts-at-50-ms",
            "with 50 ms more of the switched flows time out and slow-start than with 0 ms",
            _above_zero(timeouts),
            f"{100 * np.mean(a.timed_out['50 ms']):.0f} % of flows against "
            f"{100 * np.mean(a.timed_out['0 ms']):.0f} %, difference {_text(timeouts)}",
        ),
        Claim(
            "longer-recovery-at-0-ms",
            "with 0 ms the switched flows spend more time in fast recovery than with 50 ms",
            _above_zero(recovering),
            f"{100 * np.mean(a.recovering['0 ms']):.0f} % of the time against "
            f"{100 * np.mean(a.recovering['50 ms']):.0f} %, difference {_text(recovering)}",
        ),
    ]

"""The E-model: how a call sounds, from its delay and its loss.

Source: ITU-T G.107 (06/2015) with its default values, by which Ro less Is is 93.2: clause 7.4
(delay), 7.5 (equipment and loss), annex B (from R to MOS). The simplified delay formula is that of
Cole and Rosenbluth, "Voice over IP performance monitoring", CCR 31(2), 2001.
Absent: echo (Idte, Idle), noise, the wideband models G.107.1 and G.107.2.
"""

import math

DEFAULT_RATING = 93.2  # Ro less Is with the default values.


def compute_delay_impairment(delay_ms: float, formula: str) -> float:
    """Impairment Id by one-way delay from mouth to ear.

    delay_ms: Delay, that of codec and playout included [ms].
    formula: one of "g107", "simplified"; idd of G.107, or the simplified one.
    """
    if formula == "simplified":
        return 0.024 * delay_ms + 0.11 * max(0.0, delay_ms - 177.3)
    if delay_ms <= 100:
        return 0.0
    x = math.log2(delay_ms / 100)
    return 25 * (math.pow(1 + x**6, 1 / 6) - 3 * math.pow(1 + (x / 3) ** 6, 1 / 6) + 2)


def compute_equipment_impairment(
    ie: float, bpl: float, loss: float, burst_ratio: float = 1.0
) -> float:
    """Effective equipment impairment Ie,eff.

    ie, bpl: Impairment without loss and packet-loss robustness of the codec (G.113).
    loss: Share of packets lost [0 to 1].
    burst_ratio: Burst ratio of the losses; 1 is at random.
    """
    percent = 100 * loss
    if percent == 0:
        return ie
    return ie + (95 - ie) * percent / (percent / burst_ratio + bpl)


def compute_mos(rating: float) -> float:
    """Mean opinion score of a rating R, 1 to 4.5 (annex B)."""
    if rating <= 0:
        return 1.0
    if rating >= 100:
        return 4.5
    return 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6
